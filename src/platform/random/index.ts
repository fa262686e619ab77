import { type Milliseconds, milliseconds, type RandomSource } from "../../core/units/index.ts";

export type { RandomSource };

/** Random numbers that differ in every run, for retries and start times. The only caller of Math.random. */
export const systemRandom: RandomSource = { next: () => Math.random() };

/**
 * Reproducible random numbers for simulations and tests: sfc32 ("small fast counting", Chris Doty-Humphrey). splitmix32 derives
 * its state from the seed, so that similar seeds give unrelated sequences. Any number is a seed, fractions included.
 */
export function seededRandom(seed: number): RandomSource {
  const fill = splitmix32(seed);
  let a = fill();
  let b = fill();
  let c = fill();
  let counter = 1;
  return {
    next() {
      const output = (a + b + counter) | 0;
      counter = (counter + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + output) | 0;
      return (output >>> 0) / 2 ** 32;
    },
  };
}

function splitmix32(seed: number): () => number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, seed);
  let state = bits.getUint32(0) ^ Math.imul(bits.getUint32(4), 0x85ebca6b);
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
}

/**
 * Changes `length` by up to `share` in either direction, uniformly: `jittered(30 s, 0.1, …)` is 27–33 s. It spreads agents that
 * started at the same time. A share outside 0–1 is clamped, so no length becomes negative.
 */
export function jittered(length: Milliseconds, share: number, random: RandomSource): Milliseconds {
  const reach = Math.min(Math.max(share || 0, 0), 1);
  return milliseconds(length * (1 + reach * (2 * random.next() - 1)));
}
