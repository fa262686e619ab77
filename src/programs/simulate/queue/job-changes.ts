import type { RandomSource } from "../../../core/units/index.ts";
import type { Trace } from "../trace/trace.ts";
import type { ClusterMachine } from "./machines.ts";

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
