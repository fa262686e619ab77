import type { NodeHardware, NodeTwin } from "../../../core/api/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "../../../core/planning/index.ts";
import type { ClusterMachine } from "./machines.ts";
import type { SimulatedPods } from "./simulated-pods.ts";

/** The objects of the simulated cluster, as the operator reads them. Writes take effect at once. */
export class SimulatedSnapshot implements ClusterSnapshot {
  readonly current = true;
  readonly nodesCurrent = true;
  readonly #nodes: Map<string, SnapshotNode>;
  readonly #hardware: ReadonlyMap<string, NodeHardware>;
  readonly #twins = new Map<string, NodeTwin>();
  readonly #pods: SimulatedPods;

  constructor(machines: readonly ClusterMachine[], pods: SimulatedPods) {
    this.#pods = pods;
    this.#nodes = new Map(machines.map(({ name, node }) => [name, node]));
    this.#hardware = new Map(
      machines.map(({ name, discovered }) => [
        name,
        { metadata: { name }, spec: { nodeName: name }, status: discovered },
      ]),
    );
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
  pods = () => this.#pods.all();
  podsOn = (name: string) => this.#pods.on(name);
  recorded = () => this.#twins.keys();
  isGone = () => false;
}
