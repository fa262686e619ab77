import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import { untilNextTick } from "./pool-loop.ts";

describe("a node's tick time", () => {
  it("is at the same offset of every interval", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 100, max: 600_000 }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        (name, length, at) => {
          const interval = milliseconds(length);
          const wait = untilNextTick(name, interval, monotonicInstant(at));
          expect(wait).toBeGreaterThanOrEqual(0);
          expect(wait).toBeLessThanOrEqual(length);
          const after = at + wait + 1;
          const next = untilNextTick(name, interval, monotonicInstant(after));
          expect(after + next - (at + wait)).toBeCloseTo(length, 3);
        },
      ),
    );
  });
});
