import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Node, type NodeHardwareStatus, nodeTwinKind, validateForWrite } from "../api/index.ts";
import { hardwareView } from "../inventory/index.ts";
import { celsius, instant, percent, watts, wattsPerMinute } from "../units/index.ts";
import { type EffectiveCaps, effectiveCaps } from "./caps.ts";
import { linearCoolingModel } from "./cooling.ts";
import { headroom, nodePower, predictTwin, type TwinInput } from "./predict.ts";

/** The worked example of the contract: two EPYC sockets and four H100. */
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

  it("is unknown if the hardware values are invalid", () => {
    expect(nodePower({ cpu: { sockets: Number.NaN, maxWattsPerSocket: watts(400) } }, eco)).toBeUndefined();
  });
});

describe("headroom", () => {
  it("TWN-22 TWN-23 TWN-24 is cap factor times cooling factor: the example's node has 41.22", () => {
    expect(headroom(eco, percent(31.3))).toBe(41.22);
  });

  it("TWN-22 uses (cpuPct + gpuPct)/200 as the cap factor", () => {
    expect(headroom(caps(100, 100), percent(0))).toBe(100);
    expect(headroom(caps(100, 50), percent(0))).toBe(75);
    expect(headroom(caps(0, 0), percent(0))).toBe(0);
  });

  it("X-80 has a cap factor of 0.8 on a CPU-only node at 60 %", () => {
    const spec = { cpu: { packagePowerCapPctOfMax: percent(60) } };
    expect(headroom(effectiveCaps(spec, { cpu: hardware.cpu }), percent(0))).toBe(80);
  });

  it("TWN-23 uses 1 − stress/100 as the cooling factor", () => {
    expect(headroom(caps(100, 100), percent(100))).toBe(0);
    expect(headroom(caps(100, 100), percent(25))).toBe(75);
  });
});

describe("compute", () => {
  it("TWN-01 TWN-02 TWN-03 TWN-18 TWN-20 TWN-24 TWN-27 predicts the example's node, every field of it", () => {
    const output = predictTwin({
      hardware,
      caps: eco,
      schedulableClass: "eco",
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
      coolingStressNow: 22.5,
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

  it.each(["performance", "eco", "draining"] as const)(
    "TWN-02 passes on the class %s that the guard published",
    (given) => {
      expect(predictTwin({ hardware, caps: eco, schedulableClass: given }).schedulableClass).toBe(given);
    },
  );

  it("X-79 OPR-43 assumes 20 °C for an unknown ambient and 1 for an unknown PUE", () => {
    const output = predictTwin({ hardware, caps: eco });
    expect(output.predictedCoolingStressScore).toBe(28.8);
    expect(output.estimatedPUE).toBe(1);
    expect(predictTwin({ hardware, caps: eco, ambient: celsius(Number.NaN) }).predictedCoolingStressScore).toBe(28.8);
    expect(output).not.toHaveProperty("predictedPsuStressScore");
    expect(output).not.toHaveProperty("hardwareDensityScore");
    expect(output.powerMeasurement).not.toHaveProperty("measuredNodePowerW");
  });

  it("X-81 omits the trend until there are enough samples", () => {
    const reading = { power: watts(1), source: "static", at: instant(0) } as const;
    expect(predictTwin({ hardware, caps: eco, reading }).powerMeasurement?.powerTrendWPerMin).toBe(0);
  });

  it("TWN-14 predicts independently of the measured power", () => {
    const predicted = (power: number) => {
      const reading = { power: watts(power), source: "agent", at: instant(0) } as const;
      const {
        powerMeasurement: _,
        coolingStressNow: __,
        ...rest
      } = predictTwin({ hardware, caps: eco, reading, ambient: celsius(25) });
      return rest;
    };
    expect(predicted(0)).toEqual(predicted(2400));
  });

  const idle = { power: watts(100), source: "agent", at: instant(0) } as const;

  it("X-143 computes the stress of the power drawn now by the same model, beside the forecast at the cap", () => {
    expect(predictTwin({ hardware, caps: eco, reading: idle, ambient: celsius(30) })).toMatchObject({
      coolingStressNow: 7,
      predictedCoolingStressScore: 33.8,
    });
  });

  it("X-143 has no stress for now on a sleeping node or without a reading", () => {
    expect(predictTwin({ hardware, caps: eco })).not.toHaveProperty("coolingStressNow");
    const asleep = predictTwin({ hardware, caps: eco, schedulableClass: "asleep", reading: idle });
    expect(asleep).not.toHaveProperty("coolingStressNow");
  });

  it("X-144 with `auto` a node at its rated power has a stress of 80, whatever its size", () => {
    const model = { cooling: linearCoolingModel({ referenceNodePower: "auto" }) };
    const full = (envelope: TwinInput["hardware"]) =>
      predictTwin({ hardware: envelope, caps: caps(100, 100), reading: idle }, model);
    expect(full(hardware)).toMatchObject({ predictedCoolingStressScore: 80, coolingStressNow: expect.closeTo(10 / 3) });
    const small = { cpu: { sockets: 1, maxWattsPerSocket: watts(100) } };
    expect(full(small)).toMatchObject({ predictedCoolingStressScore: 80, coolingStressNow: 80 });
  });

  it("TWN-25 uses the given cooling model and clamps its score to 0–100", () => {
    const seen: number[][] = [];
    const cooling = {
      coolingStress: (power: number, ambient: number) => {
        seen.push([power, ambient]);
        return percent(250);
      },
    };
    const output = predictTwin({ hardware, caps: eco, ambient: celsius(-3) }, { cooling });
    expect(seen).toEqual([[1440, -3]]);
    expect(output).toMatchObject({ predictedCoolingStressScore: 100, predictedPowerHeadroomScore: 0 });
  });

  it("TWN-19 computes PSU stress from the given capacity", () => {
    const model = { cooling: linearCoolingModel(), rackCapacity: watts(100_000) };
    expect(predictTwin({ hardware, caps: eco, supplyTotal: watts(30_000) }, model).predictedPsuStressScore).toBe(30);
  });

  it("TWN-26 calls the cooling model once per node for the forecast, however many GPUs it has", () => {
    let asked = 0;
    const cooling = { coolingStress: () => percent(asked++) };
    predictTwin({ hardware: { ...hardware, gpu: { count: 1000, maxWatts: watts(700) } }, caps: eco }, { cooling });
    expect(asked).toBe(1);
  });

  it("predicts nothing for hardware with invalid values", () => {
    const output = predictTwin({ hardware: { cpu: { sockets: 1, maxWattsPerSocket: watts(1e308) } }, caps: eco });
    expect(output).toStrictEqual({ schedulableClass: "unknown", effectiveCapState: eco, estimatedPUE: 1 });
  });

  it("predicts 0 W and no stress for a node without sockets", () => {
    expect(
      predictTwin({ hardware: { cpu: { sockets: 0, maxWattsPerSocket: watts(400) } }, caps: caps(100, 100) }),
    ).toMatchObject({
      predictedCoolingStressScore: 0,
      predictedPowerHeadroomScore: 100,
    });
  });

  const fine: TwinInput = {
    hardware,
    caps: eco,
    schedulableClass: "eco",
    density: 1.25,
    supplyTotal: watts(30_000),
    pue: 1.6,
    reading: { power: watts(1000), source: "agent", at: instant(0) },
    trend: wattsPerMinute(30),
  };
  const without = (field: string) =>
    Object.fromEntries(Object.entries(predictTwin(fine)).filter(([name]) => name !== field));

  it.each([Number.NaN, Infinity, -1, 2.01])("omits only the density if it is %d", (density) => {
    expect(predictTwin({ ...fine, density })).toStrictEqual(without("hardwareDensityScore"));
    expect(predictTwin({ ...fine, density: 2 }).hardwareDensityScore).toBe(2);
    expect(predictTwin({ ...fine, density: 0 }).hardwareDensityScore).toBe(0);
  });

  it.each([Number.NaN, Infinity, -1])("X-31 omits the PSU stress for a supply total of %d W", (total) => {
    expect(predictTwin({ ...fine, supplyTotal: watts(total) })).toStrictEqual(without("predictedPsuStressScore"));
  });

  it.each([Number.NaN, Infinity, 0.99])("treats a PUE of %d as unknown and uses 1", (pue) => {
    expect(predictTwin({ ...fine, pue })).toStrictEqual({ ...predictTwin(fine), estimatedPUE: 1 });
    expect(predictTwin({ ...fine, pue: 1 }).estimatedPUE).toBe(1);
    expect(predictTwin({ ...fine, pue: 1.01 }).estimatedPUE).toBe(1.01);
  });

  it.each([Number.NaN, 100.5, -1])("omits a cap of %d %% and all values derived from it", (pct) => {
    const { effectiveCapState, ...rest } = predictTwin({ ...fine, caps: caps(pct, 60) });
    expect(effectiveCapState).toStrictEqual({ gpuPct: 60 });
    expect(rest).not.toHaveProperty("predictedPowerHeadroomScore");
    expect(rest).not.toHaveProperty("powerMeasurement");
    expect(predictTwin({ ...fine, caps: caps(60, pct) }).effectiveCapState).toStrictEqual({ cpuPct: 60 });
  });

  it.each([undefined, percent(Number.NaN)])("TWN-25 predicts nothing if the cooling model returns %s", (said) => {
    const output = predictTwin(fine, { cooling: { coolingStress: () => said } });
    expect(output).not.toHaveProperty("predictedCoolingStressScore");
    expect(output).not.toHaveProperty("predictedPowerHeadroomScore");
    expect(output.powerMeasurement).toBeDefined();
  });

  it("TWN-01 keeps every score in 0–100, and all of the status writable, for any input", () => {
    const any = fc.double();
    const figure = fc.oneof(any, fc.double({ min: -10, max: 500 }));
    const count = fc.oneof(any, fc.integer({ min: 0, max: 16 }));
    fc.assert(
      fc.property(
        fc.record({ count, max: figure, ambient: figure, total: figure, cpuPct: figure, gpuPct: figure }),
        fc.record({ power: figure, at: figure, trend: figure, pue: figure, density: figure, capacity: figure }),
        ({ count: devices, max, ambient, total, cpuPct, gpuPct }, { power, at, trend, pue, density, capacity }) => {
          const output = predictTwin(
            {
              hardware: {
                cpu: { sockets: devices, maxWattsPerSocket: watts(max) },
                gpu: { count: devices, maxWatts: watts(max) },
              },
              caps: caps(cpuPct, gpuPct),
              ambient: celsius(ambient),
              supplyTotal: watts(total),
              reading: { power: watts(power), source: "agent", at: instant(at) },
              trend: wattsPerMinute(trend),
              pue,
              density,
            },
            { cooling: linearCoolingModel(), rackCapacity: watts(capacity) },
          );
          const { predictedPowerHeadroomScore, predictedCoolingStressScore, predictedPsuStressScore } = output;
          for (const value of [predictedPowerHeadroomScore, predictedCoolingStressScore, predictedPsuStressScore]) {
            expect(value === undefined || (value >= 0 && value <= 100)).toBe(true);
          }
          expect(() => validateForWrite(nodeTwinKind, { metadata: { name: "n" }, status: output })).not.toThrow();
        },
      ),
      { numRuns: 1000 },
    );
  });
});
