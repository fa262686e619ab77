import { type Seconds, seconds } from "../units/index.ts";
import type { PacedJob } from "./operation.ts";
import type { SimulatedJob } from "./work.ts";

/** A running job with its progress rate for the current segment. */
export interface JobInProgress<J extends SimulatedJob> extends PacedJob {
  readonly job: J;
  /** Remaining work at the start of the segment, in seconds at full speed. */
  left: number;
}

/** A service never ends: its remaining work is infinite. */
export const leftAfter = ({ left, rate }: JobInProgress<SimulatedJob>, time: Seconds): Seconds =>
  seconds(Math.max(0, left - rate * time));

/** Time to completion at the current rate; infinite for a service and for a stalled job. */
export const timeLeft = ({ left, rate }: JobInProgress<SimulatedJob>): Seconds => seconds(left > 0 ? left / rate : 0);

/** The job that completes first; on a tie, the one that started first. Absent if none completes. */
export function firstDone<J extends SimulatedJob>(jobs: readonly JobInProgress<J>[]): JobInProgress<J> | undefined {
  let first: JobInProgress<J> | undefined;
  let soonest = Number.POSITIVE_INFINITY;
  for (const running of jobs) {
    const time = timeLeft(running);
    if (time < soonest) [first, soonest] = [running, time];
  }
  return first;
}
