import { fnv1a32 } from "../../../core/control/index.ts";
import {
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  type RandomSource,
} from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";

/** Backoff for a node that does not answer. */
const MAX_INTERVALS = 16;
const MAX_WAIT = 300_000;
const JITTER = 0.2;

/**
 * Time from `from` to the node's next tick. Each node has a fixed offset within the interval, so that ticks spread out again after
 * a change for all nodes made all of them tick at once.
 */
export function untilNextTick(name: string, interval: Milliseconds, from: MonotonicInstant): Milliseconds {
  const offset = shareOf(name) * interval;
  return milliseconds(Math.max(0, offset + Math.ceil((from - offset) / interval) * interval - from));
}

/** Wait after `silent` consecutive ticks without an answer. */
export function retryDelay(silent: number, interval: Milliseconds, random: RandomSource): Milliseconds {
  const longest = milliseconds(Math.min(MAX_INTERVALS * interval, Math.max(interval, MAX_WAIT)));
  return backoffDelay(silent + 1, { first: interval, longest, jitter: JITTER }, random);
}

/** The node's offset as a share of the interval. The multiplication spreads the similar hashes of names like node-1, node-2. */
const shareOf = (name: string): number => (Math.imul(fnv1a32(name), 0x9e3779b1) >>> 0) / 2 ** 32;
