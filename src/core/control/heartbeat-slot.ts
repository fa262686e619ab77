import { type Instant, instant, type Milliseconds } from "../units/index.ts";

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const utf8 = new TextEncoder();

/** The 32-bit FNV-1a hash of the text's UTF-8 bytes. */
export function fnv1a32(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of utf8.encode(text)) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}

/** The shard that owns the node. Every agent computes the same result without coordination. */
export const shardOf = (nodeName: string, shards: number): number => (shards >= 1 ? fnv1a32(nodeName) % shards : 0);

/** The shortest wait for a slot, as a share of the interval. Below one half: a refresh halfway is followed by the slot, even if late. */
const SHORTEST = 0.45;

/**
 * When a status that was last written at `at` and does not change is written again. Each node has one fixed slot per interval.
 * So heartbeats are spread evenly even after a start at which all nodes were written at once, and every replica has the same
 * slots. A write up to `early` before a slot counts as made in it: a writer with ticks may have no tick closer to the slot.
 */
export function nextHeartbeat(name: string, at: Instant, interval: Milliseconds, early = 0): Instant {
  // The remainder and not a fraction: the high bits of this hash hardly differ between node-1 and node-2.
  const phase = fnv1a32(name) % interval;
  const untilSlot = phase + interval * (Math.floor((at - phase) / interval) + 1) - at;
  if (untilSlot <= early) return instant(at + untilSlot + interval);
  // A status that was just written skips the next slot and is refreshed halfway to the one after it.
  return instant(at + (untilSlot < SHORTEST * interval ? (untilSlot + interval) / 2 : untilSlot));
}
