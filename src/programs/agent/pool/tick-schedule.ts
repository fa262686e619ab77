import { fnv1a32 } from "../../../core/control/index.ts";
import {
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  type RandomSource,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import type { NodeTick } from "../loop/node-control.ts";

/** A node that does not answer is left alone, for longer each time. */
const MOST_INTERVALS = 16;
const LONGEST_REST = 300_000;
const JITTER = 0.2;

/**
 * How long it is from `from` to the node's own time of the interval, which is the same in every round: a change for all nodes
 * makes all of them tick at once, and they must not stay together for ever after.
 */
export function untilNextTick(name: string, interval: Milliseconds, from: MonotonicInstant): Milliseconds {
  const turn = shareOf(name) * interval;
  return milliseconds(Math.max(0, turn + Math.ceil((from - turn) / interval) * interval - from));
}

/** How long a node is left alone that gave no answer so many times in a row. */
export function retryDelay(silent: number, interval: Milliseconds, random: RandomSource): Milliseconds {
  const longest = milliseconds(Math.min(MOST_INTERVALS * interval, Math.max(interval, LONGEST_REST)));
  return backoffDelay(silent + 1, { first: interval, longest, jitter: JITTER }, random);
}

/** Where in the interval a node's ticks fall. Names that differ by their last digit have hashes that lie close together. */
const shareOf = (name: string): number => (Math.imul(fnv1a32(name), 0x9e3779b1) >>> 0) / 2 ** 32;

/** Nobody answered who was asked. */
export const isUnresponsive = ({ power: { cpuService, gpuService } }: NodeTick): boolean => {
  const asked = [cpuService, gpuService].filter((service) => service !== undefined);
  return asked.length > 0 && asked.every(({ failed }) => failed !== undefined);
};
