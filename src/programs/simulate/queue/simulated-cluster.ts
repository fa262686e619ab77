import type { NodePowerState } from "../../../core/api/index.ts";
import { type Caps, type NodeModel, SimulatedNode } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import type { MachineShape, PlacementNodes, Reservation } from "../placement/job-kinds.ts";
import { roundToMillicores } from "../trace/trace.ts";
import type { TraceJob } from "./jobs.ts";
import type { ClusterMachine } from "./machines.ts";

/** A node that is on is empty, runs jobs under caps, or runs them at full speed; the others are states of its power. */
const nodeStates = ["empty", "eco", "full", "off", "stopping", "waking", "failed"] as const;
export type SimulatedNodeState = (typeof nodeStates)[number];

/** Joules since the start. */
export interface ClusterEnergy {
  /** All nodes: at the wall, or of packages and boards only. */
  readonly total: number;
  readonly cpu: number;
  readonly gpu: number;
  /** Parts of the total, by the state of the node. */
  readonly byState: Readonly<Record<SimulatedNodeState, number>>;
  /** Seconds that nodes were off, summed over all nodes. */
  readonly offSeconds: number;
}

/** The machines and their running jobs, simulated event by event. Times are seconds since the start. */
export class SimulatedCluster implements PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  readonly board: Int8Array;
  /** Power of packages and boards, as the operator's meters read it. */
  readonly power: Float64Array;
  readonly tainted: Uint8Array | undefined;
  reservations: (Reservation | undefined)[] | undefined;
  running = 0;
  readonly #machines: readonly ClusterMachine[];
  readonly #nodes: readonly SimulatedNode<TraceJob>[];
  /** When something happens next on each node; Infinity = never. */
  readonly #eventAt: Float64Array;
  readonly #atWall: boolean;
  /** Reported power: at the wall, or of packages and boards. */
  readonly #draws: Float64Array;
  readonly #states: SimulatedNodeState[];
  readonly #byState = Object.fromEntries(nodeStates.map((state) => [state, 0])) as Record<SimulatedNodeState, number>;
  /** Joules of each node that are counted in a state. */
  readonly #counted: Float64Array;

  /** `atWall`: reports the power and energy of whole servers. `sleeps`: nodes may have taints and be switched off. */
  constructor(machines: readonly ClusterMachine[], atWall = false, sleeps = false) {
    this.#machines = machines;
    this.#atWall = atWall;
    this.count = machines.length;
    this.#nodes = machines.map(({ model }) => new SimulatedNode<TraceJob>(model));
    this.freeCores = Float64Array.from(machines, ({ shape }) => shape.cores);
    this.freeGpus = Float64Array.from(machines, ({ shape }) => shape.gpus);
    this.power = Float64Array.from(this.#nodes, ({ watts }) => watts);
    this.board = Int8Array.from(machines, ({ board }) => board);
    this.#draws = Float64Array.from(this.#nodes, (node) => this.#reportedWatts(node));
    this.tainted = sleeps ? new Uint8Array(this.count) : undefined;
    this.#eventAt = new Float64Array(this.count).fill(Infinity);
    this.#states = machines.map(() => "empty");
    this.#counted = new Float64Array(this.count);
  }

  shape(node: number): MachineShape {
    return (this.#machines[node] as ClusterMachine).shape;
  }

  get totalWatts(): number {
    return this.#draws.reduce((sum, power) => sum + power, 0);
  }

  /** Time of the next event if no job starts and no cap changes; Infinity = none. */
  get nextAt(): number {
    return this.#eventAt[this.#firstEvent()] ?? Infinity;
  }

  /** Processes the next event. Returns the node, and the job if one ended, or its power if it was switched. */
  processNextEvent(): { node: number; ended?: TraceJob; switched?: NodePowerState } | undefined {
    const index = this.#firstEvent();
    const at = seconds(this.#eventAt[index] ?? Infinity);
    if (at === Infinity) return undefined;
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    const happening = node.advance(at);
    this.#refresh(index);
    if (happening?.kind === "switched") {
      this.#enterState(index, node);
      return { node: index, switched: happening.power };
    }
    if (happening?.kind !== "finished") return { node: index };
    const { job } = happening;
    this.running--;
    this.freeCores[index] = roundToMillicores((this.freeCores[index] as number) + job.cores);
    this.freeGpus[index] = (this.freeGpus[index] as number) + job.gpus;
    this.#enterState(index, node);
    return { node: index, ended: job };
  }

  start(index: number, job: TraceJob, at: number): void {
    const node = this.#broughtTo(index, at);
    node.start(job);
    this.#enterState(index, node);
    this.running++;
    this.freeCores[index] = roundToMillicores((this.freeCores[index] as number) - job.cores);
    this.freeGpus[index] = (this.freeGpus[index] as number) - job.gpus;
    this.#refresh(index);
  }

  setCaps(index: number, caps: Caps, at: number): void {
    const node = this.#broughtTo(index, at);
    node.setCaps(caps);
    this.#enterState(index, node);
    this.#refresh(index);
  }

  powerOf(index: number): NodePowerState {
    return (this.#nodes[index] as SimulatedNode<TraceJob>).power;
  }

  /** Reported power of one node. */
  wattsOf(index: number): number {
    return this.#draws[index] as number;
  }

  bootSecondsOf(index: number): number {
    return (this.#machines[index] as ClusterMachine).model.states.bootTime;
  }

  jobsOn(index: number): number {
    return (this.#nodes[index] as SimulatedNode<TraceJob>).jobCount;
  }

  /** Switches a machine. It must be empty: a simulated power program that takes power from jobs has an error. */
  switchPower(index: number, how: "shutDown" | "cutPower" | "switchOn" | "failToSwitchOn", at: number): void {
    const node = this.#broughtTo(index, at);
    if (node.jobCount > 0) throw new Error(`node ${index} would lose power at ${at} s with ${node.jobCount} jobs`);
    if (how === "shutDown") node.shutDown();
    else if (how === "cutPower") node.cutPower();
    else node.switchOn(how === "failToSwitchOn");
    this.#enterState(index, node);
    this.#refresh(index);
  }

  /** All earlier events must be processed, otherwise a job would end unnoticed and keep its cores. */
  #broughtTo(index: number, at: number): SimulatedNode<TraceJob> {
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    const missed = node.advance(seconds(at));
    if (missed !== undefined) throw new Error(`node ${index}: "${missed.kind}" at ${missed.at} s was skipped`);
    return node;
  }

  /** Energy up to a time without pending events. */
  energyUntil(at: number): ClusterEnergy {
    let total = 0;
    let cpu = 0;
    let gpu = 0;
    let offSeconds = 0;
    const byState = { ...this.#byState };
    for (const [index, node] of this.#nodes.entries()) {
      node.advance(seconds(at));
      cpu += node.cpuJoules;
      gpu += node.gpuJoules;
      offSeconds += node.offSeconds;
      const joules = this.#reportedJoules(node);
      total += joules;
      byState[this.#states[index] as SimulatedNodeState] += joules - (this.#counted[index] as number);
    }
    return { total, cpu, gpu, byState, offSeconds };
  }

  /** Calls `visit` with every running job and its remaining work, in seconds at full speed, at a time without pending events. */
  visitRunning(at: number, visit: (job: TraceJob, left: number) => void): void {
    for (const node of this.#nodes) {
      node.advance(seconds(at));
      for (const job of node.jobs()) visit(job, node.leftOf(job.id) ?? 0);
    }
  }

  /** Counts the energy so far in the state that ends, if the state changes. */
  #enterState(index: number, node: SimulatedNode<TraceJob>): void {
    const next = stateOf(node);
    const last = this.#states[index] as SimulatedNodeState;
    if (next === last) return;
    const joules = this.#reportedJoules(node);
    this.#byState[last] += joules - (this.#counted[index] as number);
    this.#counted[index] = joules;
    this.#states[index] = next;
  }

  /** The node with the next event, the first of equals. */
  #firstEvent(): number {
    let first = 0;
    for (let index = 1; index < this.count; index++)
      if ((this.#eventAt[index] as number) < (this.#eventAt[first] as number)) first = index;
    return first;
  }

  #reportedWatts(node: SimulatedNode<TraceJob>): number {
    return this.#atWall ? node.wallWatts : node.watts;
  }

  #reportedJoules(node: SimulatedNode<TraceJob>): number {
    return this.#atWall ? node.wallJoules : node.joules;
  }

  #refresh(index: number): void {
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    this.power[index] = node.watts;
    this.#draws[index] = this.#reportedWatts(node);
    this.#eventAt[index] = node.nextAt ?? Infinity;
  }
}

function stateOf({ power, jobCount, caps, model }: SimulatedNode<TraceJob>): SimulatedNodeState {
  if (power !== "on") return power;
  if (jobCount === 0) return "empty";
  return isCapped(caps, model) ? "eco" : "full";
}

/** Whether a cap is below what a package or board draws at full load. */
const isCapped = ({ cpuWattsPerPackage: cpu, gpuWattsPerBoard: gpu }: Caps, model: NodeModel): boolean =>
  (cpu !== undefined && cpu < model.cpu.full) || (gpu !== undefined && model.gpu !== undefined && gpu < model.gpu.full);
