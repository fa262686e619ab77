import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Watts, watts } from "../units/index.ts";
import { type LoadEnvelope, staticEstimate, utilizationEstimate } from "./estimate.ts";

const cpuOnly: LoadEnvelope = { cpu: { idleWatts: watts(100), defaultWatts: watts(800) } };
const withGpus: LoadEnvelope = { ...cpuOnly, gpu: { count: 4, idleWatts: watts(60) } };
const points = [
  [0, 0.2],
  [0.5, 0.7],
  [1, 1],
] as const;
const curved: LoadEnvelope = { cpu: { ...cpuOnly.cpu, curve: points } };
const none = watts(0);

describe("staticEstimate", () => {
  it("X-32 adds the power of the bound pods to the idle power", () => {
    expect(staticEstimate(cpuOnly, watts(150), undefined)).toBe(250);
    expect(staticEstimate(withGpus, watts(150), undefined)).toBe(490);
    expect(staticEstimate(cpuOnly, none, undefined)).toBe(100);
    expect(staticEstimate({ cpu: { idleWatts: none, defaultWatts: none } }, none, undefined)).toBe(0);
  });

  it("X-32 does not exceed the cap", () => {
    expect(staticEstimate(cpuOnly, watts(900), watts(480))).toBe(480);
    expect(staticEstimate(cpuOnly, watts(380), watts(480))).toBe(480);
    expect(staticEstimate(cpuOnly, watts(379), watts(480))).toBe(479);
    expect(staticEstimate(cpuOnly, watts(900), watts(Number.NaN))).toBe(1000);
    expect(staticEstimate(cpuOnly, watts(900), watts(0))).toBe(0);
  });

  it.each([Number.NaN, -1000, Infinity])("X-31 is missing if the pod power is %d W", (pods) => {
    expect(staticEstimate(cpuOnly, watts(pods), watts(480))).toBeUndefined();
  });
});

describe("utilizationEstimate", () => {
  it.each([
    [0, 100],
    [0.5, 450],
    [1, 800],
    [1.7, 800],
    [-1, 100],
  ])("X-97 interpolates between idle and full power: utilisation %d gives %d W", (load, power) => {
    expect(utilizationEstimate(cpuOnly, load, none, undefined)).toBe(power);
  });

  it.each([
    [0, 160],
    [0.25, 360],
    [0.5, 560],
    [0.75, 680],
    [1, 800],
  ])("X-97 uses the power curve of the model if it has one: %d gives %d W", (load, power) => {
    expect(utilizationEstimate(curved, load, none, undefined)).toBeCloseTo(power, 9);
  });

  it("X-97 extends the end points of the curve as constants and ignores an empty curve", () => {
    const within = (list: readonly (readonly [number, number])[]) => ({
      cpu: { ...cpuOnly.cpu, curve: list },
    });
    expect(
      utilizationEstimate(
        within([
          [0.2, 0.5],
          [0.8, 0.75],
        ]),
        0.1,
        none,
        undefined,
      ),
    ).toBe(400);
    expect(
      utilizationEstimate(
        within([
          [0.2, 0.5],
          [0.8, 0.75],
        ]),
        0.9,
        none,
        undefined,
      ),
    ).toBe(600);
    expect(
      utilizationEstimate(
        within([
          [0.5, 0.5],
          [0.5, 0.75],
        ]),
        0.5,
        none,
        undefined,
      ),
    ).toBe(400);
    expect(utilizationEstimate(within([]), 0.5, none, undefined)).toBe(450);
  });

  it("X-97 adds the GPU power separately from CPU utilisation", () => {
    expect(utilizationEstimate(withGpus, 0.5, watts(300), undefined)).toBe(990);
  });

  it("X-97 does not exceed the cap", () => {
    expect(utilizationEstimate(withGpus, 1, watts(300), watts(700))).toBe(700);
  });

  it.each([Number.NaN, Infinity])("X-31 is missing at a utilisation of %d", (load) => {
    expect(utilizationEstimate(cpuOnly, load, none, undefined)).toBeUndefined();
  });

  it("X-97 never decreases as the load rises", () => {
    const load = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(load, load, fc.constantFrom(cpuOnly, curved), (a, b, hardware) => {
        const at = (value: number) => utilizationEstimate(hardware, value, none, undefined) as Watts;
        expect(at(Math.max(a, b))).toBeGreaterThanOrEqual(at(Math.min(a, b)) - 1e-9);
      }),
    );
  });
});
