import { describe, expect, it } from "vitest";
import { twinStateOf } from "./twin-state.ts";

const odd = (status: Record<string, unknown>) => twinStateOf(status);

describe("readTwin", () => {
  it("reads a full status", () => {
    expect(
      odd({
        schedulableClass: "eco",
        lastUpdated: "2026-03-01T12:00:00Z",
        predictedPowerHeadroomScore: 40,
        predictedCoolingStressScore: 20,
        estimatedPUE: 1.6,
        powerMeasurement: { measuredNodePowerW: 300, nodeCappedPowerW: 600, powerTrendWPerMin: -12 },
      }),
    ).toEqual({
      schedulableClass: "eco",
      updatedAt: Date.UTC(2026, 2, 1, 12),
      power: { drawn: 300, budget: 600, trend: -12 },
      predictedHeadroom: 40,
      coolingStress: 20,
      pue: 1.6,
    });
  });

  it("finds nothing in an empty status", () => {
    expect(odd({})).toEqual({
      schedulableClass: undefined,
      updatedAt: undefined,
      power: undefined,
      predictedHeadroom: undefined,
      coolingStress: undefined,
      pue: undefined,
    });
  });

  it.each(["performance", "eco", "draining"])("reads the class %s", (schedulableClass) => {
    expect(odd({ schedulableClass }).schedulableClass).toBe(schedulableClass);
  });

  it.each(["unknown", "Eco", "", "burstable", null, 7])("X-69 treats the class %j as unknown", (schedulableClass) => {
    expect(odd({ schedulableClass }).schedulableClass).toBeUndefined();
  });

  it.each([
    ["2026-03-01T12:00:00.123456Z", Date.UTC(2026, 2, 1, 12, 0, 0, 123)],
    ["2026-03-01T13:00:00+01:00", Date.UTC(2026, 2, 1, 12)],
    ["1970-01-01T00:00:00Z", 0],
    ["yesterday", undefined],
    ["", undefined],
    [null, undefined],
  ])("reads lastUpdated %j as %j", (lastUpdated, instant) => {
    expect(odd({ lastUpdated }).updatedAt).toBe(instant);
  });

  it.each([undefined, 0, -0, -1, Number.NaN, Infinity, null, "600"])(
    "X-82 treats nodeCappedPowerW %j as no measurement and no trend",
    (nodeCappedPowerW) => {
      const powerMeasurement = { measuredNodePowerW: 300, nodeCappedPowerW, powerTrendWPerMin: 60 };
      expect(odd({ powerMeasurement }).power).toBeUndefined();
    },
  );

  it.each([undefined, -0.001, Number.NaN, -Infinity, null])(
    "treats measuredNodePowerW %j as no measurement, not as 0 W",
    (measuredNodePowerW) => {
      expect(odd({ powerMeasurement: { measuredNodePowerW, nodeCappedPowerW: 600 } }).power).toBeUndefined();
    },
  );

  it("accepts 0 W drawn and the smallest budget", () => {
    expect(odd({ powerMeasurement: { measuredNodePowerW: 0, nodeCappedPowerW: Number.MIN_VALUE } }).power).toEqual({
      drawn: 0,
      budget: Number.MIN_VALUE,
      trend: 0,
    });
  });

  it.each([undefined, null, Number.NaN, Infinity])("treats the trend %j as flat", (powerTrendWPerMin) => {
    const powerMeasurement = { measuredNodePowerW: 1, nodeCappedPowerW: 2, powerTrendWPerMin };
    expect(odd({ powerMeasurement }).power).toEqual({ drawn: 1, budget: 2, trend: 0 });
  });

  it.each([
    [0, 0],
    [100, 100],
    [-0.001, undefined],
    [100.001, undefined],
    [Number.NaN, undefined],
    [null, undefined],
    [1e308, undefined],
  ])("reads the share %j as %j", (value, share) => {
    expect(odd({ predictedPowerHeadroomScore: value }).predictedHeadroom).toBe(share);
    expect(odd({ predictedCoolingStressScore: value }).coolingStress).toBe(share);
  });

  it("ignores a PUE that is not a number", () => {
    expect(odd({ estimatedPUE: null }).pue).toBeUndefined();
    expect(odd({ estimatedPUE: Infinity }).pue).toBeUndefined();
  });
});
