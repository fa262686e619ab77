import { awaitedPodOf, isKeptFree, type NodeTwinSpec } from "../../../core/api/index.ts";
import {
  type CapResolution,
  cpuCapIntent,
  gpuCapIntent,
  raplStep,
  resolveCap,
  withLowestCap,
} from "../../../core/control/index.ts";
import type { HardwareView } from "../../../core/inventory/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import {
  emptyPlanningMemory,
  type NodePlan,
  type PlanningSettings,
  planCluster,
  type SleepObservations,
  statusToPublish,
} from "../../../core/planning/index.ts";
import { ArrivalHistory, hasSameCaps, type ProfileState } from "../../../core/policy/index.ts";
import { defaultScoringSettings, ScoringKernel } from "../../../core/scoring/index.ts";
import { type Need, type SleepPlan, type SleepSettings } from "../../../core/sleep/index.ts";
import { isTwinWorthPublishing, type PowerReading } from "../../../core/twin/index.ts";
import { type Instant, milliseconds, type Percent, type Watts, watts } from "../../../core/units/index.ts";
import type { PolicyName } from "../contenders.ts";
import type { JobKindRequest } from "../placement/job-kinds.ts";
import type { ClusterMachine } from "./machines.ts";
import { HEARTBEAT_MS, instantAt, planningSettings } from "./settings.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";
import { SimulatedPods } from "./simulated-pods.ts";
import { type SimulatedPowerOptions, SimulatedPowerProgram } from "./simulated-power.ts";
import { SimulatedSnapshot } from "./simulated-snapshot.ts";

const facility = { site: {}, zones: new Map(), racks: new Map() };

interface SimulatedOperatorOptions {
  /** Of the extender beside the operator. */
  readonly kernel?: ScoringKernel;
  readonly ecoMaxSlowdown?: Percent | undefined;
  readonly ecoClockShare?: number | undefined;
  readonly sleep?: SimulatedSleep | undefined;
}

export interface Promotion {
  readonly at: Instant;
  /** Why the policy wants the node at performance. */
  readonly reason: string;
}

interface SimulatedSleep extends SimulatedPowerOptions {
  readonly settings: SleepSettings;
}

/** As the operator's. */
const ARRIVAL_SLOT = milliseconds(60_000);

/** Runs the operator's pass on simulated nodes. Writes take effect at once, caps when `enforce` is called. */
export class SimulatedOperator {
  /** The extender's scoring state, from the published twins. */
  readonly kernel: ScoringKernel;
  readonly #machines: readonly ClusterMachine[];
  readonly #site: SimulatedCluster;
  readonly #settings: PlanningSettings;
  readonly #snapshot: SimulatedSnapshot;
  readonly #arrivals = new ArrivalHistory();
  readonly #sleep: SleepObservations | undefined;
  /** Absent if no node sleeps. */
  readonly power: SimulatedPowerProgram | undefined;
  /** Wakes by what the node was needed for. */
  readonly wakes: Record<Need | "other", number> = {
    pending: 0,
    waiting: 0,
    reserve: 0,
    family: 0,
    learning: 0,
    zone: 0,
    swap: 0,
    other: 0,
  };
  /** Nodes that the last pass no longer keeps free. */
  readonly released: number[] = [];
  /** Changes from eco to performance, in order. */
  readonly promotions: Promotion[] = [];
  readonly #pods: SimulatedPods;
  /** Of the last pass, if nodes sleep. */
  sleepPlan: SleepPlan | undefined;
  /** Whether a performance pod without a node triggers a pass. */
  readonly fitsPods: boolean;
  readonly #power = new Map<string, PowerReading>();
  #memory = emptyPlanningMemory;
  /** The last published state of every node, and when it was published. */
  readonly #published = new Map<
    string,
    { readonly next: ProfileState; readonly spec: NodePlan["spec"]; readonly at: Instant }
  >();
  /** Published caps that the agents have not set yet, by node. */
  readonly #unenforced = new Map<string, Caps>();

  constructor(
    machines: readonly ClusterMachine[],
    site: SimulatedCluster,
    kinds: readonly JobKindRequest[],
    policy: PolicyName,
    options: SimulatedOperatorOptions = {},
  ) {
    const { kernel = new ScoringKernel(defaultScoringSettings), ecoMaxSlowdown, ecoClockShare, sleep } = options;
    this.kernel = kernel;
    this.#machines = machines;
    this.#site = site;
    this.#settings = planningSettings(
      policy,
      { maxSlowdown: ecoMaxSlowdown, clockShare: ecoClockShare },
      sleep?.settings,
    );
    this.fitsPods = policy === "fit_aware_v1";
    const allArrivals = sleep && new ArrivalHistory(ARRIVAL_SLOT);
    this.#pods = new SimulatedPods(kinds, machines, this.#arrivals, allArrivals);
    this.#snapshot = new SimulatedSnapshot(machines, this.#pods);
    if (sleep !== undefined && allArrivals !== undefined) {
      const power = new SimulatedPowerProgram(machines, site, this.#snapshot, {
        ...sleep,
        onChange: (node, isUntainted) => {
          const { name } = machines[node] as ClusterMachine;
          kernel.upsertTwin(name, this.#snapshot.twin(name)?.status);
          sleep.onChange(node, isUntainted);
        },
      });
      this.power = power;
      this.#sleep = {
        current: true,
        known: true,
        endpoint: (name) => power.endpoint(name),
        hasLocalVolume: () => false,
        selectedNode: () => undefined,
        arrivals: allArrivals,
      };
    }
    for (const { name, hardware, node } of machines) {
      kernel.upsertHardware(name, hardware);
      kernel.upsertLabels(name, node.metadata.labels);
    }
  }

  arrived(job: number, kind: number, at: number): void {
    this.#pods.arrived(job, kind, instantAt(at));
  }

  bound(job: number, kind: number, node: number, at: number): void {
    this.#pods.bound(job, kind, (this.#machines[node] as ClusterMachine).name, instantAt(at));
  }

  ended(job: number): void {
    this.#pods.ended(job);
  }

  /** Runs one pass. */
  pass(at: number): void {
    const now = instantAt(at);
    for (const [index, { name }] of this.#machines.entries()) {
      this.#power.set(name, { power: watts(this.#site.power[index] as number), source: "prometheus", at: now });
    }
    const plan = planCluster({
      snapshot: this.#snapshot,
      settings: this.#settings,
      telemetry: { power: this.#power, usage: new Map(), facility },
      memory: this.#memory,
      arrivals: this.#arrivals,
      sleep: this.#sleep,
      now,
    });
    this.#memory = plan.memory;
    this.sleepPlan = plan.sleep;
    for (const { verdict, need } of plan.sleep?.nodes.values() ?? [])
      if (verdict === "wake") this.wakes[need ?? "other"]++;
    for (const node of plan.nodes.values()) {
      this.#publish(node, now);
      this.power?.want(node.name, node.spec.power?.state ?? "on", at);
    }
    this.#updateKeptNodes(now);
    this.kernel.beginBatch(now);
  }

  /** The extender rejects nodes that are kept free for another pod. The scheduler of the simulation places jobs by kind. */
  #updateKeptNodes(now: Instant): void {
    this.released.length = 0;
    const { reservations } = this.#site;
    if (reservations === undefined) return;
    for (const [node, { name }] of this.#machines.entries()) {
      const awaitedBy = awaitedPodOf(this.#snapshot.twin(name)?.status);
      const kind = isKeptFree(awaitedBy, now) ? this.#pods.kindOf(Number(awaitedBy.uid)) : undefined;
      if (reservations[node] !== undefined && kind === undefined) this.released.push(node);
      reservations[node] = kind && { kind, spareCores: awaitedBy?.spare?.cpu ?? -1 };
    }
  }

  /** Calls `set` for every node whose published caps are not applied yet. */
  enforce(set: (node: number, caps: Caps) => void): void {
    for (const [index, { name }] of this.#machines.entries()) {
      const caps = this.#unenforced.get(name);
      if (caps !== undefined) set(index, caps);
    }
    this.#unenforced.clear();
  }

  #publish(plan: NodePlan, now: Instant): void {
    const { name, twin, next, spec, labels, managed } = plan;
    const { node, shape } = managed;
    const last = this.#published.get(name);
    // The same state has other caps while pods wait, if eco caps are bounded.
    const isNewSpec =
      last === undefined ||
      last.next.state !== next.state ||
      last.next.caps !== next.caps ||
      !hasSameCaps(last.spec, spec) ||
      last.spec.power?.state !== spec.power?.state;
    if (!isNewSpec && now - last.at < HEARTBEAT_MS && !isTwinWorthPublishing(twin?.status, plan.status)) return;
    if (last?.spec.profile === "eco" && spec.profile === "performance")
      this.promotions.push({ at: now, reason: plan.reason });
    this.#published.set(name, { next, spec, at: now });
    const { power } = twin?.status ?? {};
    const status = { ...statusToPublish(plan, twin?.status, now), ...(power && { power }) };
    this.#snapshot.writeTwin({ metadata: { name }, spec, status });
    this.kernel.upsertTwin(name, status);
    if (!isNewSpec) return;
    const metadata = { ...node.metadata, labels: { ...node.metadata.labels, ...labels } };
    this.#snapshot.writeNode({ ...node, metadata });
    this.kernel.upsertLabels(name, metadata.labels);
    this.#unenforced.set(name, capsFor(spec, shape.hardware));
  }
}

/** The caps that an agent would set for a target on this hardware. */
function capsFor(spec: Pick<NodeTwinSpec, "cpu" | "gpu">, { cpu, gpu }: HardwareView): Caps {
  const device = withLowestCap({ min: cpu.minWattsPerSocket, max: cpu.maxWattsPerSocket, step: raplStep });
  const packageCap = resolveCap(cpuCapIntent(spec.cpu), device);
  const boardCap = gpu && resolveCap(gpuCapIntent(spec.gpu?.powerCap), { min: gpu.minWatts, max: gpu.maxWatts });
  return { cpuWattsPerPackage: wattsOf(packageCap), gpuWattsPerBoard: wattsOf(boardCap) };
}

const wattsOf = (resolution: CapResolution | undefined): Watts | undefined =>
  resolution?.kind === "watts" ? resolution.watts : undefined;
