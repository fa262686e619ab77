import { type Performance, performance } from "node:perf_hooks";

/** The share of the time that a thread was busy, 0–1, since it was last asked; time that it waited for a core is part of it. */
export type ThreadLoad = () => number;

/** Of this thread, or of another by its `performance`. */
export function threadLoad(thread: Pick<Performance, "eventLoopUtilization"> = performance): ThreadLoad {
  let last = thread.eventLoopUtilization();
  return () => {
    const now = thread.eventLoopUtilization();
    const { utilization } = thread.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
