import { type CapIntent, cpuCapIntent, gpuCapIntent, type WriteOutcome } from "../../../core/control/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import { percent } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type DeviceKind, type PowerCapBackend, UnansweredCommands } from "../../../platform/hardware/index.ts";
import type { Journal, JournalEntry } from "../../../platform/journal/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";
import { CpuDevice, type CpuReport } from "../devices/cpu-device.ts";
import { type DeviceReport, joinMessages } from "../devices/device-report.ts";
import { GpuBackgroundTask, type GpuTickResult, HOLD_TIMEOUT, TICK_TIMEOUT } from "../devices/gpu-background-task.ts";
import { GpuDevice } from "../devices/gpu-device.ts";
import { journalBackend } from "../devices/original-limits.ts";
import type { WriteGuards } from "../devices/throttle-enforcer.ts";
import { WriteBackoff } from "../devices/write-limits.ts";
import { type BackendSelection, type Host, selectBackend } from "../host/host.ts";
import { Restorer } from "../restore/restorer.ts";
import { HttpRoutes } from "../routing/http-routes.ts";
import type { ControlRoute, Route, SourceRoute } from "../routing/routing.ts";
import type { AgentSettings } from "../settings.ts";
import {
  NodePowerMeter,
  type NodePowerReadings,
  type PowerWithoutGpus,
  type PrometheusClients,
} from "../telemetry/node-power.ts";
import type { Intent } from "./target.ts";

export interface NodeControlOptions {
  readonly node: string;
  readonly host: Host | undefined;
  readonly journal: Journal;
  readonly http: HttpClient;
  readonly prometheus: PrometheusClients;
  readonly clock: Clock;
  readonly settings: AgentSettings;
  readonly onThrottle?: (kind: "throttle_up" | "throttle_down") => void;
  /** Called when a GPU driver that was slow to start has answered: a tick is due. */
  readonly onFirstGpuAnswer?: () => void;
}

export interface NodeTick {
  readonly intent: Intent;
  readonly route: Route;
  readonly power: NodePowerReadings;
  /** Absent while the target is unknown. */
  readonly cpu?: CpuReport;
  /** Absent without GPUs, and while the target is unknown. */
  readonly gpu?: DeviceReport | undefined;
  /** Whether the tick carried its intent out to the end. A slow GPU driver may go on after it. */
  readonly isComplete: boolean;
}

export interface TickInput {
  readonly intent: Intent;
  readonly route: Route;
  readonly view: HardwareView;
  /** The machine boots or shuts down and may not answer. That is no failure. */
  readonly mayBeSilent?: boolean;
  /** Asked right before a limit is set: whether the newest target wants the same cap for this kind of device. */
  readonly isCurrent?: ((kind: DeviceKind) => boolean) | undefined;
}

export const isUnresponsive = ({
  cpuService,
  gpuService,
}: Pick<NodePowerReadings, "cpuService" | "gpuService">): boolean => {
  const services = [cpuService, gpuService].filter((service) => service !== undefined);
  return services.length > 0 && services.every(({ failed }) => failed !== undefined);
};

/** Reads and caps the devices of one node, in both modes. Ticks of a node never overlap. */
export class NodeControl {
  readonly node: string;
  readonly #options: NodeControlOptions;
  readonly #cpu: CpuDevice;
  readonly #gpu: GpuDevice;
  readonly #meter: NodePowerMeter;
  readonly #routes: HttpRoutes;
  readonly #restorer: Restorer;
  readonly #backoff: WriteBackoff;
  readonly #gpuTask: GpuBackgroundTask;

  constructor(options: NodeControlOptions) {
    const { node, host, journal, http, prometheus, clock, settings } = options;
    this.node = node;
    this.#options = options;
    this.#meter = new NodePowerMeter({ node, energy: host?.energy, http, prometheus, clock });
    const unanswered = new UnansweredCommands(clock);
    this.#routes = new HttpRoutes(node, http, clock, unanswered);
    const boot = host?.boot;
    this.#cpu = new CpuDevice(
      { node, boot, endpoint: () => this.#routes.cpu?.endpoint },
      journal,
      clock,
      settings.dvfs,
    );
    this.#gpu = new GpuDevice({ node, boot, endpoint: () => this.#routes.gpu?.endpoint }, journal, clock);
    this.#restorer = new Restorer({ host, http, clock, unanswered });
    this.#backoff = new WriteBackoff(clock);
    this.#gpuTask = new GpuBackgroundTask(clock, options.onFirstGpuAnswer);
  }

  get dvfs() {
    return this.#cpu.dvfs;
  }

  async tick(
    { intent: asked, route, view, mayBeSilent = false, isCurrent = () => true }: TickInput,
    signal: AbortSignal,
  ): Promise<NodeTick> {
    const { host } = this.#options;
    const usesHost = route.gpuControl.type === "host" || route.gpuSource.type === "host";
    // CPU and GPU parts run in parallel, so a GPU driver that hangs does not delay the CPUs.
    const readsHostGpus = usesHost && host !== undefined && !this.#gpuTask.isRunning;
    const hostGpus = selectBackend(readsHostGpus ? [host.gpu] : [], signal);
    hostGpus.catch(() => undefined);
    const { gpu: gpuPower, ...known } = await this.#meter.read(route, hostGpus, signal);
    // Writes would fail too, and the next ones would then be delayed.
    const intent: Intent =
      mayBeSilent && isUnresponsive(known) ? { kind: "hold", why: "the machine boots or shuts down" } : asked;
    if (intent.kind === "hold") {
      const { power } = await this.#gpuTask.run(usesHost ? HOLD_TIMEOUT : undefined, known, async () => ({
        power: { ...known, gpu: await gpuPower },
      }));
      return { intent, route, power, isComplete: false };
    }
    this.#routes.update(route, view, known);
    const target = intent.kind === "enforce" ? intent.target : undefined;
    const why = intent.kind === "release" ? intent.why : undefined;
    const guardsOf = (kind: DeviceKind): WriteGuards => ({ isCurrent: () => isCurrent(kind), signal });
    const cpuPart = async () => {
      const stuck = await this.#restoreOldRoutes("cpu", route, signal);
      const cpu = await this.#tickCpu(route, cpuCapIntent(target?.cpu), view, known, guardsOf("cpu"));
      return withStuckEntries(cpu, stuck, why, blockedSource(route.cpuSource));
    };
    const gpuPart = async (): Promise<GpuTickResult> => {
      const stuck = await this.#restoreOldRoutes("gpu", route, signal);
      const power = { ...known, gpu: await gpuPower };
      const gpus = await this.#gpusOf(route.gpuControl, await hostGpus, signal);
      const intent = gpuCapIntent(target?.gpu?.powerCap);
      const gpu = await this.#tickGpu(route, intent, gpus, view, power, guardsOf("gpu"));
      // A limit in force is reported even if the route has no GPU any more.
      const report = gpu ?? (stuck.length > 0 ? NO_GPU : undefined);
      return { power, gpu: report && withStuckEntries(report, stuck, why, blockedSource(route.gpuSource)) };
    };
    const [cpu, { power, gpu, isLate }] = await bothOf(
      cpuPart(),
      this.#gpuTask.run(usesHost ? TICK_TIMEOUT : undefined, known, gpuPart),
    );
    return { intent, route, power, cpu, gpu, isComplete: isLate !== true };
  }

  get hasLimitsInForce(): boolean {
    return this.#entries().length > 0;
  }

  get limitsInForce(): readonly JournalEntry[] {
    return this.#entries();
  }

  /** Restores all original limits. Returns what failed. */
  async release(signal: AbortSignal): Promise<readonly string[]> {
    const entries = this.#entries();
    const failures = await Promise.all(
      entries.map(async (entry) => {
        if (kindOf(entry) === "gpu") await this.#gpuTask.settled();
        return this.#restore(entry, signal);
      }),
    );
    return failures.flatMap((failure) => (failure === undefined ? [] : [failure.message]));
  }

  #entries(): readonly JournalEntry[] {
    const { journal, host } = this.#options;
    const remote = journal.of(this.node);
    return host === undefined ? remote : [...remote, ...journal.of()];
  }

  async #gpusOf(route: ControlRoute, hostGpus: BackendSelection, signal: AbortSignal): Promise<BackendSelection> {
    if (route.type === "host") return hostGpus;
    return selectBackend(this.#gpuBackends(route), signal);
  }

  #gpuBackends({ type }: ControlRoute): readonly PowerCapBackend[] {
    const backend = type === "host" ? this.#options.host?.gpu : this.#routes.gpu?.caps;
    return backend === undefined ? [] : [backend];
  }

  async #tickCpu(
    { cpuControl }: Route,
    intent: CapIntent,
    view: HardwareView,
    power: PowerWithoutGpus,
    { isCurrent, signal }: WriteGuards,
  ): Promise<CpuReport> {
    const { host, settings, onThrottle = () => undefined } = this.#options;
    if (cpuControl.type === "unusable")
      return { ...unusable(cpuControl.why, intent), mode: "none", throttlePct: percent(0) };
    const onHost = cpuControl.type === "host" ? host : undefined;
    const overHttp = cpuControl.type === "http" ? this.#routes.cpu : undefined;
    return this.#cpu.tick({
      mode: cpuControl.type === "none" ? "none" : cpuControl.mode,
      caps: onHost?.cpuCaps ?? (overHttp === undefined ? [] : [overHttp.caps]),
      throttle: onHost?.throttle ?? overHttp?.throttle,
      intent,
      view,
      power: power.cpu,
      reportedThrottle: overHttp === undefined ? undefined : power.cpuService?.throttlePct,
      simulate: settings.simulateOnly,
      onThrottle,
      isCurrent,
      signal,
    });
  }

  async #tickGpu(
    { gpuControl }: Route,
    intent: CapIntent,
    found: BackendSelection,
    view: HardwareView,
    power: NodePowerReadings,
    { isCurrent, signal }: WriteGuards,
  ): Promise<DeviceReport | undefined> {
    if (gpuControl.type === "unusable")
      return view.gpu === undefined && !isCapRequested(intent) ? undefined : unusable(gpuControl.why, intent);
    return this.#gpu.tick({
      enabled: gpuControl.type !== "none",
      backends: this.#gpuBackends(gpuControl),
      found,
      count: view.gpu?.count ?? 1,
      intent,
      power: power.gpu,
      simulate: this.#options.settings.simulateOnly,
      isCurrent,
      signal,
    });
  }

  /** Restores limits of routes that are no longer used, through them. With SIMULATE_ONLY that is all that it writes. */
  async #restoreOldRoutes(kind: DeviceKind, route: Route, signal: AbortSignal): Promise<readonly StuckEntry[]> {
    const { settings } = this.#options;
    const entries = () => this.#entries().filter((entry) => kindOf(entry) === kind);
    await this.#forgetOtherBoots(entries(), signal);
    const isCurrent = this.#currentRoutes(route);
    const outdated = entries().filter((entry) => settings.simulateOnly || !isCurrent(entry));
    const failures = await Promise.all(outdated.map(async (entry) => this.#restoreWithBackoff(entry, signal)));
    return failures.filter((failure) => failure !== undefined);
  }

  #currentRoutes(route: Route): (entry: JournalEntry) => boolean {
    const { host } = this.#options;
    const current = new Set<string>();
    if (route.gpuControl.type === "host" && host !== undefined) current.add(journalBackend(host.gpu));
    if (route.cpuControl.type === "host" && host !== undefined)
      for (const { name } of [...host.cpuCaps, host.throttle]) current.add(name);
    return (entry) => (entry.backend === "http" ? this.#routes.isCurrent(entry) : current.has(entry.backend));
  }

  /** After a reboot the firmware has reset the limits, so older originals must not be restored. */
  async #forgetOtherBoots(entries: readonly JournalEntry[], signal: AbortSignal): Promise<void> {
    const { journal, host } = this.#options;
    for (const entry of entries.filter((one) => this.#restorer.isOfAnotherBoot(one))) {
      if (await this.#restorer.isReset(entry, signal)) journal.drop(entry);
      else if (host?.boot !== undefined) journal.confirm(entry, host.boot);
    }
  }

  async #restoreWithBackoff(entry: JournalEntry, signal: AbortSignal): Promise<StuckEntry | undefined> {
    const name = [entry.backend, entry.endpoint, entry.board].join(" ");
    const suppressed = this.#backoff.suppressedOutcome(name);
    if (suppressed !== undefined) return { entry, result: failing(suppressed), message: suppressed.message ?? "" };
    const failure = await this.#restore(entry, signal);
    if (failure === undefined) this.#backoff.recordSuccess(name);
    else if (failure.isUnsettled !== true) this.#backoff.recordFailure(name, failure);
    return failure;
  }

  async #restore(entry: JournalEntry, signal: AbortSignal): Promise<StuckEntry | undefined> {
    const outcome = await this.#restorer.restore(entry, signal, this.#cpu.expectedLimit(entry));
    if (outcome.result !== "applied")
      return { ...outcome, entry, result: failing(outcome), message: stuckText(entry, outcome.message) };
    this.#options.journal.drop(entry);
    return undefined;
  }
}

/** Waits for both even if one fails, because ticks must not overlap. */
async function bothOf<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return [await one, await other];
}

const failing = ({ result }: WriteOutcome): StuckEntry["result"] => (result === "blocked" ? "blocked" : "error");

interface StuckEntry {
  readonly entry: JournalEntry;
  readonly result: "blocked" | "error";
  readonly message: string;
  readonly isUnsettled?: true;
}

const kindOf = ({ board, backend }: JournalEntry): DeviceKind =>
  board === "gpus" || backend === "gpu" ? "gpu" : "cpu";

const stuckText = ({ backend, board }: JournalEntry, why: string | undefined): string =>
  joinMessages(`the limit set on ${board} by ${backend} could not be restored`, why);

const NO_GPU: DeviceReport = { backend: "none", result: "none", message: "" };

const isCapRequested = ({ watts, pctOfMax }: CapIntent): boolean => watts !== undefined || pctOfMax !== undefined;

const unusable = (why: string, intent: CapIntent): DeviceReport => ({
  backend: "none",
  result: isCapRequested(intent) ? "blocked" : "none",
  message: why,
});

const blockedSource = (source: SourceRoute): string | undefined =>
  source.type === "unusable" && source.notAllowed === true ? source.why : undefined;

/** Adds limits that could not be restored: then the result is at least blocked. */
function withStuckEntries<Report extends DeviceReport>(
  report: Report,
  stuck: readonly StuckEntry[],
  ...more: readonly (string | undefined)[]
): Report {
  const message = joinMessages(report.message, ...more, ...stuck.map((one) => one.message));
  if (stuck.length === 0) return { ...report, message };
  const result = stuck.some((one) => one.result === "error") || report.result === "error" ? "error" : "blocked";
  return { ...report, result, message };
}
