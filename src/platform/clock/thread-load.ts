import { type Performance, performance } from "node:perf_hooks";

/** The share of time (0–1) that a thread was busy since the last call. Waiting for a CPU core counts as busy. */
export type ThreadLoad = () => number;

/** For this thread, or for another one by its `performance` object. */
export function threadLoad(thread: Pick<Performance, "eventLoopUtilization"> = performance): ThreadLoad {
  let last = thread.eventLoopUtilization();
  return () => {
    const now = thread.eventLoopUtilization();
    const { utilization } = thread.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
