import type { Trace } from "../trace/trace.ts";
import type { ClusterMachine } from "./machines.ts";

/**
 * The weight of a job's work: what the cores and boards that it holds would draw at their rating, in watts. Cores count the
 * cluster's mean, boards their own rating if the job is bound to them, otherwise the mean. It is the same for every arm, so
 * cheap and expensive work cannot be exchanged unnoticed.
 */
export function ratedWatts(machines: readonly ClusterMachine[]): (trace: Trace, job: number) => number {
  let cores = 0;
  let cpuWatts = 0;
  let boards = 0;
  let gpuWatts = 0;
  const byBoard = new Map<number, number>();
  for (const { shape, board } of machines) {
    cores += shape.cores;
    cpuWatts += shape.cpuWatts;
    boards += shape.gpus;
    gpuWatts += shape.gpus * shape.gpuWatts;
    if (shape.gpus > 0) byBoard.set(board, shape.gpuWatts);
  }
  const perCore = cores > 0 ? cpuWatts / cores : 0;
  const perBoard = boards > 0 ? gpuWatts / boards : 0;
  return ({ cores: asked, gpus, board }, job) =>
    (asked[job] as number) * perCore + (gpus[job] as number) * (byBoard.get(board[job] as number) ?? perBoard);
}
