import type { NodeHardwareStatus, PowerTarget } from "../../../core/api/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import { elapsed, inSeconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import type { AgentMetrics } from "../report/agent-metrics.ts";
import type { CapEventPublisher } from "../report/cap-event-publisher.ts";
import type { HardwareReporter } from "../report/hardware-reporter.ts";
import { type DeviceStatus, MAX_MESSAGE_LENGTH, statusOf } from "../report/node-status.ts";
import type { StatusReporter } from "../report/status-reporter.ts";
import { type Routing, routingOf } from "../routing/routing.ts";
import type { AgentSettings } from "../settings.ts";
import type { NodeFacts, NodeFactsSource } from "../watch/node-facts.ts";
import type { NodeControl, NodeTick } from "./node-control.ts";
import { intentOf } from "./target.ts";

/** What the node is made of, as far as this agent can find out: to reckon with, and to publish. */
export type Discover = (
  facts: NodeFacts,
  routing: Routing,
  last: NodeTick | undefined,
) => Promise<{ readonly view: HardwareView; readonly publish?: NodeHardwareStatus | undefined }>;

export interface NodeRunnerOptions {
  readonly name: string;
  readonly view: NodeFactsSource;
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

/** One node, from what the cluster says to what it is told: the same in both modes. */
export class NodeRunner {
  readonly name: string;
  readonly #options: NodeRunnerOptions;
  readonly #startedAt: MonotonicInstant;
  #lastEco: PowerTarget | undefined;
  #last: NodeTick | undefined;
  #routing: Routing | undefined;
  #view: HardwareView | undefined;

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
    const { view, control, settings, clock, ioClock, metrics, events, changes } = this.#options;
    const { name } = this;
    const started = ioClock.monotonic();
    const facts = view.facts(name);
    const silence = view.silence ?? elapsed(this.#startedAt, clock.monotonic());
    const held = control.hasLimitsInForce;
    const intent = intentOf(facts, { silence, holds: held, lastEco: this.#lastEco }, settings.lease);
    if (intent.kind === "enforce" && intent.from === "NodeTwin" && intent.target.profile === "eco")
      this.#lastEco = intent.target;
    const routing = routingOf(name, facts.routes, settings.routing);
    this.#routing = routing;
    const found = await this.#options.discover(facts, routing, this.#last);
    this.#view = found.view;
    const tick = await control.tick({ intent, route: routing.route, view: found.view }, signal);
    this.#last = tick;
    metrics.recordTick(name, tick, control.dvfs);
    metrics.recordTickDuration(inSeconds(milliseconds(ioClock.monotonic() - started)));
    events.publishTick(name, facts.node, tick);
    if (intent.kind === "release" && held && !control.hasLimitsInForce)
      events.publishRestored(name, facts.node, intent.why);
    if (tick.cpu !== undefined) changes.observe("CPU control", name, `${tick.cpu.backend} ${tick.cpu.result}`);
    if (tick.gpu !== undefined) changes.observe("GPU control", name, `${tick.gpu.backend} ${tick.gpu.result}`);
    this.#tell(tick, facts, routing, found.publish);
    return tick;
  }

  /** The last word before the agent ends; `stuck` says what of ours is still in force though it was to be restored. */
  async reportStopped(restore: boolean, stuck: readonly string[] = []): Promise<void> {
    const { view, clock, reporter, hardware, settings } = this.#options;
    // A status on its way would keep the last word from being written.
    await reporter.stop();
    const facts = view.facts(this.name);
    const last = this.#last && statusOf(this.#last, clock.now());
    if (last !== undefined && facts.node !== undefined && this.#routing !== undefined) {
      const { cpu, gpu } = last;
      const end = lastWord(restore, stuck, settings.simulateOnly);
      const status = { at: clock.now(), cpu: { ...cpu, ...end }, gpu: gpu && { ...gpu, ...end } };
      reporter.report(status, facts.twin?.metadata.uid, this.#routing);
    }
    await Promise.all([reporter.stop(), hardware.stop()]);
  }

  #tell(tick: NodeTick, facts: NodeFacts, routing: Routing, found: NodeHardwareStatus | undefined): void {
    const { reporter, hardware, clock } = this.#options;
    if (facts.node === undefined) {
      // Whoever is not managed has no twin, and is to have none made by a late word of ours.
      if (facts.synced) hardware.forget();
      return;
    }
    const status = statusOf(tick, clock.now());
    if (status !== undefined) reporter.report(status, facts.twin?.metadata.uid ?? undefined, routing);
    if (found !== undefined) hardware.report(facts.node, found, facts.hardware);
  }
}

/** What the twin says of a node whose agent has stopped. */
function lastWord(restore: boolean, stuck: readonly string[], simulated: boolean): Partial<DeviceStatus> {
  const unread = { power: undefined, cap: undefined, throttlePct: undefined };
  if (simulated)
    return { result: "none", message: "the agent has stopped; SIMULATE_ONLY: it had set nothing", ...unread };
  if (!restore) return { message: "the agent has stopped; what it had set stays (RESTORE_ON_EXIT=false)" };
  return stuck.length === 0
    ? { result: "none", message: "the agent has stopped; what it had set is restored", ...unread }
    : { result: "error", message: `the agent has stopped; ${stuck.join("; ")}`.slice(0, MAX_MESSAGE_LENGTH) };
}
