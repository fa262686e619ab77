import type { PodDemand } from "../../../core/demand/index.ts";
import type { EnergyKernel, PlacedPod } from "../../../core/scoring/index.ts";
import { fits, type JobKindRequest } from "../placement/job-kinds.ts";
import type { TraceJob } from "./jobs.ts";
import { GPU_RESOURCE } from "./machines.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

/** kube-scheduler multiplies an extender's scores by its weight, 10, and by ten. */
const EXTENDER_FACTOR = 100;

/**
 * kube-scheduler with the extender in energy mode and with MostAllocated, as docs/guides/energy.md configures it. The extender
 * counts a pod on the node that it ranked first until the binding appears, so every placement is known to the next one.
 */
export class EnergyPlacement {
  readonly #site: SimulatedCluster;
  readonly #kernel: EnergyKernel;
  readonly #names: readonly string[];
  readonly #slots: Int32Array;
  readonly #candidates: Int32Array;
  readonly #nodes: Int32Array;
  readonly #points: Int16Array;

  constructor(site: SimulatedCluster, kernel: EnergyKernel, names: readonly string[]) {
    this.#site = site;
    this.#kernel = kernel;
    this.#names = names;
    this.#slots = Int32Array.from(names, (name) => kernel.slotOf(name));
    this.#candidates = new Int32Array(names.length);
    this.#nodes = new Int32Array(names.length);
    this.#points = new Int16Array(names.length);
  }

  /** Scores are relative to all candidates of a request, so nothing can be kept from one to the next. */
  place(kind: JobKindRequest): number {
    const { freeCores, count } = this.#site;
    const pod: PlacedPod = { demand: demandOf(kind), duration: undefined };
    const workloadClass = kind.performance ? "performance" : "standard";
    let found = 0;
    for (let node = 0; node < count; node++) {
      if (!fits(this.#site, node, kind)) continue;
      const slot = this.#slots[node] as number;
      if (this.#kernel.filter(slot, workloadClass) !== 0) continue;
      this.#candidates[found] = slot;
      this.#nodes[found++] = node;
    }
    if (found === 0) return -1;
    this.#kernel.scoreEnergy(this.#candidates.subarray(0, found), pod, workloadClass, this.#points);
    let best = -1;
    let highest = -Infinity;
    for (let index = 0; index < found; index++) {
      const node = this.#nodes[index] as number;
      const { cores } = this.#site.shape(node);
      const mostAllocated = Math.trunc(((cores - (freeCores[node] as number) + kind.cores) * 100) / cores);
      const score = EXTENDER_FACTOR * (this.#points[index] as number) + mostAllocated;
      if (score <= highest) continue;
      best = node;
      highest = score;
    }
    return best;
  }

  started(node: number, job: TraceJob): void {
    const pod = { demand: demandOf(job), duration: undefined, startedAt: undefined, background: false };
    this.#kernel.addPod(job.id, this.#names[node] as string, pod);
  }

  ended(job: TraceJob): void {
    this.#kernel.removePod(job.id);
  }
}

export const demandOf = ({ cores, gpus }: Pick<JobKindRequest, "cores" | "gpus">): PodDemand => ({
  cpuCores: cores,
  gpus: new Map(gpus > 0 ? [[GPU_RESOURCE, gpus]] : []),
});
