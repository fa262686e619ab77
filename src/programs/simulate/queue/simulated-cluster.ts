import { type Caps, SimulatedNode } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import { totalPower } from "../placement/node-score-parts.ts";
import type { MachineShape } from "../placement/node-shape.ts";
import type { PlacementNodes } from "../placement/placement-nodes.ts";
import { TournamentTree } from "../placement/tournament-tree.ts";
import { roundToMillicores } from "../trace/millicores.ts";
import type { TraceJob } from "./jobs.ts";
import type { ClusterMachine } from "./machines.ts";

/** The machines and their running jobs, simulated event by event. Times are seconds since the start. */
export class SimulatedCluster implements PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  readonly power: Float64Array;
  /** Number of performance jobs per node. */
  readonly performanceJobs: Int32Array;
  running = 0;
  readonly #machines: readonly ClusterMachine[];
  readonly #nodes: readonly SimulatedNode<TraceJob>[];
  /** Scores are negative times, so the next event wins. */
  readonly #events: TournamentTree;
  readonly #emptySince: Float64Array;
  #emptyJoules = 0;

  constructor(machines: readonly ClusterMachine[]) {
    this.#machines = machines;
    this.count = machines.length;
    this.#nodes = machines.map(({ model }) => new SimulatedNode<TraceJob>(model));
    this.freeCores = Float64Array.from(machines, ({ shape }) => shape.cores);
    this.freeGpus = Float64Array.from(machines, ({ shape }) => shape.gpus);
    this.power = Float64Array.from(this.#nodes, ({ watts }) => watts);
    this.performanceJobs = new Int32Array(this.count);
    this.#events = new TournamentTree(this.count);
    this.#events.rebuild();
    this.#emptySince = new Float64Array(this.count);
  }

  shape(node: number): MachineShape {
    return (this.#machines[node] as ClusterMachine).shape;
  }

  get totalWatts(): number {
    return totalPower(this.power);
  }

  /** Time of the next event if no job starts and no cap changes; Infinity = none. */
  get nextAt(): number {
    const node = this.#events.best();
    return node === -1 ? Number.POSITIVE_INFINITY : -(this.#events.scores[node] as number);
  }

  /** Processes the next event. Returns the node, and the job if one ended. */
  processNextEvent(): { node: number; ended?: TraceJob } | undefined {
    const index = this.#events.best();
    if (index === -1) return undefined;
    const at = seconds(-(this.#events.scores[index] as number));
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    const happening = node.advance(at);
    this.#refresh(index);
    if (happening?.kind !== "finished") return { node: index };
    const { job } = happening;
    this.running--;
    this.freeCores[index] = roundToMillicores((this.freeCores[index] as number) + job.cores);
    this.freeGpus[index] = (this.freeGpus[index] as number) + job.gpus;
    if (job.performance) this.performanceJobs[index] = (this.performanceJobs[index] as number) - 1;
    if (node.jobCount === 0) this.#emptySince[index] = at;
    return { node: index, ended: job };
  }

  start(index: number, job: TraceJob, at: number): void {
    const node = this.#broughtTo(index, at);
    if (node.jobCount === 0) this.#emptyJoules += node.model.idle * (at - (this.#emptySince[index] as number));
    node.start(job);
    this.running++;
    this.freeCores[index] = roundToMillicores((this.freeCores[index] as number) - job.cores);
    this.freeGpus[index] = (this.freeGpus[index] as number) - job.gpus;
    if (job.performance) this.performanceJobs[index] = (this.performanceJobs[index] as number) + 1;
    this.#refresh(index);
  }

  setCaps(index: number, caps: Caps, at: number): void {
    this.#broughtTo(index, at).setCaps(caps);
    this.#refresh(index);
  }

  /**
   * Advances a node to a time. All earlier events must be processed, otherwise a job would end unnoticed and keep its
   * cores.
   */
  #broughtTo(index: number, at: number): SimulatedNode<TraceJob> {
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    const missed = node.advance(seconds(at));
    if (missed !== undefined) throw new Error(`node ${index}: "${missed.kind}" at ${missed.at} s was skipped`);
    return node;
  }

  /** Energy in joules up to a time without pending events. */
  energyUntil(at: number): { cpu: number; gpu: number; empty: number } {
    let cpu = 0;
    let gpu = 0;
    let empty = this.#emptyJoules;
    for (const [index, node] of this.#nodes.entries()) {
      node.advance(seconds(at));
      cpu += node.cpuJoules;
      gpu += node.gpuJoules;
      if (node.jobCount === 0) empty += node.model.idle * (at - (this.#emptySince[index] as number));
    }
    return { cpu, gpu, empty };
  }

  #refresh(index: number): void {
    const node = this.#nodes[index] as SimulatedNode<TraceJob>;
    this.power[index] = node.watts;
    this.#events.set(index, -(node.nextAt ?? Number.POSITIVE_INFINITY));
  }
}
