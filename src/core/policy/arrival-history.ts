import type { NodeConstraint, PodPool, PodRequests, PodSummary } from "../demand/index.ts";
import { type Instant, type Milliseconds, milliseconds } from "../units/index.ts";

/** Pods of one shape: the same requests, and the same nodes that they may run on. */
export interface PodGroup {
  readonly requests: PodRequests;
  readonly nodes: NodeConstraint;
  readonly count: number;
}

/**
 * How long a pending performance pod waits for a promoted node: the watch, a planning pass, the writes, the scheduler's next
 * try and one tick of the agent. Pods that arrive within this time have to fit on nodes that are performance already.
 */
export const PROMOTION_TIME: Milliseconds = milliseconds(30_000);

const WINDOWS = 86_400_000 / PROMOTION_TIME;
/** Different shapes that a window stores. Pods of further shapes count like those of the last one. */
const MOST_SHAPES = 16;

interface Batch {
  readonly groups: { readonly requests: PodRequests; readonly nodes: NodeConstraint; count: number }[];
  /** Cores, or GPUs of the GPU pool. */
  size: number;
}

/**
 * The performance pods that arrived during the last day, by promotion time. It needs no storage: after a restart the operator
 * reads the arrival times of the pods that still exist from the pods themselves. Its size is bounded.
 */
export class ArrivalHistory {
  readonly #windows: Readonly<Record<PodPool, Map<number, Batch>>> = { cpu: new Map(), gpu: new Map() };

  /** Records a performance pod once, when it is first seen. Other pods are ignored. */
  record({ createdAt, requests, nodes }: Pick<PodSummary, "createdAt" | "requests" | "nodes">): void {
    if (createdAt === undefined || requests === undefined || nodes === undefined) return;
    const windows = this.#windows[requests.gpus > 0 ? "gpu" : "cpu"];
    const index = windowOf(createdAt);
    let batch = windows.get(index);
    if (batch === undefined) {
      if (windows.size >= 2 * WINDOWS) forgetOldest(windows);
      windows.set(index, (batch = { groups: [], size: 0 }));
    }
    batch.size += requests.gpus > 0 ? requests.gpus : (requests.amounts.get("cpu") ?? 0);
    const { groups } = batch;
    const same = groups.find((group) => group.requests === requests && group.nodes === nodes);
    const group = same ?? (groups.length < MOST_SHAPES ? undefined : groups.at(-1));
    if (group === undefined) groups.push({ requests, nodes, count: 1 });
    else group.count++;
  }

  /**
   * The pods to keep room for: those of the window at this quantile, by cores in the CPU pool and by GPUs in the GPU pool.
   * Windows without arrivals count from the first arrival on, for at most a day.
   */
  reserve(quantile: number, now: Instant): readonly PodGroup[] {
    return [...reserveIn(this.#windows.gpu, quantile, now), ...reserveIn(this.#windows.cpu, quantile, now)];
  }
}

const windowOf = (at: Instant): number => Math.floor(at / PROMOTION_TIME);

function reserveIn(windows: Map<number, Batch>, quantile: number, now: Instant): readonly PodGroup[] {
  const last = windowOf(now);
  const first = last - WINDOWS + 1;
  let earliest = last;
  const batches: Batch[] = [];
  for (const [index, batch] of windows) {
    if (index < first) windows.delete(index);
    // A time ahead of the clock does not count yet.
    if (index < first || index > last) continue;
    earliest = Math.min(earliest, index);
    batches.push(batch);
  }
  const observed = last - earliest + 1;
  const rank = Math.min(observed, Math.ceil(quantile * observed));
  const place = rank - (observed - batches.length) - 1;
  if (!(place >= 0)) return [];
  return batches.toSorted((a, b) => a.size - b.size)[place]?.groups ?? [];
}

function forgetOldest(windows: Map<number, Batch>): void {
  const old = Array.from(windows.keys()).toSorted((a, b) => a - b);
  for (const index of old.slice(0, old.length - WINDOWS)) windows.delete(index);
}
