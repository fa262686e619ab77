import { expect, it } from "vitest";
import { invariantSeed } from "./invariant-seed.ts";

it("returns another seed in each run", () => {
  const seeds = new Set(Array.from({ length: 20 }, () => invariantSeed({})));
  expect(seeds.size).toBeGreaterThan(1);
  for (const seed of seeds) expect(Number.isInteger(seed)).toBe(true);
});

it("returns the seed in JOULIE_TEST_SEED, to repeat a run", () => {
  expect(invariantSeed({ JOULIE_TEST_SEED: "-42" })).toBe(-42);
});

it.each(["", "x", "1.5", "1e99"])("rejects JOULIE_TEST_SEED=%j", (text) => {
  expect(() => invariantSeed({ JOULIE_TEST_SEED: text })).toThrow(`JOULIE_TEST_SEED="${text}" is not a whole number`);
});
