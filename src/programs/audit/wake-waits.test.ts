import { describe, expect, it } from "vitest";
import { type Instant, instant, milliseconds } from "../../core/units/index.ts";
import { statedWait, WakeWaits } from "./wake-waits.ts";

const at = (minutes: number): Instant => instant(minutes * 60_000);
const STATED = milliseconds(4 * 60_000);
const waits = () => new WakeWaits(() => milliseconds(60_000));

describe("statedWait", () => {
  it.each([
    ["WaitsForNode", "waking node sim-001, about 4 min", 240_000],
    ["WaitsForNode", "waking node sim-001", undefined],
    ["ProfileEco", "waking node sim-001, about 4 min", undefined],
  ])("reads %s, %s as %s", (reason, note, expected) => {
    expect(statedWait(reason, note)).toBe(expected);
  });
});

describe("WakeWaits", () => {
  it("measures from the operator's first Event to the binding, for performance pods apart", () => {
    const all = waits();
    all.stated("a", false, STATED, at(0));
    all.stated("b", true, STATED, at(1));
    all.stated("a", false, STATED, at(3));
    all.bound("b", at(5));
    all.bound("a", at(8));
    all.bound("never stated", at(99));
    expect(all.figures).toEqual({
      pods: 2,
      longest: 480,
      longestPerformance: 240,
      late: 0,
      examples: [],
    });
  });

  it("counts a performance pod that waited longer than stated plus the margin, once, even while it waits", () => {
    const all = waits();
    all.stated("in time", true, STATED, at(0));
    all.stated("late", true, STATED, at(0));
    all.stated("standard", false, STATED, at(0));
    all.bound("in time", at(5));
    all.judge(at(5.1));
    all.judge(at(6));
    all.bound("late", at(7));
    expect(all.figures).toMatchObject({ late: 1, examples: ["late waited 306 s, stated were 240 s"] });
    expect(all.figures.longestPerformance).toBe(420);
  });

  it("forgets pods that were deleted", () => {
    const all = waits();
    all.stated("gone", true, STATED, at(0));
    all.forget("gone");
    all.judge(at(100));
    expect(all.figures).toMatchObject({ pods: 1, late: 0, longest: undefined });
  });
});
