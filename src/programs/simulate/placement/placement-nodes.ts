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
  shape(node: number): MachineShape;
}

/** Whether a node has no taint, and the kind of board that a job is bound to. */
export const admits = ({ board, tainted }: PlacementNodes, node: number, kind: JobKindRequest): boolean =>
  tainted?.[node] !== 1 && (kind.board === ANY_BOARD || board?.[node] === kind.board);
