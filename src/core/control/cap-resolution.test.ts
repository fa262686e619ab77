import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import {
  type CapDevice,
  cpuCapIntent,
  gpuCapIntent,
  raplRegisterLimit,
  raplStep,
  resolveCap,
  withLowestCap,
} from "./cap-resolution.ts";

const device = (over: Record<string, number> = {}) => over as unknown as CapDevice;
const asWatts = (value: number) => ({ watts: watts(value) });
const asPercent = (value: number) => ({ pctOfMax: percent(value) });

describe("intents", () => {
  it("AGT-13 AGT-14 reads the CPU cap of a target", () => {
    expect(cpuCapIntent({ packagePowerCapWatts: watts(200), packagePowerCapPctOfMax: percent(60) })).toEqual({
      watts: 200,
      pctOfMax: 60,
    });
    expect(cpuCapIntent(undefined)).toEqual({});
  });

  it("AGT-41 reads the GPU cap of a target", () => {
    expect(gpuCapIntent({ capWattsPerGpu: watts(300), capPctOfMax: percent(70) })).toEqual({
      watts: 300,
      pctOfMax: 70,
    });
    expect(gpuCapIntent(undefined)).toEqual({});
  });
});

describe("resolveCap", () => {
  it("AGT-13 prefers watts to a percentage", () => {
    expect(resolveCap({ watts: watts(200), pctOfMax: percent(60) }, device({ max: 400 }))).toEqual({
      kind: "watts",
      watts: 200,
    });
  });

  it("AGT-14 applies a percentage to the maximum: 60 % of 400 W is 240 W", () => {
    expect(resolveCap(asPercent(60), device({ max: 400 }))).toEqual({ kind: "watts", watts: 240 });
  });

  it("AGT-42 applies a percentage to the maximum of each GPU", () => {
    expect(resolveCap(gpuCapIntent({ capPctOfMax: percent(60) }), device({ max: 700, min: 200 }))).toEqual({
      kind: "watts",
      watts: 420,
    });
    expect(resolveCap(gpuCapIntent({ capWattsPerGpu: watts(350) }), device({ max: 700 }))).toEqual({
      kind: "watts",
      watts: 350,
    });
  });

  it.each([undefined, 0, -1, Number.NaN, Infinity])("AGT-19 uses the percent path if the maximum is %s", (max) => {
    expect(resolveCap(asPercent(60), { max: max as never })).toEqual({ kind: "percent", pctOfMax: 60 });
  });

  it("X-88 writes no limit at 100 %, whether or not the maximum is known", () => {
    expect(resolveCap(asPercent(100), device({ max: 400 }))).toEqual({ kind: "uncapped", asked: true });
    expect(resolveCap(asPercent(100), device())).toEqual({ kind: "uncapped", asked: true });
    expect(resolveCap(asPercent(99), device({ max: 400 }))).toEqual({ kind: "watts", watts: 396 });
  });

  it.each([{}, asWatts(0), asWatts(-5), asWatts(Number.NaN), asPercent(0), asPercent(Number.NaN)])(
    "returns no cap for %j",
    (intent) => {
      expect(resolveCap(intent, device({ max: 400 }))).toEqual({ kind: "uncapped", asked: false });
    },
  );

  it("uses the percentage if the watts are invalid", () => {
    expect(resolveCap({ watts: watts(0), pctOfMax: percent(50) }, device({ max: 400 }))).toEqual({
      kind: "watts",
      watts: 200,
    });
  });

  it.each([
    [5000, { max: 400 }, 400, "5000 W requested, clamped to 400 W: the device's maximum"],
    [50, { min: 100, max: 400 }, 100, "50 W requested, clamped to 100 W: the device's minimum"],
    [300, { max: 400, original: 250 }, 250, "300 W requested, clamped to 250 W: the original limit"],
    [500, { max: 350, original: 400 }, 350, "500 W requested, clamped to 350 W: the device's maximum"],
    [5000, { registerLimit: 4095.875 }, 4095.875, "5000 W requested, clamped to 4095.875 W: the limit of its register"],
    [120.12345, { max: 100 }, 100, "120.123 W requested, clamped to 100 W: the device's maximum"],
    // The device reports inconsistent limits: never exceed the original limit.
    [50, { min: 261, max: 400, original: 250 }, 250, "50 W requested, clamped to 250 W: the original limit"],
  ])("X-88 clamps %d W on %j to %d W and reports it", (asked, range, written, clamped) => {
    expect(resolveCap(asWatts(asked), device(range))).toEqual({ kind: "watts", watts: written, clamped });
  });

  it.each([
    [400, { max: 400 }],
    [100, { min: 100 }],
    [250, { original: 250 }],
    [200, { min: 100, max: 400, original: 300, registerLimit: 4095.875 }],
    [200, { max: 0, min: 0, original: 0 }],
    [200, { max: Number.NaN, original: Number.NaN }],
    [200, {}],
  ])("X-88 sets %d W on %j as requested without a message", (asked, range) => {
    expect(resolveCap(asWatts(asked), device(range))).toEqual({ kind: "watts", watts: asked });
  });

  it("X-88 clamps a percentage to the same bounds", () => {
    expect(resolveCap(asPercent(83), device({ min: 150, max: 180 }))).toEqual({
      kind: "watts",
      watts: 150,
      clamped: "83 % (149.4 W) requested, clamped to 150 W: the device's minimum",
    });
    expect(resolveCap(asPercent(90), device({ max: 400, original: 300 }))).toMatchObject({ watts: 300 });
  });

  it("AGT-42 rounds down to the device's step, but never below its minimum nor to 0", () => {
    expect(resolveCap(asWatts(150.9), device({ step: 1 }))).toEqual({ kind: "watts", watts: 150 });
    expect(resolveCap(asWatts(150.9), device({ step: 1, min: 150.5 }))).toEqual({ kind: "watts", watts: 151 });
    expect(resolveCap(asWatts(150.9), device({ step: 1, min: 150 }))).toEqual({ kind: "watts", watts: 150 });
    expect(resolveCap(asWatts(100), device({ step: 1, min: 150.5 }))).toMatchObject({ watts: 151 });
    expect(resolveCap(asWatts(0.4), device({ step: 1 }))).toEqual({ kind: "watts", watts: 1 });
    expect(resolveCap(asWatts(240.2), device({ step: raplStep }))).toEqual({ kind: "watts", watts: 240.125 });
    expect(resolveCap(asWatts(500), device({ step: 1, max: 300.7, min: 300.5 }))).toMatchObject({ watts: 300 });
  });

  it("X-88 rounds down if rounding up exceeds the maximum, the original limit or the register", () => {
    expect(resolveCap(asWatts(150.6), device({ min: 150.5, max: 150.9, step: 1 }))).toEqual({
      kind: "watts",
      watts: 150,
    });
    expect(resolveCap(asWatts(150.6), device({ min: 150.5, original: 150.9, step: 1 }))).toMatchObject({ watts: 150 });
    expect(resolveCap(asWatts(150.6), device({ min: 150.5, registerLimit: 151, step: 1 }))).toMatchObject({
      watts: 151,
    });
    expect(resolveCap(asWatts(100), device({ min: 150.5, max: 150.9, step: 1 }))).toEqual({
      kind: "watts",
      watts: 150,
      clamped: "100 W requested, clamped to 150 W: the device's minimum",
    });
  });

  it("keeps the value if no step fits, instead of writing 0", () => {
    expect(resolveCap(asWatts(0.4), device({ max: 0.9, step: 1 }))).toEqual({ kind: "watts", watts: 0.4 });
    expect(resolveCap(asWatts(1e308), device({ step: 1e-308 }))).toEqual({ kind: "watts", watts: 1e308 });
  });

  it("rounds a value slightly below a step up to that step", () => {
    expect(resolveCap(asWatts(0.1 + 0.7), device({ step: 0.1 }))).toMatchObject({ watts: 0.8 });
    expect(resolveCap(asWatts(419.99999999999994), device({ step: 1 }))).toEqual({ kind: "watts", watts: 420 });
    expect(resolveCap(asWatts(419.999), device({ step: 1 }))).toEqual({ kind: "watts", watts: 419 });
    expect(resolveCap(asWatts(500), device({ step: 0.1, max: 0.3 }))).toMatchObject({ watts: 0.3 });
  });

  it("X-88 never exceeds the range of RAPL's register", () => {
    const registers = device({ registerLimit: raplRegisterLimit, step: raplStep });
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 1e308, noNaN: true }), (asked) => {
        const cap = resolveCap(asWatts(asked), registers);
        expect(cap.kind === "watts" && cap.watts > 0 && cap.watts < 4096).toBe(true);
      }),
    );
  });

  it("X-88 stays within the device range and the original limit, and reports clamping only if it clamps", () => {
    const bound = fc.option(fc.integer({ min: 1, max: 8000 }), { nil: undefined });
    const step = fc.constantFrom(undefined, raplStep, 0.001, 1, 7, 50);
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 48_000 }), bound, bound, bound, step, (eighths, ...limits) => {
        const asked = eighths / 8;
        // In eighths of a watt, as registers have them: both on and off a whole step.
        const [min, max, original] = limits.slice(0, 3).map((limit) => (limit === undefined ? undefined : limit / 8));
        const size = limits[3];
        const cap = resolveCap(asWatts(asked), { min, max, original, step: size } as CapDevice);
        if (cap.kind !== "watts") throw new Error("watts were asked for");
        const ceiling = Math.min(max ?? 6000, original ?? 6000);
        const floor = Math.min(min ?? 0, ceiling);
        expect(cap.watts).toBeGreaterThan(0);
        expect(cap.watts).toBeLessThanOrEqual(ceiling);
        expect(cap.clamped !== undefined).toBe((min ?? 0) > asked || ceiling < asked);
        // Whole steps, and at least the minimum, wherever a whole step lies within the bounds; to the figure without steps.
        const steps = size === undefined ? 0 : Math.floor(ceiling / size + 1e-6);
        const offStep = size === undefined ? 0 : Math.abs(cap.watts / size - Math.round(cap.watts / size));
        const fits = size !== undefined && steps >= 1 && steps * size >= floor - 1e-6;
        expect(steps === 0 || offStep < 1e-3).toBe(true);
        expect(!fits || cap.watts >= floor - 1e-6).toBe(true);
        expect(size !== undefined || cap.watts === Math.min(Math.max(asked, floor), ceiling)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("RAPL's register", () => {
  it("holds 15 bits of 1/8 W", () => {
    expect(raplStep).toBe(0.125);
    expect(raplRegisterLimit).toBe(4095.875);
  });
});

describe("withLowestCap", () => {
  const lowest = (over: Record<string, number>) => withLowestCap(device(over));

  it("X-88 keeps the minimum that the device exposes", () => {
    expect(lowest({ min: 50, max: 350 })).toEqual({ min: 50, max: 350 });
  });

  it.each([
    [{ max: 350 }, 87.5, "25 % of its maximum"],
    [{ original: 100 }, 25, "25 % of its original limit"],
    [{ min: 0, max: 400 }, 100, "25 % of its maximum"],
    [{ min: Number.NaN, max: 400 }, 100, "25 % of its maximum"],
  ])("X-88 %j goes down to %d W: %s", (over, min, minSource) => {
    expect(lowest(over)).toMatchObject({ min, minSource });
  });

  it("X-88 reports the requested and the effective cap: 0.5 % instead of 50 %", () => {
    expect(resolveCap(asPercent(0.5), lowest({ max: 350 }))).toEqual({
      kind: "watts",
      watts: 87.5,
      clamped: "0.5 % (1.75 W) requested, clamped to 87.5 W: 25 % of its maximum",
    });
  });

  it("has no minimum cap for an unknown device", () => {
    expect(lowest({})).toEqual({});
  });
});
