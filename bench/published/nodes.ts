import type { PlacementNodes } from "../../src/programs/simulate/placement/job-kinds.ts";
import { roundToMillicores, type Trace } from "../../src/programs/simulate/trace/trace.ts";
import { BUSY_SHARE, type Cluster, cpuWattsOf, EMPTY_SHARE, FREE_GPU_WATTS, gpuWattsOf, STEP_SEC } from "./cluster.ts";
import type { PublishedShape } from "./node-shape.ts";

const NONE = -1;

/**
 * Running jobs as columns. A node's power is the sum over its jobs in arrival order. An arriving job is added to the
 * sum; after a departure the sum is recomputed. The result is bit-identical to recomputing it every time.
 */
export class NodeColumns implements PlacementNodes {
  readonly count: number;
  readonly shapes: readonly PublishedShape[];
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  readonly power: Float64Array;
  readonly #trace: Trace;
  readonly #shapeOf: Uint8Array;
  readonly #cpu: Float64Array;
  readonly #gpu: Float64Array;
  /** Linked list of each node's jobs, in order. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  readonly #before: Int32Array;
  readonly #after: Int32Array;
  /** Jobs that end at each step, in arrival order. */
  readonly #due: Int32Array;
  readonly #dueLast: Int32Array;
  readonly #dueNext: Int32Array;

  constructor(trace: Trace, { shapes, shapeOf }: Cluster, steps: number) {
    this.#trace = trace;
    this.#shapeOf = shapeOf;
    this.shapes = shapes;
    this.count = shapeOf.length;
    const ofShape = (figure: (shape: PublishedShape) => number) =>
      Float64Array.from(shapeOf, (index) => figure(shapes[index] as PublishedShape));
    this.freeCores = ofShape(({ cores }) => cores);
    this.freeGpus = ofShape(({ gpus }) => gpus);
    this.#cpu = ofShape(({ cpuWatts }) => cpuWatts * EMPTY_SHARE);
    this.#gpu = new Float64Array(this.count);
    this.power = ofShape(({ cpuWatts, gpus }) => cpuWatts * EMPTY_SHARE + (0 + FREE_GPU_WATTS * gpus));
    this.#first = new Int32Array(this.count).fill(NONE);
    this.#last = new Int32Array(this.count).fill(NONE);
    this.#before = new Int32Array(trace.length);
    this.#after = new Int32Array(trace.length);
    this.#due = new Int32Array(steps).fill(NONE);
    this.#dueLast = new Int32Array(steps).fill(NONE);
    this.#dueNext = new Int32Array(trace.length);
  }

  shape(node: number): PublishedShape {
    return this.shapes[this.#shapeOf[node] as number] as PublishedShape;
  }

  place(job: number, node: number, step: number): void {
    const shape = this.shape(node);
    const { cores, gpus, performance, cpuUtil, gpuUtil } = this.#trace;
    const last = this.#last[node] as number;
    if (last === NONE) {
      this.#first[node] = job;
      this.#cpu[node] = shape.cpuWatts * BUSY_SHARE;
    } else this.#after[last] = job;
    this.#before[job] = last;
    this.#after[job] = NONE;
    this.#last[node] = job;
    const jobCores = cores[job] as number;
    const jobGpus = gpus[job] as number;
    const cpu = (this.#cpu[node] as number) + cpuWattsOf(shape, jobCores, cpuUtil[job] as number);
    const gpu =
      (this.#gpu[node] as number) + gpuWattsOf(shape, jobGpus, performance[job] === 1, gpuUtil[job] as number);
    this.freeCores[node] = roundToMillicores((this.freeCores[node] as number) - jobCores);
    const freeGpus = (this.freeGpus[node] as number) - jobGpus;
    this.freeGpus[node] = freeGpus;
    this.#cpu[node] = cpu;
    this.#gpu[node] = gpu;
    this.power[node] = cpu + (gpu + FREE_GPU_WATTS * freeGpus);
    this.#leaveAt(job, step + stepsOf(this.#trace.durationSec[job] as number));
  }

  #leaveAt(job: number, step: number): void {
    if (step >= this.#due.length) return;
    const last = this.#dueLast[step] as number;
    if (last === NONE) this.#due[step] = job;
    else this.#dueNext[last] = job;
    this.#dueNext[job] = NONE;
    this.#dueLast[step] = job;
  }

  /**
   * Releases the resources of jobs that end at this step. Calls `changed` once per affected node, after its power is
   * updated.
   */
  release(step: number, placedOn: Int32Array, changed: (node: number) => void): void {
    const { cores, gpus } = this.#trace;
    const first = this.#due[step] as number;
    for (let job = first; job !== NONE; job = this.#dueNext[job] as number) {
      const node = placedOn[job] as number;
      const before = this.#before[job] as number;
      const after = this.#after[job] as number;
      if (before === NONE) this.#first[node] = after;
      else this.#after[before] = after;
      if (after === NONE) this.#last[node] = before;
      else this.#before[after] = before;
      this.freeCores[node] = roundToMillicores((this.freeCores[node] as number) + (cores[job] as number));
      this.freeGpus[node] = (this.freeGpus[node] as number) + (gpus[job] as number);
      this.#cpu[node] = Number.NaN;
    }
    for (let job = first; job !== NONE; job = this.#dueNext[job] as number) {
      const node = placedOn[job] as number;
      if (!Number.isNaN(this.#cpu[node])) continue;
      this.#sumAnew(node);
      changed(node);
    }
  }

  #sumAnew(node: number): void {
    const shape = this.shape(node);
    const { cores, gpus, performance, cpuUtil, gpuUtil } = this.#trace;
    let job = this.#first[node] as number;
    let cpu = shape.cpuWatts * (job === NONE ? EMPTY_SHARE : BUSY_SHARE);
    let gpu = 0;
    for (; job !== NONE; job = this.#after[job] as number) {
      cpu += cpuWattsOf(shape, cores[job] as number, cpuUtil[job] as number);
      gpu += gpuWattsOf(shape, gpus[job] as number, performance[job] === 1, gpuUtil[job] as number);
    }
    this.#cpu[node] = cpu;
    this.#gpu[node] = gpu;
    this.power[node] = cpu + (gpu + FREE_GPU_WATTS * (this.freeGpus[node] as number));
  }
}

/** Steps until a job's time is used up. Repeated subtraction of 60 s is exact; division is not. */
function stepsOf(durationSec: number): number {
  let steps = Math.max(1, Math.ceil(durationSec / STEP_SEC));
  if (durationSec > steps * STEP_SEC) steps++;
  else if (steps > 1 && durationSec <= (steps - 1) * STEP_SEC) steps--;
  return steps;
}
