import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node, NodeHardwareStatus } from "../api/index.ts";
import { hardwareView } from "../inventory/index.ts";
import { celsius, instant, percent, watts, wattsPerMinute } from "../units/index.ts";
import { type EffectiveCaps, effectiveCaps } from "./caps.ts";
import { linearCoolingModel } from "./cooling.ts";
import { compute, headroom, nodePower, schedulableClassOf } from "./predict.ts";

/** The worked example of seed 004: two EPYC sockets and four H100. */
const hardware = { cpu: { sockets: 2, maxWattsPerSocket: watts(400) }, gpu: { count: 4, maxWatts: watts(400) } };
const caps = (cpuPct: number, gpuPct: number): EffectiveCaps => ({ cpuPct: percent(cpuPct), gpuPct: percent(gpuPct) });
const eco = caps(60, 60);

describe("nodePower", () => {
  it("TWN-11 TWN-18 is the capped maximum of all sockets and all GPUs: 480 W + 960 W = 1440 W", () => {
    expect(nodePower(hardware, eco)).toBe(1440);
    expect(nodePower(hardware, caps(60, 100))).toBe(2080);
    expect(nodePower({ cpu: hardware.cpu }, eco)).toBe(480);
  });

  it("TWN-12 takes the maxima from NodeHardware's cap ranges", () => {
    const status: NodeHardwareStatus = {
      cpu: { sockets: 2, capRange: { maxWattsPerSocket: watts(400) } },
      gpu: { present: true, count: 4, capRangePerGpu: { maxWatts: watts(400) } },
    };
    const node: Node = { metadata: { name: "n" } };
    expect(nodePower(hardwareView(node, status), eco)).toBe(1440);
  });

  it("is unknown where the hardware's figures are none", () => {
    expect(nodePower({ cpu: { sockets: Number.NaN, maxWattsPerSocket: watts(400) } }, eco)).toBeUndefined();
  });
});

describe("headroom", () => {
  it("TWN-22 TWN-23 TWN-24 is cap factor times cooling factor: the example's node has 41.22", () => {
    expect(headroom(eco, percent(31.3))).toBe(41.22);
  });

  it("TWN-22 takes (cpuPct + gpuPct)/200 for the cap factor", () => {
    expect(headroom(caps(100, 100), percent(0))).toBe(100);
    expect(headroom(caps(100, 50), percent(0))).toBe(75);
    expect(headroom(caps(0, 0), percent(0))).toBe(0);
  });

  it("X-80 has a cap factor of 0.8 on a CPU-only node at 60 %", () => {
    const spec = { cpu: { packagePowerCapPctOfMax: percent(60) } };
    expect(headroom(effectiveCaps(spec, { cpu: hardware.cpu }), percent(0))).toBe(80);
  });

  it("TWN-23 takes 1 − stress/100 for the cooling factor", () => {
    expect(headroom(caps(100, 100), percent(100))).toBe(0);
    expect(headroom(caps(100, 100), percent(25))).toBe(75);
  });
});

describe("schedulableClassOf", () => {
  it.each([
    ["performance", false, "performance"],
    ["performance", undefined, "performance"],
    ["eco", false, "eco"],
    ["eco", true, "draining"],
    ["performance", true, "draining"],
    [undefined, false, "unknown"],
  ] as const)("TWN-02 makes of profile %s, draining %s, the class %s", (profile, draining, expected) => {
    expect(schedulableClassOf(profile, draining)).toBe(expected);
  });
});

describe("compute", () => {
  it("TWN-01 TWN-02 TWN-03 TWN-18 TWN-20 TWN-24 TWN-27 predicts the example's node, every field of it", () => {
    const output = compute({
      hardware,
      caps: eco,
      profile: "eco",
      draining: false,
      density: 1.25,
      ambient: celsius(25),
      supplyTotal: watts(30_000),
      pue: 1.6,
      reading: { power: watts(1000), source: "agent", at: instant(0) },
      trend: wattsPerMinute(30),
    });
    expect(output).toEqual({
      schedulableClass: "eco",
      predictedPowerHeadroomScore: 41.22,
      predictedCoolingStressScore: 31.3,
      predictedPsuStressScore: 60,
      effectiveCapState: { cpuPct: 60, gpuPct: 60 },
      hardwareDensityScore: 1.25,
      estimatedPUE: 1.6,
      powerMeasurement: {
        source: "agent",
        measuredAt: "1970-01-01T00:00:00.000Z",
        measuredNodePowerW: 1000,
        powerTrendWPerMin: 30,
        cpuCappedPowerW: 480,
        gpuCappedPowerW: 960,
        nodeCappedPowerW: 1440,
        cpuTdpW: 800,
        gpuTdpW: 1600,
        nodeTdpW: 2400,
      },
    });
  });

  it("X-79 OPR-43 takes an unknown ambient for 20 °C and an unknown PUE for 1", () => {
    const output = compute({ hardware, caps: eco, profile: "eco" });
    expect(output.predictedCoolingStressScore).toBe(28.8);
    expect(output.estimatedPUE).toBe(1);
    expect(compute({ hardware, caps: eco, ambient: celsius(Number.NaN) }).predictedCoolingStressScore).toBe(28.8);
    expect(output).not.toHaveProperty("predictedPsuStressScore");
    expect(output).not.toHaveProperty("hardwareDensityScore");
    expect(output.powerMeasurement).not.toHaveProperty("measuredNodePowerW");
  });

  it("X-81 has no trend before there are samples to have one", () => {
    const reading = { power: watts(1), source: "static", at: instant(0) } as const;
    expect(compute({ hardware, caps: eco, reading }).powerMeasurement?.powerTrendWPerMin).toBe(0);
  });

  it("TWN-14 predicts the same whatever the node really draws", () => {
    const predicted = (power: number) => {
      const reading = { power: watts(power), source: "agent", at: instant(0) } as const;
      const { powerMeasurement: _, ...rest } = compute({ hardware, caps: eco, reading, ambient: celsius(25) });
      return rest;
    };
    expect(predicted(0)).toEqual(predicted(2400));
  });

  it("TWN-25 uses the cooling model it is given, and holds it to the scale", () => {
    const seen: number[][] = [];
    const cooling = {
      coolingStress: (power: number, ambient: number) => {
        seen.push([power, ambient]);
        return percent(250);
      },
    };
    const output = compute({ hardware, caps: eco, ambient: celsius(-3) }, { cooling });
    expect(seen).toEqual([[1440, -3]]);
    expect(output).toMatchObject({ predictedCoolingStressScore: 100, predictedPowerHeadroomScore: 0 });
  });

  it("TWN-19 measures the supply against the capacity it is given", () => {
    const model = { cooling: linearCoolingModel(), rackCapacity: watts(100_000) };
    expect(compute({ hardware, caps: eco, supplyTotal: watts(30_000) }, model).predictedPsuStressScore).toBe(30);
  });

  it("TWN-26 asks the cooling model once per node: nothing in it grows with anything", () => {
    let asked = 0;
    const cooling = { coolingStress: () => percent(asked++) };
    compute({ hardware: { ...hardware, gpu: { count: 1000, maxWatts: watts(700) } }, caps: eco }, { cooling });
    expect(asked).toBe(1);
  });

  it("predicts nothing of hardware whose figures are none", () => {
    const output = compute({ hardware: { cpu: { sockets: 1, maxWattsPerSocket: watts(1e308) } }, caps: eco });
    expect(output).toStrictEqual({ schedulableClass: "unknown", effectiveCapState: eco, estimatedPUE: 1 });
  });

  it("says 0 W of a node with no sockets, which is no stress at all", () => {
    expect(
      compute({ hardware: { cpu: { sockets: 0, maxWattsPerSocket: watts(400) } }, caps: caps(100, 100) }),
    ).toMatchObject({
      predictedCoolingStressScore: 0,
      predictedPowerHeadroomScore: 100,
    });
  });

  it("TWN-01 keeps every score in 0–100 for any input", () => {
    const any = fc.double();
    fc.assert(
      fc.property(any, any, any, any, any, any, (sockets, max, ambient, total, cpuPct, gpuPct) => {
        const output = compute({
          hardware: { cpu: { sockets, maxWattsPerSocket: watts(max) }, gpu: { count: sockets, maxWatts: watts(max) } },
          caps: caps(cpuPct, gpuPct),
          ambient: celsius(ambient),
          supplyTotal: watts(total),
        });
        const { predictedPowerHeadroomScore, predictedCoolingStressScore, predictedPsuStressScore } = output;
        for (const value of [predictedPowerHeadroomScore, predictedCoolingStressScore, predictedPsuStressScore]) {
          expect(value === undefined || (value >= 0 && value <= 100)).toBe(true);
        }
      }),
    );
  });
});
