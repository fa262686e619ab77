import { describe, expect, it } from "vitest";
import { celsius, instant, percent, watts, wattsPerMinute } from "../units/index.ts";
import { predictTwin } from "./predict.ts";
import { isTwinWorthPublishing, roundForPublication } from "./publication.ts";

const hardware = { cpu: { sockets: 2, maxWattsPerSocket: watts(333.37) }, gpu: { count: 3, maxWatts: watts(123.456) } };

describe("the published status of a twin", () => {
  const status = roundForPublication(
    predictTwin({
      hardware,
      caps: { cpuPct: percent(33.333_333), gpuPct: percent(66.666_666) },
      schedulableClass: "eco",
      density: 0.123_456_7,
      supplyTotal: watts(12_345.678),
      pue: 1.234_567,
      reading: { power: watts(417.123_456), source: "agent", at: instant(0) },
      trend: wattsPerMinute(-12.345_678),
    }),
  );

  it("is rounded: scores and trend to a tenth, power to a watt", () => {
    expect(status).toEqual({
      schedulableClass: "eco",
      predictedPowerHeadroomScore: 45.3,
      predictedCoolingStressScore: 9.4,
      coolingStressNow: 8.3,
      predictedPsuStressScore: 24.7,
      effectiveCapState: { cpuPct: 33.3, gpuPct: 66.7 },
      hardwareDensityScore: 0.123,
      estimatedPUE: 1.23,
      powerMeasurement: {
        source: "agent",
        measuredAt: "1970-01-01T00:00:00.000Z",
        measuredNodePowerW: 417,
        powerTrendWPerMin: -12.3,
        cpuCappedPowerW: 222,
        gpuCappedPowerW: 247,
        nodeCappedPowerW: 469,
        cpuTdpW: 667,
        gpuTdpW: 370,
        nodeTdpW: 1037,
      },
    });
  });

  it("does not change when it is rounded again", () => {
    expect(roundForPublication(status)).toEqual(status);
  });

  it("rounds the power of a small machine to a tenth of a watt", () => {
    const small = { cpu: { sockets: 1, maxWattsPerSocket: watts(15.04) } };
    const { powerMeasurement } = roundForPublication(
      predictTwin({ hardware: small, caps: { cpuPct: percent(60), gpuPct: percent(100) } }),
    );
    expect(powerMeasurement).toMatchObject({ nodeCappedPowerW: 9, cpuTdpW: 15, nodeTdpW: 15 });
    expect(roundForPublication({ powerMeasurement: { measuredNodePowerW: watts(7.26) } }).powerMeasurement).toEqual({
      measuredNodePowerW: 7.3,
    });
  });

  it("keeps a budget above 0 W above 0 W", () => {
    const tiny = roundForPublication({ powerMeasurement: { nodeCappedPowerW: watts(0.01) } });
    expect(tiny.powerMeasurement?.nodeCappedPowerW).toBeGreaterThan(0);
  });

  it("adds no field and contains no -0", () => {
    expect(roundForPublication({ schedulableClass: "unknown" })).toEqual({ schedulableClass: "unknown" });
    const { powerMeasurement } = roundForPublication({
      powerMeasurement: { powerTrendWPerMin: wattsPerMinute(-0.01) },
    });
    expect(Object.is(powerMeasurement?.powerTrendWPerMin, 0)).toBe(true);
  });
});

describe("what is worth publishing", () => {
  const reading = { power: watts(1000), source: "agent", at: instant(0) } as const;
  const statusAt = (power: number, ambient: number) =>
    roundForPublication(
      predictTwin({
        hardware,
        caps: { cpuPct: percent(60), gpuPct: percent(60) },
        reading: { ...reading, power: watts(power) },
        ambient: celsius(ambient),
      }),
    );

  it("X-143 the stress of the power drawn now causes no write that power or weather would not cause", () => {
    const before = statusAt(1000, 25);
    expect(isTwinWorthPublishing(before, statusAt(1004, 26))).toBe(false);
    expect(
      isTwinWorthPublishing(before, { ...before, coolingStressNow: percent((before.coolingStressNow ?? 0) + 0.9) }),
    ).toBe(false);
    expect(
      isTwinWorthPublishing(before, { ...before, coolingStressNow: percent((before.coolingStressNow ?? 0) + 1) }),
    ).toBe(true);
  });

  it("X-143 the stress is removed at once when the node falls asleep", () => {
    const { coolingStressNow: _, ...asleep } = statusAt(1000, 25);
    expect(isTwinWorthPublishing(statusAt(1000, 25), asleep)).toBe(true);
  });

  it("X-154 X-156 an older CRD, which drops what a meter of the server or estimated GPUs draw, causes no write in every pass", () => {
    const next = statusAt(1000, 25);
    const figures = { serverPowerW: watts(1400), estimatedGpuPowerW: watts(300) };
    const added = { ...next, powerMeasurement: { ...next.powerMeasurement, ...figures } };
    expect(isTwinWorthPublishing(next, added)).toBe(false);
    // A meter that falls silent, or a reading that is whole again, must not stay in the twin.
    expect(isTwinWorthPublishing(added, next)).toBe(true);
    for (const figure of ["serverPowerW", "estimatedGpuPowerW"] as const) {
      const { [figure]: _, ...rest } = added.powerMeasurement;
      expect(isTwinWorthPublishing(added, { ...added, powerMeasurement: rest })).toBe(true);
    }
  });

  it("X-143 an older CRD, which drops the field, causes no write in every pass", () => {
    const { coolingStressNow: _, ...dropped } = statusAt(1000, 25);
    expect(isTwinWorthPublishing(dropped, statusAt(1000, 25))).toBe(false);
  });
});
