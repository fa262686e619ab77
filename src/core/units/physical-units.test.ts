import { describe, expect, it } from "vitest";
import {
  after,
  between,
  celsius,
  elapsed,
  energyOver,
  inSeconds,
  instant,
  joules,
  joulesFromMicrojoules,
  type Milliseconds,
  milliseconds,
  monotonicInstant,
  percent,
  percentOf,
  powerOver,
  seconds,
  watts,
  wattsFromMicrowatts,
  wattsFromMilliwatts,
  wattsPerMinute,
} from "./index.ts";

describe("units", () => {
  it("are plain numbers at run time and in JSON", () => {
    expect(JSON.stringify([watts(1.5), joules(2), percent(3), celsius(-4), wattsPerMinute(-5)])).toBe(
      "[1.5,2,3,-4,-5]",
    );
  });

  it("convert between power and energy", () => {
    expect(energyOver(watts(250), seconds(60))).toBe(15_000);
    expect(powerOver(joules(15_000), seconds(60))).toBe(250);
  });

  it("convert from the scales that the kernel and the drivers use", () => {
    expect(wattsFromMicrowatts(250_000_000)).toBe(250);
    expect(wattsFromMilliwatts(700_000)).toBe(700);
    expect(joulesFromMicrojoules(262_143_328_850)).toBe(262_143.32885);
  });

  it("compute shares and percentages", () => {
    expect(percentOf(percent(60), watts(400))).toBe(240);
    expect(percentOf(percent(0), watts(400))).toBe(0);
  });

  it("convert times", () => {
    expect(inSeconds(milliseconds(1500))).toBe(1.5);
    expect(between(instant(1000), instant(4000))).toBe(3000);
    expect(between(instant(4000), instant(1000))).toBe(-3000);
    expect(after(instant(1000), milliseconds(500))).toBe(1500);
  });

  it("reject mixing wall-clock and monotonic time at compile time", () => {
    const [start, end] = [monotonicInstant(250), monotonicInstant(1000)];
    expect(elapsed(start, end)).toBe(750);
    expect(elapsed(end, start)).toBe(-750);
    // @ts-expect-error -- the wall clock may step between the two.
    expect(elapsed(instant(0), end)).toBe(1000);
    // @ts-expect-error -- a wall-clock time is not a monotonic time.
    expect(between(start, end)).toBe(750);
    const deadline: Milliseconds = end;
    expect(deadline).toBe(1000);
  });
});
