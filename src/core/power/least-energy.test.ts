import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { watts } from "../units/index.ts";
import { COMPUTE_BOUND, clockFactor, type DeviceModel, leastEnergyClock, type PowerBeside } from "./device.ts";

const devices: fc.Arbitrary<DeviceModel> = fc
  .record({
    idle: fc.double({ min: 5, max: 150, noNaN: true }),
    above: fc.double({ min: 50, max: 900, noNaN: true }),
    staticShare: fc.double({ min: 0, max: 0.6, noNaN: true }),
    slowest: fc.double({ min: 0.1, max: 0.5, noNaN: true }),
    voltageFloor: fc.double({ min: 0.5, max: 0.95, noNaN: true }),
    floorClock: fc.double({ min: 0.3, max: 0.8, noNaN: true }),
  })
  .map(({ idle, above, ...clock }) => ({
    idle: watts(idle),
    full: watts(idle + above),
    shape: (load: number) => load,
    clock,
  }));
const besides: fc.Arbitrary<PowerBeside> = fc.record({
  constant: fc.double({ min: 0, max: 250, noNaN: true }),
  slope: fc.double({ min: 0, max: 0.3, noNaN: true }),
});
const shares = fc.double({ min: 0.01, max: 1, noNaN: true });

/** Energy of one unit of work, against one at full clock that takes a second. */
function energyAt({ idle, full, clock }: DeviceModel, beside: PowerBeside, share: number, f: number): number {
  const power = idle + beside.constant + (full - idle) * (1 + beside.slope) * clockFactor(clock, f);
  return power * (1 + share * (1 / f - 1));
}

describe("the clock of least energy", () => {
  it("X-116 no other clock takes less energy, whatever share of the time follows the clock", () => {
    fc.assert(
      fc.property(devices, besides, shares, fc.double({ min: 0, max: 1, noNaN: true }), (device, beside, share, at) => {
        const best = leastEnergyClock(device, beside, share);
        const { slowest } = device.clock;
        expect(best).toBeGreaterThanOrEqual(slowest);
        expect(best).toBeLessThanOrEqual(1);
        const other = energyAt(device, beside, share, slowest + at * (1 - slowest));
        expect(energyAt(device, beside, share, best)).toBeLessThanOrEqual(other * (1 + 1e-9));
      }),
      { numRuns: 1000 },
    );
  });

  it("X-116 the more of the time follows the clock, the higher it is; compute-bound work has the highest", () => {
    fc.assert(
      fc.property(devices, besides, shares, shares, (device, beside, one, other) => {
        const clockOf = (share: number) => leastEnergyClock(device, beside, share);
        expect(clockOf(Math.min(one, other))).toBeLessThanOrEqual(clockOf(Math.max(one, other)) + 1e-9);
        expect(clockOf(one)).toBeLessThanOrEqual(clockOf(COMPUTE_BOUND) + 1e-9);
        expect(leastEnergyClock(device, beside)).toBe(clockOf(COMPUTE_BOUND));
      }),
    );
  });
});
