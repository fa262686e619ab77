import { type Seconds, seconds } from "../units/index.ts";
import type { Paced } from "./operation.ts";
import type { Job } from "./work.ts";

/** A job at work, at a pace that holds for the segment. */
export interface Running<J extends Job> extends Paced {
  readonly job: J;
  /** Work left when the segment began, in seconds at full speed. */
  left: number;
}

/** A service has no end: infinity less what was done stays infinity. */
export const leftAfter = ({ left, rate }: Running<Job>, time: Seconds): Seconds =>
  seconds(Math.max(0, left - rate * time));

/** What is left at its pace; infinite for a service, and for what stands still. */
export const timeLeft = ({ left, rate }: Running<Job>): Seconds => seconds(left > 0 ? left / rate : 0);

/** The job that is done first; of two at the same time, the one that started first. Absent where none ever is. */
export function firstDone<J extends Job>(jobs: readonly Running<J>[]): Running<J> | undefined {
  let first: Running<J> | undefined;
  let soonest = Number.POSITIVE_INFINITY;
  for (const running of jobs) {
    const time = timeLeft(running);
    if (time < soonest) [first, soonest] = [running, time];
  }
  return first;
}
