import { ANY_BOARD } from "../trace/trace.ts";
import type { JobKindRequest } from "./job-kinds.ts";
import type { MachineShape } from "./node-shape.ts";

/** Node data for placement, by node index. The simulation keeps it current. */
export interface PlacementNodes {
  readonly count: number;
  readonly freeCores: Float64Array;
  readonly freeGpus: Float64Array;
  /** Current power in watts. */
  readonly power: Float64Array;
  /** The kind of board of each node; absent if no job is bound to one. */
  readonly board?: Int8Array | undefined;
  /** 1 for nodes with a taint that no job tolerates; absent if there are none. */
  readonly tainted?: Uint8Array | undefined;
  /** The job that a node is kept free for; absent if the scheduler has no extender. */
  readonly keptFor?: readonly (KeptFor | undefined)[] | undefined;
  shape(node: number): MachineShape;
}

export interface KeptFor {
  readonly kind: JobKindRequest;
  /** Cores that other jobs may take. */
  readonly spareCores: number;
}

/** Whether a node has no taint, is not kept free for another kind of job, and has the kind of board that a job is bound to. */
export function admits({ board, tainted, keptFor }: PlacementNodes, node: number, kind: JobKindRequest): boolean {
  const kept = keptFor?.[node];
  const isFree = kept === undefined || kept.kind === kind || kind.cores <= kept.spareCores;
  return isFree && tainted?.[node] !== 1 && (kind.board === ANY_BOARD || board?.[node] === kind.board);
}
