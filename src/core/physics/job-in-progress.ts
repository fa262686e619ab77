import { type Seconds, seconds } from "../units/index.ts";
import type { PacedJob } from "./operation.ts";
import type { SimulatedJob } from "./work.ts";

/** A job at work, at a pace that holds for the segment. */
export interface JobInProgress<J extends SimulatedJob> extends PacedJob {
  readonly job: J;
  /** Work left when the segment began, in seconds at full speed. */
  left: number;
}

/** A service has no end: infinity less what was done stays infinity. */
export const leftAfter = ({ left, rate }: JobInProgress<SimulatedJob>, time: Seconds): Seconds =>
  seconds(Math.max(0, left - rate * time));

/** What is left at its pace; infinite for a service, and for what stands still. */
export const timeLeft = ({ left, rate }: JobInProgress<SimulatedJob>): Seconds => seconds(left > 0 ? left / rate : 0);

/** The job that is done first; of two at the same time, the one that started first. Absent where none ever is. */
export function firstDone<J extends SimulatedJob>(jobs: readonly JobInProgress<J>[]): JobInProgress<J> | undefined {
  let first: JobInProgress<J> | undefined;
  let soonest = Number.POSITIVE_INFINITY;
  for (const running of jobs) {
    const time = timeLeft(running);
    if (time < soonest) [first, soonest] = [running, time];
  }
  return first;
}
