import type { HardwareView } from "../../../core/inventory/index.ts";
import type { Caps } from "../../../core/physics/index.ts";
import {
  type NodePlan,
  PlanCache,
  type PlanningSettings,
  PowerTrends,
  planCluster,
  statusToPublish,
} from "../../../core/planning/index.ts";
import { ArrivalHistory, hasSameCaps, type PowerState } from "../../../core/policy/index.ts";
import { defaultScoringSettings, ScoringKernel } from "../../../core/scoring/index.ts";
import { isWorthPublishing, type PowerReading } from "../../../core/twin/index.ts";
import { type Instant, instant, type Percent, watts } from "../../../core/units/index.ts";
import type { PolicyName } from "../contenders.ts";
import type { JobKindRequest } from "../placement/job-kinds.ts";
import { capsFor } from "./caps.ts";
import type { ClusterMachine } from "./machines.ts";
import { HEARTBEAT_MS, planningSettings } from "./settings.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";
import { SimulatedPods } from "./simulated-pods.ts";
import { SimulatedSnapshot } from "./simulated-snapshot.ts";

/** Start of all simulations; the date is arbitrary. */
const START = Date.UTC(2026, 0, 1);
const instantAt = (seconds: number): Instant => instant(START + seconds * 1000);

const facility = { site: {}, zones: new Map(), racks: new Map() };

/** The extender beside the operator. */
interface SimulatedExtender {
  readonly kernel?: ScoringKernel | undefined;
  /** The hardware as the extender knows it. */
  readonly seenBy?: ((hardware: HardwareView) => HardwareView) | undefined;
}

/** The kinds of jobs, for policies that fit pods to nodes. */
interface FittedJobs {
  readonly kinds?: readonly JobKindRequest[] | undefined;
  readonly ecoMaxSlowdown?: Percent | undefined;
}

/**
 * Runs the operator's planning pass on simulated nodes and publishes the plans by the operator's rules. Writes take effect
 * at once. Agents apply the last published caps when `enforce` is called.
 */
export class SimulatedOperator {
  /** The extender's scoring state, from the published twins. */
  readonly kernel: ScoringKernel;
  readonly #machines: readonly ClusterMachine[];
  readonly #site: SimulatedCluster;
  readonly #settings: PlanningSettings;
  readonly #snapshot: SimulatedSnapshot;
  readonly #arrivals = new ArrivalHistory();
  /** With fit_aware_v1 only. */
  readonly #pods: SimulatedPods | undefined;
  readonly #power = new Map<string, PowerReading>();
  readonly #trends = new PowerTrends();
  readonly #cache = new PlanCache();
  /** The last published state of every node, and when it was published. */
  readonly #published = new Map<
    string,
    { readonly next: PowerState; readonly spec: NodePlan["spec"]; readonly at: Instant }
  >();
  /** Published caps that the agents have not set yet, by node. */
  readonly #unenforced = new Map<string, Caps>();

  constructor(
    machines: readonly ClusterMachine[],
    site: SimulatedCluster,
    policy: PolicyName,
    {
      kernel = new ScoringKernel(defaultScoringSettings),
      seenBy = (hardware) => hardware,
      kinds,
      ecoMaxSlowdown,
    }: SimulatedExtender & FittedJobs = {},
  ) {
    this.kernel = kernel;
    this.#machines = machines;
    this.#site = site;
    this.#settings = planningSettings(policy, ecoMaxSlowdown);
    const byFit = policy === "fit_aware_v1" && kinds !== undefined;
    this.#pods = byFit ? new SimulatedPods(kinds, machines, this.#arrivals) : undefined;
    this.#snapshot = new SimulatedSnapshot(machines, site, this.#pods);
    for (const { name, hardware, node } of machines) {
      kernel.upsertHardware(name, seenBy(hardware));
      kernel.upsertLabels(name, node.metadata.labels);
    }
  }

  /** Whether a performance pod without a node triggers a pass. */
  get fitsPods(): boolean {
    return this.#pods !== undefined;
  }

  arrived(job: number, kind: number, at: number): void {
    this.#pods?.arrived(job, kind, instantAt(at));
  }

  bound(job: number, kind: number, node: number, at: number): void {
    this.#pods?.bound(job, kind, (this.#machines[node] as ClusterMachine).name, instantAt(at));
  }

  ended(job: number): void {
    this.#pods?.ended(job);
  }

  /** Runs one pass. `waiting` performance jobs count as demand. */
  pass(at: number, waiting: number): void {
    const now = instantAt(at);
    this.#snapshot.readJobs(waiting);
    for (const [index, { name }] of this.#machines.entries()) {
      this.#power.set(name, { power: watts(this.#site.power[index] as number), source: "prometheus", at: now });
    }
    const plan = planCluster({
      snapshot: this.#snapshot,
      settings: this.#settings,
      telemetry: { power: this.#power, usage: new Map(), facility },
      trends: this.#trends,
      cache: this.#cache,
      arrivals: this.#arrivals,
      now,
    });
    for (const node of plan.nodes.values()) this.#publish(node, now);
    this.kernel.beginBatch(now);
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
      (last.spec !== spec && !hasSameCaps(last.spec, spec));
    if (!isNewSpec && now - last.at < HEARTBEAT_MS && !isWorthPublishing(twin?.status, plan.status)) return;
    this.#published.set(name, { next, spec, at: now });
    const status = statusToPublish(plan, twin?.status, now);
    this.#snapshot.writeTwin({ metadata: { name }, spec, status });
    this.kernel.upsertTwin(name, status);
    if (!isNewSpec) return;
    const metadata = { ...node.metadata, labels: { ...node.metadata.labels, ...labels } };
    this.#snapshot.writeNode({ ...node, metadata });
    this.kernel.upsertLabels(name, metadata.labels);
    this.#unenforced.set(name, capsFor(spec, shape.hardware));
  }
}
