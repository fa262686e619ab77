import { isDeepStrictEqual } from "node:util";
import type { NodeHardwareStatus, NodeTwin, PowerTarget } from "../../../core/api/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import { elapsed, inSeconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { DeviceKind } from "../../../platform/hardware/index.ts";
import type { StopSwitch } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import type { AgentMetrics } from "../report/agent-metrics.ts";
import type { CapEventPublisher } from "../report/cap-event-publisher.ts";
import type { HardwareReporter } from "../report/hardware-reporter.ts";
import { type DeviceStatus, MAX_MESSAGE_LENGTH, statusOf } from "../report/node-status.ts";
import type { ReportedTwin, StatusReporter } from "../report/status-reporter.ts";
import { type Routing, routingOf } from "../routing/routing.ts";
import type { AgentSettings } from "../settings.ts";
import type { NodeFacts, NodeFactsSource } from "../watch/node-facts.ts";
import type { NodeControl, NodeTick } from "./node-control.ts";
import { type Intent, intentOf } from "./target.ts";

export type Discover = (
  facts: NodeFacts,
  routing: Routing,
  last: NodeTick | undefined,
) => Promise<{ readonly view: HardwareView; readonly publish?: NodeHardwareStatus | undefined }>;

export interface NodeRunnerOptions {
  readonly name: string;
  readonly view: NodeFactsSource;
  readonly stopSwitch: Pick<StopSwitch, "reason">;
  readonly control: NodeControl;
  readonly reporter: StatusReporter;
  readonly hardware: HardwareReporter;
  readonly discover: Discover;
  readonly settings: AgentSettings;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly metrics: AgentMetrics;
  readonly events: CapEventPublisher;
  readonly changes: ChangeLog;
}

/** Runs the ticks of one node: reads its target and routes, controls its devices, reports. The same in both modes. */
export class NodeRunner {
  readonly name: string;
  readonly #options: NodeRunnerOptions;
  readonly #startedAt: MonotonicInstant;
  #lastEco: PowerTarget | undefined;
  #last: NodeTick | undefined;
  #routing: Routing | undefined;
  #view: HardwareView | undefined;
  /** The newest target that was carried out. */
  #receipt: Receipt | undefined;

  constructor(options: NodeRunnerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  get control(): NodeControl {
    return this.#options.control;
  }

  get last(): NodeTick | undefined {
    return this.#last;
  }

  get routing(): Routing | undefined {
    return this.#routing;
  }

  get hardware(): HardwareView | undefined {
    return this.#view;
  }

  async tick(signal: AbortSignal): Promise<NodeTick> {
    const { view, stopSwitch, control, settings, clock, ioClock, metrics, events, changes } = this.#options;
    const { name } = this;
    const started = ioClock.monotonic();
    const facts = view.facts(name);
    const silence = view.silence ?? elapsed(this.#startedAt, clock.monotonic());
    const hadLimits = control.hasLimitsInForce;
    const { reason: stopped } = stopSwitch;
    const intent = intentOf(
      facts,
      { now: clock.now(), silence, holds: hadLimits, lastEco: this.#lastEco, stopped },
      settings.lease,
    );
    if (intent.kind === "enforce" && intent.from === "NodeTwin" && intent.target.profile === "eco")
      this.#lastEco = intent.target;
    const routing = routingOf(name, facts.routes, settings.routing);
    this.#routing = routing;
    const found = await this.#options.discover(facts, routing, this.#last);
    this.#view = found.view;
    const power = facts.twin?.status?.power?.state;
    const mayBeSilent = power === "waking" || power === "stopping";
    const isFree = !hadLimits && isOfTwin(intent) && facts.twin?.spec.caps?.profile === "performance";
    const needsReport = intent.kind === "enforce" && !settings.simulateOnly && !isFree;
    const isAnnounced = !needsReport || (await this.#isAnnounced(facts));
    const isCurrent = (kind: DeviceKind) => isAnnounced && wantsSameCaps(kind, view.facts(name), facts);
    const tick = await control.tick({ intent, route: routing.route, view: found.view, mayBeSilent, isCurrent }, signal);
    // What stopped the writes of this tick was a newer target, for which the next tick is due at once, or the report that failed.
    if (!isCurrent("cpu") || !isCurrent("gpu")) return tick;
    this.#last = tick;
    if (tick.isComplete && isOfTwin(intent)) this.#receipt = receiptFor(facts);
    metrics.recordTick(name, tick, control.dvfs);
    metrics.recordTickDuration(inSeconds(milliseconds(ioClock.monotonic() - started)));
    events.publishTick(name, facts.node, tick);
    const restoredFor =
      intent.kind === "release" ? intent.why : settings.simulateOnly ? "SIMULATE_ONLY is set" : undefined;
    if (restoredFor !== undefined && hadLimits && !control.hasLimitsInForce)
      events.publishRestored(name, facts.node, restoredFor);
    if (tick.cpu !== undefined) changes.observe("CPU control", name, `${tick.cpu.backend} ${tick.cpu.result}`);
    if (tick.gpu !== undefined) changes.observe("GPU control", name, `${tick.gpu.backend} ${tick.gpu.result}`);
    this.#report(tick, facts, routing, found.publish);
    return tick;
  }

  async reportStopped(restore: boolean, stuck: readonly string[] = []): Promise<void> {
    const { view, clock, reporter, hardware, settings, control } = this.#options;
    // A status write in progress would prevent the final one.
    await reporter.stop();
    const facts = view.facts(this.name);
    const last = this.#last && statusOf(this.#last, clock.now());
    if (last !== undefined && facts.node !== undefined && this.#routing !== undefined) {
      const { cpu, gpu } = last;
      const final = finalStatus(restore, stuck, settings.simulateOnly && !control.hasLimitsInForce);
      const isRestored = restore && stuck.length === 0;
      const generation = isRestored ? undefined : this.#generationFor(facts);
      const status = { at: clock.now(), generation, cpu: { ...cpu, ...final }, gpu: gpu && { ...gpu, ...final } };
      reporter.report(status, reportedTwin(facts), this.#routing);
    }
    await Promise.all([reporter.stop(), hardware.stop()]);
  }

  /**
   * Without any report the operator takes the node for one without an agent, and publishes performance at once. So the agent says
   * that it is there before it lowers the first cap, and lowers none until that is written. On a node that has no limit and gets
   * the caps of performance, its usual report is soon enough.
   */
  async #isAnnounced({ twin }: NodeFacts): Promise<boolean> {
    const { uid } = twin?.metadata ?? {};
    return uid === undefined || (await this.#options.reporter.announce(uid));
  }

  #report(tick: NodeTick, facts: NodeFacts, routing: Routing, found: NodeHardwareStatus | undefined): void {
    const { reporter, hardware, clock, stopSwitch } = this.#options;
    if (facts.node === undefined) {
      // An unmanaged node has no NodeTwin, and a late status must not create one.
      if (facts.synced) hardware.forget();
      return;
    }
    const status = statusOf(tick, clock.now());
    const generation = this.#generationFor(facts);
    if (status !== undefined) reporter.report({ ...status, generation }, reportedTwin(facts), routing);
    // After a stop `joulie uninstall` deletes the NodeHardware, which must not come back.
    if (found !== undefined && stopSwitch.reason === undefined) hardware.report(facts.node, found, facts.hardware);
  }

  /** 0 before the first target of this NodeTwin is carried out: the agent is there, and the operator waits for it. */
  #generationFor({ twin }: NodeFacts): number {
    return this.#receipt !== undefined && this.#receipt.uid === twin?.metadata.uid ? this.#receipt.generation : 0;
  }
}

interface Receipt {
  readonly uid: string | undefined;
  readonly generation: number;
}

const receiptFor = ({ twin }: NodeFacts): Receipt | undefined =>
  twin && { uid: twin.metadata.uid, generation: twin.metadata.generation ?? 0 };

/** Limits that were restored keep every promise of the twin's target. Caps of an expired lease do not. */
const isOfTwin = (intent: Intent): boolean =>
  intent.kind === "release" || (intent.kind === "enforce" && intent.from === "NodeTwin");

const wantsSameCaps = (kind: DeviceKind, { twin: newest }: NodeFacts, { twin: followed }: NodeFacts): boolean =>
  newest?.metadata.uid === followed?.metadata.uid && isDeepStrictEqual(newest?.spec[kind], followed?.spec[kind]);

function reportedTwin({ twin }: NodeFacts): ReportedTwin | undefined {
  const { uid } = twin?.metadata ?? {};
  const { state, since = "" } = twin?.status?.power ?? {};
  if (twin === undefined || uid === undefined) return undefined;
  return { uid, wake: state === "waking" ? since : undefined, refreshedAt: refreshedAt(twin) };
}

/**
 * When a twin that the agent may refresh was refreshed last. Readings of the operator's own meters age with its writes, and a
 * target without `caps` is one of an older operator, which waits for the newer one's heartbeat.
 */
function refreshedAt({ spec, status }: NodeTwin): string | undefined {
  return spec.caps !== undefined && status?.powerMeasurement?.source === "agent" ? status.lastUpdated : undefined;
}

function finalStatus(restore: boolean, stuck: readonly string[], setNone: boolean): Partial<DeviceStatus> {
  const noReadings = { power: undefined, cap: undefined, throttlePct: undefined };
  if (setNone)
    return { result: "none", message: "the agent has stopped; SIMULATE_ONLY: it set no limit", ...noReadings };
  if (!restore) return { message: "the agent has stopped; its caps stay in force (RESTORE_ON_EXIT=false)" };
  return stuck.length === 0
    ? { result: "none", message: "the agent has stopped; the original limits are restored", ...noReadings }
    : { result: "error", message: `the agent has stopped; ${stuck.join("; ")}`.slice(0, MAX_MESSAGE_LENGTH) };
}
