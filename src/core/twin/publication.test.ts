import { describe, expect, it } from "vitest";
import { instant, percent, watts, wattsPerMinute } from "../units/index.ts";
import { predictTwin } from "./predict.ts";
import { roundForPublication } from "./publication.ts";

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
