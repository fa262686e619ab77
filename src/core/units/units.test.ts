import { describe, expect, it } from "vitest";
import {
  after,
  between,
  celsius,
  energyOver,
  inSeconds,
  instant,
  joules,
  joulesFromMicrojoules,
  milliseconds,
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
  it("are the numbers they hold: no cost, and JSON as one expects", () => {
    expect(JSON.stringify([watts(1.5), joules(2), percent(3), celsius(-4), wattsPerMinute(-5)])).toBe(
      "[1.5,2,3,-4,-5]",
    );
  });

  it("turn power into energy and back", () => {
    expect(energyOver(watts(250), seconds(60))).toBe(15_000);
    expect(powerOver(joules(15_000), seconds(60))).toBe(250);
  });

  it("come from the scales that the kernel and the drivers use", () => {
    expect(wattsFromMicrowatts(250_000_000)).toBe(250);
    expect(wattsFromMilliwatts(700_000)).toBe(700);
    expect(joulesFromMicrojoules(262_143_328_850)).toBe(262_143.32885);
  });

  it("share a whole", () => {
    expect(percentOf(percent(60), watts(400))).toBe(240);
    expect(percentOf(percent(0), watts(400))).toBe(0);
  });

  it("count time", () => {
    expect(inSeconds(milliseconds(1500))).toBe(1.5);
    expect(between(instant(1000), instant(4000))).toBe(3000);
    expect(between(instant(4000), instant(1000))).toBe(-3000);
    expect(after(instant(1000), milliseconds(500))).toBe(1500);
  });
});
