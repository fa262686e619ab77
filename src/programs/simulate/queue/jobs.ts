import { type SimulatedJob, WORK_KINDS, type WorkKind } from "../../../core/physics/index.ts";
import { type RandomSource, seconds } from "../../../core/units/index.ts";
import type { Trace } from "../trace/trace.ts";
import type { ClusterMachine } from "./machines.ts";

/** A job of the trace as run by a node. */
export interface TraceJob extends SimulatedJob {
  readonly index: number;
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
}

/** Standard CPU jobs of at least this size are treated as analytics, smaller ones as services. */
const LARGE_CORES = 16;

/** Traces do not tell how much a job depends on the clock; it is assumed from size and class. */
function workKindOf(gpus: number, computeBound: boolean, cores: number): WorkKind {
  if (gpus > 0) return computeBound ? WORK_KINDS.training : WORK_KINDS.decode;
  if (computeBound) return WORK_KINDS.compute;
  return cores >= LARGE_CORES ? WORK_KINDS.analytics : WORK_KINDS.service;
}

export function jobAt(trace: Trace, index: number): TraceJob {
  const cores = trace.cores[index] as number;
  const gpus = trace.gpus[index] as number;
  const performance = trace.performance[index] === 1;
  const kind = workKindOf(gpus, trace.computeBound[index] === 1, cores);
  return {
    id: String(index),
    index,
    cores,
    gpus,
    performance,
    cpuUtil: trace.cpuUtil[index] as number,
    cpuShare: kind.cpuShare,
    gpuUtil: trace.gpuUtil[index],
    gpuShare: kind.gpuShare,
    work: seconds(trace.durationSec[index] as number),
  };
}

/** The same jobs with this share of performance jobs, drawn without regard to size. What the jobs compute stays the same. */
export function withPerformanceShare(trace: Trace, share: number, random: RandomSource): Trace {
  return { ...trace, performance: trace.performance.map(() => (random.next() < share ? 1 : 0)) };
}

/**
 * The same jobs, with every GPU job bound to one kind of board, drawn by the number of boards among the kinds that have enough
 * of them in one node. A job's duration is that on its own boards.
 */
export function boundToBoards(trace: Trace, machines: readonly ClusterMachine[], random: RandomSource): Trace {
  const kinds = new Map<number, { boards: number; perNode: number }>();
  for (const { board, shape } of machines) {
    if (shape.gpus === 0) continue;
    const { boards, perNode } = kinds.get(board) ?? { boards: 0, perNode: 0 };
    kinds.set(board, { boards: boards + shape.gpus, perNode: Math.max(perNode, shape.gpus) });
  }
  const bound = trace.board.map((board, job) => {
    const gpus = trace.gpus[job] as number;
    if (gpus === 0) return board;
    const fitting = [...kinds].filter(([, { perNode }]) => perNode >= gpus);
    let left = random.next() * fitting.reduce((sum, [, { boards }]) => sum + boards, 0);
    return fitting.find(([, { boards }]) => (left -= boards) < 0)?.[0] ?? board;
  });
  return { ...trace, board: bound };
}
