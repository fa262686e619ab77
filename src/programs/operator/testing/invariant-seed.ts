import { systemRandom } from "../../../platform/random/index.ts";

/** fast-check takes seeds of 32 bits. */
const SEEDS = 2 ** 31;

/** The seed of a randomized test: a new one in each run, or the one to repeat. */
export function invariantSeed(environment: Readonly<Record<string, string | undefined>>): number {
  const text = environment["JOULIE_TEST_SEED"];
  if (text === undefined) return Math.floor(systemRandom.next() * SEEDS);
  const seed = Number(text);
  if (text.trim() === "" || !Number.isInteger(seed) || Math.abs(seed) > SEEDS) {
    throw new Error(`JOULIE_TEST_SEED=${JSON.stringify(text)} is not a whole number of at most 32 bits`);
  }
  return seed;
}
