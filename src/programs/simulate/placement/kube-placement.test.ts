import { describe, expect, it } from "vitest";
import { type RandomSource, seededRandom } from "../../../platform/random/index.ts";
import { placementRandom } from "./kube-placement.ts";

describe("placementRandom", () => {
  it("is reproducible for a seed, and independent of the job generator of nearby seeds", () => {
    const draws = (random: RandomSource): number[] => Array.from({ length: 20 }, () => random.next());
    expect(draws(placementRandom(7))).toEqual(draws(placementRandom(7)));
    for (const seed of [0, 1, 42, 1e15]) {
      const own = draws(placementRandom(seed));
      for (const other of [seed, seed + 1])
        expect(draws(seededRandom(other)).some((draw) => own.includes(draw))).toBe(false);
      expect(draws(placementRandom(seed + 1))).not.toEqual(own);
    }
  });
});
