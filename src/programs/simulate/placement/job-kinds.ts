import type { Watts } from "../../../core/units/index.ts";
import { ANY_BOARD, type Trace } from "../trace/trace.ts";

/** The request of a job as the scheduler sees it. Traces have few kinds, so nodes are compared once per kind. */
export interface JobKindRequest {
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
  /** The kind of board that it must run on; ANY_BOARD = any. */
  readonly board: number;
}

export interface JobKindIndex {
  readonly kinds: readonly JobKindRequest[];
  readonly kindOf: Int32Array;
}

/** `classMatters` tells whether the class affects the placement of a job; fewer kinds need fewer comparisons. */
export function indexJobKinds(
  { length, cores, gpus, performance, board }: Trace,
  classMatters: (gpus: number) => boolean = () => true,
): JobKindIndex {
  const kinds: JobKindRequest[] = [];
  const kindByRequest = new Map<string, number>();
  const kindOf = Int32Array.from({ length }, (_, job) => {
    const jobGpus = gpus[job] as number;
    const isPerformance = performance[job] === 1 && classMatters(jobGpus);
    const request = {
      cores: cores[job] as number,
      gpus: jobGpus,
      performance: isPerformance,
      board: board[job] as number,
    };
    const key = Object.values(request).join("/");
    const kind = kindByRequest.get(key) ?? kinds.push(request) - 1;
    kindByRequest.set(key, kind);
    return kind;
  });
  return { kinds, kindOf };
}

/** What jobs can take of a kind of machine, and what that is rated at. */
export interface MachineShape {
  readonly cores: number;
  /** Of all packages. */
  readonly cpuWatts: Watts;
  readonly gpus: number;
  /** Of one board. */
  readonly gpuWatts: Watts;
}

/** Node data for placement, by node index. The simulation keeps it current. */
export interface PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  /** The kind of board of each node; absent if no job is bound to one. */
  readonly board?: Int8Array;
  /** 1 for nodes with a taint that no job tolerates; absent if there are none. */
  readonly tainted?: Uint8Array | undefined;
  /** The job that a node is kept free for; absent if the scheduler has no extender. */
  readonly reservations?: readonly (Reservation | undefined)[] | undefined;
  shape(node: number): MachineShape;
}

export interface Reservation {
  readonly kind: JobKindRequest;
  /** Cores that other jobs may take. */
  readonly spareCores: number;
}

/** Whether a node has no taint, is not kept free for another kind of job, and has the kind of board that a job is bound to. */
export function admits({ board, tainted, reservations }: PlacementNodes, node: number, kind: JobKindRequest): boolean {
  const kept = reservations?.[node];
  const isFree = kept === undefined || kept.kind === kind || kind.cores <= kept.spareCores;
  return isFree && tainted?.[node] !== 1 && (kind.board === ANY_BOARD || board?.[node] === kind.board);
}

/** Chooses a node for a job of this kind; −1 if it fits on none. */
export type Placement = (kind: JobKindRequest) => number;

/** Whether a node has the cores and boards that a job needs, and admits it. */
export const fits = (nodes: PlacementNodes, node: number, kind: JobKindRequest): boolean =>
  (nodes.freeCores[node] as number) >= kind.cores &&
  (nodes.freeGpus[node] as number) >= kind.gpus &&
  admits(nodes, node, kind);

/** The node with the highest score, the first of equals; −Infinity excludes a node, and −1 = none is left. */
export function bestNode(count: number, scoreOf: (node: number) => number): number {
  let best = -1;
  let highest = -Infinity;
  for (let node = 0; node < count; node++) {
    const score = scoreOf(node);
    if (score <= highest) continue;
    best = node;
    highest = score;
  }
  return best;
}
