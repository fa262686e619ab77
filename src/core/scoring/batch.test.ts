import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../units/index.ts";
import { batchOf, currentHeadroom, isFresh } from "./batch.ts";
import { twinStateOf } from "./twin-state.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));
const settings = { stalenessThreshold: milliseconds(300_000) };
const agedBy = (ms: number) => new Date(now - ms).toISOString();

interface Sketch {
  readonly class?: "performance" | "eco" | "draining" | "unknown";
  readonly age?: number;
  readonly cap?: number;
  readonly drawn?: number;
  readonly trend?: number;
  readonly predicted?: number;
}

const twin = ({ class: schedulableClass = "performance", age = 0, cap, drawn, trend, predicted }: Sketch) =>
  twinStateOf(
    JSON.parse(
      JSON.stringify({
        schedulableClass,
        lastUpdated: agedBy(age),
        predictedPowerHeadroomScore: predicted,
        powerMeasurement: { nodeCappedPowerW: cap, measuredNodePowerW: drawn, powerTrendWPerMin: trend },
      }),
    ),
  );

const batch = (...sketches: Sketch[]) => batchOf(sketches.map(twin), now, settings);

describe("isFresh", () => {
  it.each([
    [0, true],
    [299_999, true],
    [300_000, true],
    [300_001, false],
    [-60_000, true],
    [-60_001, false],
    [-3_600_000, false],
  ])("SCH-37 treats a twin of age %d ms as fresh: %s", (age, fresh) => {
    expect(isFresh(twin({ age }), now, settings.stalenessThreshold)).toBe(fresh);
  });

  it("SCH-37 uses the configured threshold", () => {
    expect(isFresh(twin({ age: 1001 }), now, milliseconds(1000))).toBe(false);
  });

  it.each([undefined, "", "soon"])("SCH-38 treats a twin with lastUpdated %j as stale", (lastUpdated) => {
    const status = { schedulableClass: "eco", lastUpdated } as Parameters<typeof twinStateOf>[0];
    expect(isFresh(twinStateOf(status), now, settings.stalenessThreshold)).toBe(false);
  });
});

describe("podlessHeadroom", () => {
  it("X-73 uses the measured headroom, else the predicted one, else none", () => {
    expect(currentHeadroom(twin({ cap: 400, drawn: 100, predicted: 10 }))).toBe(75);
    expect(currentHeadroom(twin({ cap: 0, drawn: 100, predicted: 10 }))).toBe(10);
    expect(currentHeadroom(twin({ drawn: 100 }))).toBeUndefined();
  });
});

describe("batchOf", () => {
  it("is empty for an empty cluster", () => {
    expect(batchOf([], now, settings)).toEqual({ now, clusterTrend: 0, perfPressure: 0 });
    expect(batchOf([undefined], now, settings)).toEqual({ now, clusterTrend: 0, perfPressure: 0 });
  });

  it("SCH-26 sums the trends of nodes of every class", () => {
    const trending = { cap: 100, drawn: 50 };
    expect(
      batch(
        { ...trending, trend: 300 },
        { ...trending, class: "eco", trend: -50 },
        { ...trending, class: "draining", trend: 20 },
        { ...trending, class: "unknown", trend: 5 },
        { ...trending },
      ).clusterTrend,
    ).toBe(275);
  });

  it("SCH-33 averages 100 − headroom over performance nodes", () => {
    expect(
      batch(
        { cap: 100, drawn: 80 },
        { cap: 200, drawn: 80 },
        { class: "eco", cap: 100, drawn: 100 },
        { class: "draining", cap: 100, drawn: 100 },
        { class: "unknown", cap: 100, drawn: 100 },
      ).perfPressure,
    ).toBe(60);
  });

  it("X-73 uses the predicted headroom of an unmeasured node and skips a node without either", () => {
    expect(batch({ predicted: 70 }, { cap: 100, drawn: 50 }, {}).perfPressure).toBe(40);
    expect(batch({}).perfPressure).toBe(0);
    expect(batch({ class: "eco", predicted: 0 }).perfPressure).toBe(0);
  });

  it("X-33 clamps the average, not its terms", () => {
    expect(batch({ cap: 100, drawn: 150 }, { cap: 100, drawn: 10 }).perfPressure).toBe(80);
    expect(batch({ cap: 100, drawn: 250 }, { cap: 100, drawn: 90 }).perfPressure).toBe(100);
  });

  it("X-74 excludes only stale twins", () => {
    const measured = { cap: 100, drawn: 40, trend: 100 };
    expect(batch(measured, { cap: 100, drawn: 100, trend: 1000, age: 300_001 })).toEqual({
      now,
      clusterTrend: 100,
      perfPressure: 40,
    });
    expect(batch(measured, { cap: 100, drawn: 100, trend: 1000, age: 300_000 })).toEqual({
      now,
      clusterTrend: 1100,
      perfPressure: 70,
    });
  });

  it("stays finite for the largest doubles", () => {
    const { clusterTrend, perfPressure } = batch(
      { cap: 1e-300, drawn: 1e308, trend: 1e308 },
      { cap: 1e308, drawn: 0, trend: 1e308 },
      { cap: 1e308, drawn: 1e308, trend: -1e308 },
    );
    expect(clusterTrend).toBe(Infinity);
    expect(perfPressure).toBe(100);
  });
});
