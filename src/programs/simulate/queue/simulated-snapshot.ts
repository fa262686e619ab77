import type { NodeHardware, NodeTwin } from "../../../core/api/index.ts";
import type { PodSummary } from "../../../core/demand/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "../../../core/planning/index.ts";
import type { ClusterMachine } from "./machines.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";
import type { SimulatedPods } from "./simulated-pods.ts";

/** The objects of the simulated cluster, as the operator reads them. Writes take effect at once. */
export class SimulatedSnapshot implements ClusterSnapshot {
  readonly current = true;
  readonly nodesCurrent = true;
  readonly #site: SimulatedCluster;
  readonly #nodes: Map<string, SnapshotNode>;
  readonly #hardware: ReadonlyMap<string, NodeHardware>;
  readonly #twins = new Map<string, NodeTwin>();
  readonly #performancePods: readonly PodSummary[];
  readonly #allPods: SimulatedPods | undefined;
  #pending = 0;

  /** `pods`: every pod with its requests, for policies that fit pods to nodes; absent = only performance pods, uncounted. */
  constructor(machines: readonly ClusterMachine[], site: SimulatedCluster, pods?: SimulatedPods) {
    this.#site = site;
    this.#allPods = pods;
    this.#nodes = new Map(machines.map(({ name, node }) => [name, node]));
    this.#hardware = new Map(
      machines.map(({ name, discovered }) => [
        name,
        { metadata: { name }, spec: { nodeName: name }, status: discovered },
      ]),
    );
    this.#performancePods = machines.map(({ name }) => performancePodOn(name));
  }

  /** Reads the jobs again. `pending` performance jobs wait for a node. */
  readJobs(pending: number): void {
    this.#pending = pending;
  }

  writeTwin(twin: NodeTwin): void {
    this.#twins.set(twin.metadata.name, twin);
  }

  /** Only the power program writes this part of the status. */
  writePower(name: string, power: NonNullable<NodeTwin["status"]>["power"]): void {
    const twin = this.#twins.get(name);
    if (twin !== undefined) this.#twins.set(name, { ...twin, status: { ...twin.status, power } });
  }

  writeNode(node: SnapshotNode): void {
    this.#nodes.set(node.metadata.name, node);
  }

  nodes = () => this.#nodes.values();
  node = (name: string) => this.#nodes.get(name);
  twin = (name: string) => this.#twins.get(name);
  hardware = (name: string) => this.#hardware.get(name);
  profile = () => undefined;

  /** Without requests only performance jobs count: no other pod affects a plan while the nodes have meters. */
  *pods(): Iterable<PodSummary> {
    if (this.#allPods !== undefined) {
      yield* this.#allPods.all();
      return;
    }
    for (const [index, pod] of this.#performancePods.entries()) {
      for (let jobs = this.#site.performanceJobs[index] as number; jobs > 0; jobs--) yield pod;
    }
    for (let jobs = this.#pending; jobs > 0; jobs--) yield pendingPod;
  }

  *podsOn(name: string): Iterable<PodSummary> {
    if (this.#allPods !== undefined) {
      yield* this.#allPods.on(name);
      return;
    }
    for (const pod of this.pods()) if (pod.node === name) yield pod;
  }

  recorded = () => this.#twins.keys();
  isGone = () => false;
}

const performancePodOn = (node: string | undefined): PodSummary => ({
  node,
  active: true,
  constraint: "general",
  workloadClass: "performance",
  performanceSensitive: true,
  demand: { cpuCores: 0, gpus: new Map() },
});
const pendingPod = performancePodOn(undefined);
