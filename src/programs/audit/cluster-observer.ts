import { type NodeTwin, type Pod, type SchedulableClass, schedulableClasses } from "../../core/api/index.ts";
import { workloadClassOf } from "../../core/demand/index.ts";
import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import {
  type Change,
  type KubeIo,
  type KubeObject,
  Reflector,
  resources,
  StopSwitch,
} from "../../platform/kube/index.ts";
import { type RunningFleet, SIMULATED } from "../fleet/index.ts";
import { CapAudit } from "./cap-audit.ts";
import { type CheckInputs, type ClusterCheck, evaluateChecks, type TwinCounts } from "./checks.ts";
import { DrainHistory, SleepHistory } from "./state-history.ts";
import { statedWait, WakeWaits } from "./wake-waits.ts";

export interface ClusterObserverOptions extends KubeIo {
  /** Simulated time. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly datacenter: RunningFleet["datacenter"];
  /** Of the programs, with the stop switch. */
  readonly namespace: string;
  readonly stale: Milliseconds;
  /** Maximum time from publishing a cap to enforcing it, in simulated time. */
  readonly settling: Milliseconds;
  /** What a wait for a wake may exceed its stated time by, in simulated time. */
  readonly wakeMargin: () => Milliseconds;
  /** Agents only observe. */
  readonly observes?: boolean;
}

export interface PodCounts {
  readonly waiting: number;
  readonly running: number;
  readonly performance: number;
  readonly finished: number;
}

export interface SleepFigures {
  readonly asleep: number;
  /** Since the first jobs. */
  readonly sleeps: number;
  readonly wakes: number;
  readonly failedWakes: number;
  readonly podsThatWaited: number;
  readonly longestWaitSeconds: number | undefined;
  readonly longestPerformanceWaitSeconds: number | undefined;
}

const EXAMPLES = 5;
/** Caps are sent over real sockets, so this minimum applies in real time at any speed. */
const SETTLING_AT_LEAST = milliseconds(10_000);

/** Verifies the programs from outside, by API objects and the records of the simulated datacenter. */
export class ClusterObserver {
  readonly drains = new DrainHistory();
  readonly sleeps = new SleepHistory();
  readonly wakeWaits: WakeWaits;
  readonly caps: CapAudit;
  readonly #options: ClusterObserverOptions;
  readonly #twins: Reflector<ObservedTwin>;
  readonly #pods: Reflector<ObservedPod>;
  readonly #events: Reflector<ObservedEvent>;
  readonly #stopSwitch: StopSwitch;
  /** Jobs without a scheduling attempt yet, and when they appeared. */
  readonly #unseen = new Map<string, MonotonicInstant>();
  readonly #bindings = { pods: 0, performancePods: 0, toMachinesOff: 0 };
  readonly #boundToOff: string[] = [];
  #finished = 0;

  constructor(options: ClusterObserverOptions) {
    const { client, ioClock, random, log, datacenter } = options;
    this.#options = options;
    this.caps = new CapAudit((node) => datacenter.machine(node), options.observes);
    this.wakeWaits = new WakeWaits(options.wakeMargin);
    const io = { client, clock: ioClock, random, log };
    this.#stopSwitch = new StopSwitch({ ...io, namespace: options.namespace, onChange: () => undefined });
    this.#twins = new Reflector({
      ...io,
      resource: resources.nodeTwins,
      project: twinOf,
      onChange: (changes) => changes.forEach((change) => this.#twinChanged(change)),
    });
    this.#pods = new Reflector({
      ...io,
      resource: resources.pods,
      selection: { labelSelector: SIMULATED },
      project: podOf,
      onChange: (changes) => changes.forEach((change) => this.#podChanged(change)),
    });
    this.#events = new Reflector({
      ...io,
      resource: resources.events,
      project: eventOf,
      onChange: (changes) => {
        for (const change of changes) if (change.type !== "deleted") this.#said(change.new);
      },
    });
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map(async (watch) => watch.stop()));
  }

  runPeriodicChecks(): void {
    const { clock, ioClock, settling } = this.#options;
    const now = { real: ioClock.monotonic(), simulated: clock.monotonic() };
    const settled = { real: now.real - SETTLING_AT_LEAST, simulated: now.simulated - settling };
    if (this.#stopSwitch.reason === undefined) this.caps.compareSettled(settled, now);
    else this.caps.restartSettling(now);
    this.wakeWaits.judge(clock.now());
  }

  get twins(): TwinCounts {
    const { clock, datacenter, stale } = this.#options;
    const now = clock.now();
    const isStopped = this.#stopSwitch.reason !== undefined;
    let [twins, fresh, oldest] = [0, 0, undefined as number | undefined];
    for (const { node, status } of this.#twins.store.values()) {
      if (!datacenter.has(node)) continue;
      twins++;
      const age = now - Date.parse(status?.lastUpdated ?? "");
      if (isStopped || age <= stale) fresh++;
      if (!isStopped && Number.isFinite(age)) oldest = Math.max(oldest ?? 0, age);
    }
    return { nodes: datacenter.size, twins, fresh, oldest: oldest === undefined ? undefined : milliseconds(oldest) };
  }

  get classes(): Readonly<Record<SchedulableClass, number>> {
    const counts = Object.fromEntries(schedulableClasses.map((one) => [one, 0])) as Record<SchedulableClass, number>;
    for (const { status } of this.#twins.store.values()) counts[status?.schedulableClass ?? "unknown"]++;
    return counts;
  }

  get betweenStates(): number {
    let count = 0;
    for (const { status } of this.#twins.store.values())
      count += Number(status?.power?.state === "stopping" || status?.power?.state === "waking");
    return count;
  }

  /** Total power limit of all nodes, with published caps and without caps. */
  get budget(): { readonly capped: number; readonly uncapped: number } {
    let [capped, uncapped] = [0, 0];
    for (const { status } of this.#twins.store.values()) {
      capped += status?.powerMeasurement?.nodeCappedPowerW ?? 0;
      uncapped += status?.powerMeasurement?.nodeTdpW ?? 0;
    }
    return { capped, uncapped };
  }

  get pods(): PodCounts {
    let [waiting, running, performance] = [0, 0, 0];
    for (const pod of this.#pods.store.values()) {
      if (!isActive(pod.phase)) continue;
      if (pod.node === undefined) waiting++;
      else {
        running++;
        performance += Number(pod.performance);
      }
    }
    return { waiting, running, performance, finished: this.#finished };
  }

  get sleepFigures(): SleepFigures {
    const { pods, longest, longestPerformance } = this.wakeWaits.figures;
    const { sleeps, wakes, failedWakes } = this.sleeps.counts;
    return {
      asleep: this.classes.asleep,
      sleeps,
      wakes,
      failedWakes,
      podsThatWaited: pods,
      longestWaitSeconds: longest,
      longestPerformanceWaitSeconds: longestPerformance,
    };
  }

  checks(expected: CheckInputs["expected"]): readonly ClusterCheck[] {
    const { pods, podSeconds, first } = this.#options.datacenter.offences;
    const examples = first.slice(0, EXAMPLES).map(({ pod, node, at }) => `${pod} on ${node} after ${at.toFixed(1)} s`);
    return evaluateChecks({
      expected,
      sleeps: this.sleeps.counts,
      wakeWaits: this.wakeWaits.figures,
      twins: this.twins,
      drains: this.drains.counts,
      bindings: { ...this.#bindings, examples: this.#boundToOff },
      offences: { pods, podSeconds, examples },
      caps: this.caps.figures,
      observes: this.#options.observes,
    });
  }

  get unseen(): Milliseconds {
    const [first] = this.#unseen.values();
    return milliseconds(first === undefined ? 0 : this.#options.ioClock.monotonic() - first);
  }

  get #watches() {
    return [this.#twins, this.#pods, this.#events, this.#stopSwitch];
  }

  #twinChanged(change: Change<ObservedTwin>): void {
    if (change.type === "deleted") {
      this.caps.forget(change.key);
      this.drains.forget(change.key);
      this.sleeps.forget(change.key);
      return;
    }
    const { clock, ioClock } = this.#options;
    const { node, spec, status } = change.new;
    this.drains.record(node, status?.schedulableClass);
    this.sleeps.record(node, status?.power?.state);
    this.caps.published(node, spec, { real: ioClock.monotonic(), simulated: clock.monotonic() });
  }

  #said(event: ObservedEvent): void {
    const { clock } = this.#options;
    const { pod: key, reason, note } = event;
    const pod = this.#pods.store.getByKey(key);
    const stated = statedWait(reason, note);
    // The Event may come after the binding.
    if (pod !== undefined && pod.node === undefined && stated !== undefined)
      this.wakeWaits.stated(pod.key, pod.performance, stated, clock.now());
  }

  #podChanged(change: Change<ObservedPod>): void {
    if (change.type === "deleted" || change.new.node !== undefined || change.new.judged)
      this.#unseen.delete(change.key);
    else if (change.type === "added") this.#unseen.set(change.key, this.#options.ioClock.monotonic());
    if (change.type === "deleted") this.wakeWaits.forget(change.old.key);
    if (change.type !== "updated") return;
    const { old, new: pod } = change;
    if (isActive(old.phase) && !isActive(pod.phase)) this.#finished++;
    // A pod first seen with a node may have been bound at any earlier version, so only transitions count.
    if (old.node !== undefined || pod.node === undefined) return;
    const { clock, datacenter } = this.#options;
    this.#bindings.pods++;
    this.#bindings.performancePods += Number(pod.performance);
    const power = datacenter.machine(pod.node)?.power ?? "on";
    if (power !== "on") {
      this.#bindings.toMachinesOff++;
      if (this.#boundToOff.length < EXAMPLES) this.#boundToOff.push(`${pod.key} on ${pod.node}, which was ${power}`);
    }
    this.wakeWaits.bound(pod.key, clock.now());
  }
}

const isActive = (phase: string): boolean => phase !== "Succeeded" && phase !== "Failed";

interface ObservedTwin {
  readonly node: string;
  readonly spec: NodeTwin["spec"];
  readonly status: NodeTwin["status"];
}

interface ObservedPod {
  readonly key: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly performance: boolean;
  readonly judged: boolean;
}

interface ObservedEvent {
  readonly pod: string;
  readonly reason: string;
  readonly note: string;
}

/** Needs no validation: the server has checked the object against the schema. */
function twinOf(object: KubeObject): ObservedTwin {
  const { spec, status } = object as unknown as NodeTwin;
  return { node: object.metadata.name, spec, status };
}

function podOf(object: KubeObject): ObservedPod {
  const pod = object as unknown as Pod;
  const { name, namespace = "default" } = object.metadata;
  return {
    key: `${namespace}/${name}`,
    node: pod.spec.nodeName,
    phase: pod.status?.phase ?? "Pending",
    performance: workloadClassOf(pod).workloadClass === "performance",
    judged: pod.status?.conditions?.some(({ type }) => type === "PodScheduled") === true,
  };
}

/** Returns undefined for other objects and other reporters. */
function eventOf(object: KubeObject): ObservedEvent | undefined {
  const { reportingController, regarding, reason, note } = object as unknown as {
    readonly reportingController?: string;
    readonly regarding?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
    readonly reason?: string;
    readonly note?: string;
  };
  if (reportingController !== "joulie.io/operator" || regarding?.kind !== "Pod") return undefined;
  const { name = "", namespace = "default" } = regarding;
  return { pod: `${namespace}/${name}`, reason: reason ?? "", note: note ?? "" };
}
