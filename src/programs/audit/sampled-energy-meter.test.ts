import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joules, seconds, watts } from "../../core/units/index.ts";
import { relativeDifference, SampledEnergyMeter } from "./sampled-energy-meter.ts";

const sample = (at: number, power: number, energy: number) => ({
  seconds: seconds(at),
  watts: watts(power),
  joules: joules(energy),
});
const GAP = seconds(60);

describe("SampledEnergyMeter", () => {
  it("integrates power from its first sample on", () => {
    const meter = new SampledEnergyMeter();
    meter.add(sample(10, 100, 5000), GAP);
    meter.add(sample(20, 100, 6000), GAP);
    meter.add(sample(20, 999, 6000), GAP);
    meter.add(sample(30, 200, 7500), GAP);
    expect(meter.figures).toEqual({
      samples: 2,
      seconds: 20,
      meteredJoules: 2500,
      integralJoules: 2500,
      missedJoules: 500,
    });
  });

  it("ignores gaps without samples", () => {
    const meter = new SampledEnergyMeter();
    meter.add(sample(0, 100, 0), GAP);
    meter.add(sample(100, 900, 50_000), GAP);
    meter.add(sample(110, 900, 59_000), GAP);
    expect(meter.figures).toEqual({
      samples: 1,
      seconds: 10,
      meteredJoules: 9000,
      integralJoules: 9000,
      missedJoules: 0,
    });
  });

  it("matches the exact energy when power is constant between samples", () => {
    const step = fc.record({ length: fc.integer({ min: 1, max: 60 }), power: fc.integer({ min: 0, max: 10_000 }) });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 50 }), (steps) => {
        const meter = new SampledEnergyMeter();
        let [at, energy] = [0, 0];
        for (const { length, power } of steps) {
          meter.add(sample(at, power, energy), GAP);
          at += length;
          energy += length * power;
          meter.add(sample(at - 1e-9, power, energy), GAP);
        }
        const { meteredJoules, integralJoules } = meter.figures;
        expect(meteredJoules).toBeCloseTo(integralJoules, -1);
      }),
    );
  });

  it("reports the relative difference if there is a reference", () => {
    expect(relativeDifference(101, 100)).toBeCloseTo(0.01);
    expect(relativeDifference(0, 0)).toBeUndefined();
    expect(relativeDifference(Number.NaN, 5)).toBeUndefined();
  });
});
