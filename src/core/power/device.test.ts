import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { watts } from "../units/index.ts";
import { clockFactor, type DeviceModel, exceeds, fittingClock, mixedPowerAt, powerAt, voltageAt } from "./device.ts";
import { CPU_CLASSES, cpuClassOf, GPU_CLASSES, gpuClassOf } from "./device-classes.ts";

const classes = [...CPU_CLASSES, ...GPU_CLASSES];
const share = fc.double({ min: 0, max: 1, noNaN: true });
const device: fc.Arbitrary<DeviceModel> = fc
  .record({
    of: fc.constantFrom(...classes),
    idle: fc.double({ min: 0, max: 150, noNaN: true }),
    above: fc.double({ min: 0, max: 900, noNaN: true }),
  })
  .map(({ of: { clock, shape }, idle, above }) => ({ clock, shape, idle: watts(idle), full: watts(idle + above) }));
const v100: DeviceModel = { ...gpuClassOf("nvidia-v100-pcie-32gb"), idle: watts(27), full: watts(250) };
/** Tolerance for floating-point rounding. */
const aLittle = 1e-9;

describe("power of a device", () => {
  it("is idle power without load and full power at full load and clock", () => {
    expect(powerAt(v100, 0, 1)).toBe(27);
    expect(powerAt(v100, 0, 0.3)).toBe(27);
    expect(powerAt(v100, 1, 1)).toBe(250);
  });

  it("is P(u, f) = idle + (curve(u) − idle)·(s + (1 − s)·f·v(f)²)", () => {
    // v(0.825) is midway between 0.71 at 0.65 and 1 at 1.
    expect(voltageAt(v100.clock, 0.825)).toBeCloseTo(0.855, 12);
    expect(powerAt(v100, 0.5, 0.825)).toBeCloseTo(27 + 111.5 * (0.25 + 0.75 * 0.825 * 0.855 ** 2), 9);
    // Below the floor clock the voltage is constant, so power is linear.
    expect(powerAt(v100, 1, 0.4)).toBeCloseTo(27 + 223 * (0.25 + 0.75 * 0.4 * 0.71 ** 2), 9);
  });

  it("never decreases as load or clock rises", () => {
    fc.assert(
      fc.property(device, share, share, share, share, (model, a, b, f, g) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)];
        const [slow, fast] = [Math.min(f, g), Math.max(f, g)];
        const low = powerAt(model, less, slow);
        expect(powerAt(model, more, slow)).toBeGreaterThanOrEqual(low - aLittle);
        expect(powerAt(model, less, fast)).toBeGreaterThanOrEqual(low - aLittle);
        expect(low).toBeGreaterThanOrEqual(model.idle);
        expect(powerAt(model, more, fast)).toBeLessThanOrEqual(model.full + aLittle);
      }),
    );
  });

  it("returns defined values for invalid loads", () => {
    for (const load of [Number.NaN, -1, -Infinity]) expect(powerAt(v100, load, 1)).toBe(27);
    for (const load of [2, 1e308, Infinity]) expect(powerAt(v100, load, 1)).toBe(250);
    const genoa: DeviceModel = { ...cpuClassOf("amd-epyc-9654"), idle: watts(50), full: watts(360) };
    expect(powerAt(genoa, Number.NaN, 1)).toBe(50);
    expect(powerAt(genoa, Infinity, 1)).toBe(360);
  });
});

describe("a cap", () => {
  it("selects the highest clock whose power fits the cap", () => {
    fc.assert(
      fc.property(device, share, fc.double({ min: 0, max: 1000, noNaN: true }), share, (model, load, watt, held) => {
        const cap = watts(watt);
        const clock = fittingClock(model, load, cap, held);
        const power = mixedPowerAt(model, load, clock, held);
        expect(clock).toBeGreaterThanOrEqual(model.clock.slowest);
        expect(clock).toBeLessThanOrEqual(1);
        expect(exceeds(power, cap) ? clock : model.clock.slowest).toBe(model.clock.slowest);
        // No faster clock fits, unless the clock is at its maximum or almost all cores are throttled.
        const faster = mixedPowerAt(model, load, Math.min(1, clock * 1.001), held);
        const isBound = clock < 1 && held < 0.999 && faster > model.idle + 1e-6;
        expect(isBound ? faster : Infinity).toBeGreaterThan(cap * (1 - aLittle));
      }),
    );
  });

  it("that is tighter never raises power or clock", () => {
    fc.assert(
      fc.property(
        device,
        share,
        fc.double({ noNaN: true }),
        fc.double({ noNaN: true }),
        share,
        (model, load, a, b, held) => {
          const tight = fittingClock(model, load, watts(Math.min(a, b)), held);
          const loose = fittingClock(model, load, watts(Math.max(a, b)), held);
          expect(tight).toBeLessThanOrEqual(loose + aLittle);
          expect(mixedPowerAt(model, load, tight, held)).toBeLessThanOrEqual(
            mixedPowerAt(model, load, loose, held) + aLittle,
          );
        },
      ),
    );
  });

  it("below the power of the slowest clock saturates, and power exceeds the cap", () => {
    const { slowest } = v100.clock;
    const least = powerAt(v100, 1, slowest);
    for (const cap of [0, -5, 1, 60, -Infinity].map(watts)) {
      expect(fittingClock(v100, 1, cap)).toBe(slowest);
      expect(exceeds(least, cap)).toBe(true);
    }
    expect(least).toBeCloseTo(27 + 223 * (0.25 + 0.75 * 0.1 * 0.71 ** 2), 9);
    expect(exceeds(least, least)).toBe(false);
  });

  it("that is missing or NaN means uncapped", () => {
    for (const cap of [undefined, watts(Number.NaN), watts(1e308), watts(Infinity)]) {
      expect(fittingClock(v100, 1, cap)).toBe(1);
      expect(exceeds(v100.full, cap)).toBe(false);
    }
  });

  it("cannot lower idle power", () => {
    expect(fittingClock(v100, 0, watts(27))).toBe(1);
    expect(fittingClock(v100, 0, watts(20))).toBe(v100.clock.slowest);
    expect(exceeds(powerAt(v100, 0, v100.clock.slowest), watts(20))).toBe(true);
  });

  it("has no effect if every core is throttled", () => {
    expect(fittingClock(v100, 1, watts(100), 1)).toBe(v100.clock.slowest);
    expect(mixedPowerAt(v100, 1, 1, 1)).toBeCloseTo(powerAt(v100, 1, v100.clock.slowest), 9);
  });
});

describe("the classes", () => {
  it.each(classes.map((entry) => [entry.name, entry] as const))("%s has plausible values", (_, entry) => {
    const { staticShare, slowest, voltageFloor, floorClock } = entry.clock;
    for (const value of [staticShare, slowest, voltageFloor, floorClock]) expect(value > 0 && value < 1).toBe(true);
    // Otherwise thermal throttling would speed up a hot node.
    expect(slowest).toBeLessThan(0.6);
    expect(slowest).toBeLessThan(floorClock);
    expect(clockFactor(entry.clock, 1)).toBe(1);
  });

  it.each([
    ["amd-epyc-7763", "EPYC 7003"],
    ["amd-epyc-9654", "EPYC 9004"],
    ["amd-epyc-9474f", "EPYC 9004"],
    ["amd-epyc-9965", "EPYC 9005 dense"],
    ["amd-epyc-9575f", "EPYC 9005"],
    ["intel-xeon-platinum-8380", "Xeon Ice Lake"],
    ["intel-xeon-gold-6430", "Xeon since Sapphire Rapids"],
    ["intel-xeon-platinum-8480plus", "Xeon since Sapphire Rapids"],
    ["ampere-altra-q80-30", "Neoverse (Altra, Grace, Graviton)"],
    ["nvidia-grace", "Neoverse (Altra, Grace, Graviton)"],
    ["generic", "any other CPU"],
  ])("the CPU %s is %s", (key, name) => expect(cpuClassOf(key).name).toBe(name));

  it.each([
    ["nvidia-v100-sxm2-32gb", "Volta"],
    ["nvidia-t4", "Turing"],
    ["nvidia-a100-sxm-80gb", "Ampere"],
    ["nvidia-l40s", "Ada"],
    ["nvidia-rtx-6000-ada", "Ada"],
    ["nvidia-h100-nvl", "Hopper"],
    ["nvidia-gb200", "Blackwell"],
    ["amd-mi250x", "CDNA, CDNA 2"],
    ["amd-mi300x", "CDNA 3, CDNA 4"],
    ["intel-max-1550", "any other GPU"],
    ["generic", "any other GPU"],
  ])("the GPU %s is %s", (key, name) => expect(gpuClassOf(key).name).toBe(name));
});
