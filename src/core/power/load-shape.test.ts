import { describe, expect, it } from "vitest";
import { loadShape } from "./device.ts";

describe("the shape of load points", () => {
  const shape = loadShape([
    [0, 50],
    [0.5, 150],
    [1, 250],
  ]);

  it("interpolates linearly between the points, from 0 to 1", () => {
    expect([0, 0.25, 0.5, 0.75, 1].map(shape)).toEqual([0, 0.25, 0.5, 0.75, 1]);
    const bent = loadShape([
      [0, 100],
      [0.1, 180],
      [1, 200],
    ]);
    expect(bent(0.05)).toBeCloseTo(0.4, 12);
    expect(bent(0.1)).toBeCloseTo(0.8, 12);
    expect(bent(0.55)).toBeCloseTo(0.9, 12);
  });

  it("returns defined values for invalid loads", () => {
    expect([Number.NaN, -1, 2, Infinity].map(shape)).toEqual([0, 0, 1, 1]);
  });

  it("is a straight line for unusable points", () => {
    for (const points of [
      [],
      [[0, 5]],
      [
        [0, 5],
        [1, 5],
      ],
    ] as const) {
      expect([0, 0.3, 1, 7].map(loadShape(points))).toEqual([0, 0.3, 1, 1]);
    }
  });
});
