import { describe, expect, it } from "vitest";
import type { PowerMeasurement } from "../api/index.ts";
import { instant, percent, watts, wattsPerMinute } from "../units/index.ts";
import { cappedPower, isMeasurementWorthPublishing, powerMeasurement } from "./measurement.ts";
import type { PowerReading } from "./power-source.ts";

const hardware = { cpu: { sockets: 2, maxWattsPerSocket: watts(400) }, gpu: { count: 4, maxWatts: watts(400) } };
const eco = { cpuPct: percent(60), gpuPct: percent(50) };
const reading: PowerReading = { power: watts(900), source: "kepler", at: instant(Date.UTC(2026, 2, 1, 12)) };
const trend = wattsPerMinute(-12.5);

describe("cappedPower", () => {
  it("TWN-06 TWN-07 applies the cap percentages to the maxima of all packages and all GPUs", () => {
    expect(cappedPower(hardware, eco)).toEqual({ cpu: 480, gpu: 800 });
  });

  it.each([Number.NaN, Infinity, -1, 1e308])("is unknown with a maximum of %d W", (max) => {
    expect(cappedPower({ cpu: { sockets: 2, maxWattsPerSocket: watts(max) } }, eco)).toBeUndefined();
    expect(cappedPower({ ...hardware, gpu: { count: 2, maxWatts: watts(max) } }, eco)).toBeUndefined();
  });

  it("is unknown rather than infinite", () => {
    expect(cappedPower({ cpu: { sockets: 1, maxWattsPerSocket: watts(1e308) } }, eco)).toBeUndefined();
  });
});

describe("powerMeasurement", () => {
  it("TWN-04 TWN-05 TWN-06 TWN-07 TWN-08 TWN-09 TWN-10 reports reading, budgets, maxima and trend", () => {
    expect(powerMeasurement(hardware, eco, reading, trend)).toEqual({
      source: "kepler",
      measuredAt: "2026-03-01T12:00:00.000Z",
      measuredNodePowerW: 900,
      powerTrendWPerMin: -12.5,
      cpuCappedPowerW: 480,
      gpuCappedPowerW: 800,
      nodeCappedPowerW: 1280,
      cpuTdpW: 800,
      gpuTdpW: 1600,
      nodeTdpW: 2400,
    });
  });

  it.each(["kepler", "utilization", "static", "agent", "http", "prometheus"] as const)(
    "TWN-04 names the source %s",
    (source) => {
      expect(powerMeasurement(hardware, eco, { ...reading, source }, trend)?.source).toBe(source);
    },
  );

  it("X-31 X-82 reports budgets but no measured power without a reading", () => {
    const block = powerMeasurement(hardware, eco, undefined, trend);
    expect(block).toEqual({
      cpuCappedPowerW: 480,
      gpuCappedPowerW: 800,
      nodeCappedPowerW: 1280,
      cpuTdpW: 800,
      gpuTdpW: 1600,
      nodeTdpW: 2400,
    });
  });

  it("X-80 TWN-08 reports 0 W of GPU power on a node without GPUs", () => {
    expect(powerMeasurement({ cpu: hardware.cpu }, eco, reading, trend)).toMatchObject({
      cpuCappedPowerW: 480,
      gpuCappedPowerW: 0,
      nodeCappedPowerW: 480,
      gpuTdpW: 0,
      nodeTdpW: 800,
    });
  });

  it("X-82 is missing without a budget above 0 W", () => {
    const zero = { cpu: { sockets: 0, maxWattsPerSocket: watts(400) } };
    expect(powerMeasurement(zero, eco, reading, trend)).toBeUndefined();
    expect(powerMeasurement(hardware, { cpuPct: percent(0), gpuPct: percent(0) }, reading, trend)).toBeUndefined();
    const unknown = { cpu: { sockets: 2, maxWattsPerSocket: watts(Number.NaN) } };
    expect(powerMeasurement(unknown, eco, reading, trend)).toBeUndefined();
    expect(
      powerMeasurement({ cpu: { sockets: 1, maxWattsPerSocket: watts(1e308) } }, eco, reading, trend),
    ).toBeUndefined();
  });

  it.each([Number.NaN, Infinity, -1])("X-31 omits a reading of %d W", (power) => {
    const block = powerMeasurement(hardware, eco, { ...reading, power: watts(power) }, trend);
    expect(block).toStrictEqual(powerMeasurement(hardware, eco, undefined, trend));
  });

  it.each([Number.NaN, -Infinity])("omits only the trend if it is %d", (bad) => {
    const block = powerMeasurement(hardware, eco, reading, wattsPerMinute(bad));
    const { powerTrendWPerMin: _, ...rest } = powerMeasurement(hardware, eco, reading, trend) ?? {};
    expect(block).toStrictEqual(rest);
  });

  it.each([Number.NaN, -1, 100.1])("X-82 is missing with a cap of %d %%", (pct) => {
    expect(powerMeasurement(hardware, { ...eco, cpuPct: percent(pct) }, reading, trend)).toBeUndefined();
    expect(powerMeasurement(hardware, { ...eco, gpuPct: percent(pct) }, reading, trend)).toBeUndefined();
  });

  it.each([Number.NaN, 1e308, -1, 253402300800000])("omits a time of %d", (at) => {
    const block = powerMeasurement(hardware, eco, { ...reading, at: instant(at) }, trend);
    expect(block?.measuredNodePowerW).toBe(900);
    expect(block).not.toHaveProperty("measuredAt");
  });

  it("accepts the range of times that the API accepts", () => {
    const measuredAt = (at: number) =>
      powerMeasurement(hardware, eco, { ...reading, at: instant(at) }, trend)?.measuredAt;
    expect(measuredAt(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(measuredAt(253402300799999)).toBe("9999-12-31T23:59:59.999Z");
  });
});

describe("publishWorthy", () => {
  const block = (over: Record<string, unknown> = {}): PowerMeasurement => ({
    ...powerMeasurement(hardware, eco, reading, trend),
    ...over,
  });
  const moves = (from: number, to: number) =>
    isMeasurementWorthPublishing(block({ measuredNodePowerW: from }), block({ measuredNodePowerW: to }));

  it.each([
    [1000, 1005, true],
    [1000, 995, true],
    [1000, 1004.9, false],
    [1000, 995.1, false],
    [100, 101, true],
    [100, 100.9, false],
    [100, 99, true],
    [100, 99.1, false],
    [0, 0, false],
    [0, 0.1, true],
    [100, 100, false],
  ])("publishes a change of 5 W or 1 %%: %d W to %d W %s", (from, to, worthy) => {
    expect(moves(from, to)).toBe(worthy);
  });

  it("publishes a slow drift because it compares with the last published value", () => {
    const published = [block({ measuredNodePowerW: 1000 })];
    for (let power = 1001; power <= 1012; power++) {
      const next = block({ measuredNodePowerW: power });
      if (isMeasurementWorthPublishing(published.at(-1), next)) published.push(next);
    }
    expect(published.map(({ measuredNodePowerW }) => measuredNodePowerW)).toEqual([1000, 1005, 1010]);
  });

  it("publishes a reading that appears or disappears", () => {
    const { measuredNodePowerW: _, ...silent } = block();
    expect(isMeasurementWorthPublishing(silent, block())).toBe(true);
    expect(isMeasurementWorthPublishing(block(), silent)).toBe(true);
    expect(isMeasurementWorthPublishing(silent, silent)).toBe(false);
  });

  it("publishes a measurement block that appears or disappears", () => {
    expect(isMeasurementWorthPublishing(undefined, block())).toBe(true);
    expect(isMeasurementWorthPublishing(block(), undefined)).toBe(true);
    expect(isMeasurementWorthPublishing(undefined, undefined)).toBe(false);
  });

  it.each(["cpuCappedPowerW", "gpuCappedPowerW", "nodeCappedPowerW", "cpuTdpW", "gpuTdpW", "nodeTdpW"])(
    "publishes any change of %s",
    (field) => {
      expect(isMeasurementWorthPublishing(block(), block({ [field]: 1 }))).toBe(true);
    },
  );

  it("publishes a changed source, but not a changed time alone", () => {
    expect(isMeasurementWorthPublishing(block(), block({ source: "static" }))).toBe(true);
    expect(isMeasurementWorthPublishing(block(), block({ measuredAt: "2026-03-01T12:01:00.000Z" }))).toBe(false);
  });

  it.each([
    [10, 15, true],
    [10, 14.9, false],
    [10, 5, true],
    [-3, 2, true],
    [undefined, 5, true],
    [5, undefined, true],
    [undefined, 4, false],
  ])("publishes a trend change of 5 W/min: %s to %s %s", (from, to, worthy) => {
    expect(isMeasurementWorthPublishing(block({ powerTrendWPerMin: from }), block({ powerTrendWPerMin: to }))).toBe(
      worthy,
    );
  });
});
