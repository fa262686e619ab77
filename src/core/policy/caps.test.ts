import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import { type CapHardware, type CapSettings, capIntents } from "./caps.ts";

const settings = (cpu: Partial<CapSettings["cpu"]> = {}, gpu: Partial<CapSettings["gpu"]> = {}): CapSettings => ({
  cpu: {
    absolute: false,
    watts: { performance: watts(5000), eco: watts(120) },
    percent: { performance: percent(100), eco: percent(60) },
    onGpuNodes: true,
    ...cpu,
  },
  gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {}, ...gpu },
});

const cpuNode = (cpu: Partial<CapHardware["cpu"]> = {}): CapHardware => ({
  cpu: { maxWattsPerSocket: watts(400), minWattsPerSocket: watts(150), from: { maxWatts: "discovered" }, ...cpu },
});
const h100 = {
  count: 8,
  model: "NVIDIA H100 80GB HBM3",
  key: "nvidia-h100-sxm",
  maxWatts: watts(700),
  minWatts: watts(200),
  from: { maxWatts: "catalogue" },
} as const;
const gpuNode = (gpu: Partial<NonNullable<CapHardware["gpu"]>> = {}): CapHardware => ({
  ...cpuNode(),
  gpu: { ...h100, ...gpu },
});

describe("CPU cap intents", () => {
  it("OPR-30 are percent by default, of the profile", () => {
    expect(capIntents("performance", cpuNode(), settings())).toEqual({ cpu: { packagePowerCapPctOfMax: 100 } });
    expect(capIntents("eco", cpuNode(), settings())).toEqual({ cpu: { packagePowerCapPctOfMax: 60 } });
  });

  it("OPR-31 X-88 are watts instead where asked for, within what the package can take", () => {
    const absolute = settings({ absolute: true });
    expect(capIntents("performance", cpuNode(), absolute)).toEqual({ cpu: { packagePowerCapWatts: 400 } });
    expect(capIntents("eco", cpuNode(), absolute)).toEqual({ cpu: { packagePowerCapWatts: 150 } });
    const { minWattsPerSocket: _, ...open } = cpuNode().cpu;
    expect(capIntents("eco", { cpu: open }, absolute)).toEqual({ cpu: { packagePowerCapWatts: 120 } });
    const guessed = { cpu: { ...open, from: { maxWatts: "fallback" as const } } };
    expect(capIntents("performance", guessed, absolute)).toEqual({ cpu: { packagePowerCapWatts: 5000 } });
  });

  it("X-45 go to GPU nodes as well, unless switched off", () => {
    expect(capIntents("eco", gpuNode(), settings()).cpu).toEqual({ packagePowerCapPctOfMax: 60 });
    const spared = capIntents("eco", gpuNode(), settings({ onGpuNodes: false }));
    expect(spared).not.toHaveProperty("cpu");
    expect(spared.gpu).toBeDefined();
    expect(capIntents("eco", cpuNode(), settings({ onGpuNodes: false })).cpu).toBeDefined();
    expect(capIntents("eco", gpuNode({ count: 0 }), settings({ onGpuNodes: false })).cpu).toBeDefined();
  });

  it("X-04 leave out what the API would refuse", () => {
    const odd = (value: number) => settings({ percent: { performance: percent(value), eco: percent(value) } });
    expect(capIntents("eco", cpuNode(), odd(150))).toEqual({ cpu: { packagePowerCapPctOfMax: 100 } });
    for (const value of [0, -5, Number.NaN]) expect(capIntents("eco", cpuNode(), odd(value))).toEqual({});
    const unbounded = { cpu: { maxWattsPerSocket: watts(400), from: { maxWatts: "fallback" as const } } };
    const oddWatts = (value: number) =>
      settings({ absolute: true, watts: { performance: watts(value), eco: watts(value) } });
    for (const value of [0.9, 0, -5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(capIntents("eco", unbounded, oddWatts(value))).toEqual({});
    }
    expect(capIntents("eco", unbounded, oddWatts(1))).toEqual({ cpu: { packagePowerCapWatts: 1 } });
  });
});

describe("GPU cap intents", () => {
  const absolute = (modelCaps: CapSettings["gpu"]["modelCaps"] = {}) => settings({}, { absolute: true, modelCaps });
  const watted = (gpu: Partial<typeof h100>, each: CapSettings) =>
    capIntents("eco", gpuNode(gpu), each).gpu?.powerCap?.capWattsPerGpu;

  it("OPR-32 are percent by default, of the profile", () => {
    expect(capIntents("eco", gpuNode(), settings()).gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 60 } });
    expect(capIntents("performance", gpuNode(), settings()).gpu).toEqual({
      powerCap: { scope: "perGpu", capPctOfMax: 100 },
    });
  });

  it("X-80 are absent on a CPU-only node", () => {
    expect(capIntents("eco", cpuNode(), settings())).not.toHaveProperty("gpu");
    expect(capIntents("eco", gpuNode({ count: 0 }), absolute())).not.toHaveProperty("gpu");
  });

  it("OPR-33 carry watts beside percent where the model maps to watts", () => {
    expect(capIntents("eco", gpuNode(), absolute()).gpu).toEqual({
      powerCap: { scope: "perGpu", capPctOfMax: 60, capWattsPerGpu: 420 },
    });
    expect(capIntents("performance", gpuNode(), absolute()).gpu?.powerCap?.capWattsPerGpu).toBe(700);
  });

  it("OPR-34 carry percent only where it does not", () => {
    const unknown = gpuNode({ key: "generic", model: "Mystery 1", from: { maxWatts: "fallback" } });
    expect(capIntents("eco", unknown, absolute()).gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 60 } });
  });

  it("OPR-35 take the configured range of the product first, however its name is written", () => {
    const caps = { minCapWatts: watts(100), maxCapWatts: watts(500) };
    for (const product of ["NVIDIA-H100-80GB-HBM3", "nvidia  h100 (80GB) hbm3", "nvidia-h100-sxm"]) {
      expect(watted({}, absolute({ other: { maxCapWatts: watts(1) }, [product]: caps }))).toBe(300);
    }
    expect(watted({}, absolute({ "NVIDIA-H100-80GB": caps, H100: caps, "AMDXXX-A100-80XX-DDR3": caps }))).toBe(420);
    expect(watted({}, settings({}, { modelCaps: { "nvidia-h100-sxm": caps } }))).toBeUndefined();
    const { model: _, ...nameless } = h100;
    expect(
      capIntents(
        "eco",
        { ...cpuNode(), gpu: nameless },
        absolute({ "": caps, "nvidia-h100-sxm": { maxCapWatts: watts(900) } }),
      ).gpu?.powerCap?.capWattsPerGpu,
    ).toBe(540);
  });

  it("OPR-35 X-88 stay within the range", () => {
    expect(watted({}, absolute({ "nvidia-h100-sxm": { minCapWatts: watts(450), maxCapWatts: watts(500) } }))).toBe(450);
    expect(watted({}, absolute({ "nvidia-h100-sxm": { maxCapWatts: watts(500) } }))).toBe(300);
    expect(watted({ minWatts: watts(430) }, absolute())).toBe(430);
    expect(watted({ minWatts: watts(900) }, absolute())).toBe(700);
    expect(watted({ minWatts: watts(0), maxWatts: watts(1) }, absolute())).toBeUndefined();
  });

  it("X-04 leave out what the API would refuse", () => {
    const none = settings({}, { percent: { performance: percent(0), eco: percent(Number.NaN) } });
    expect(capIntents("eco", gpuNode(), none)).toEqual({ cpu: { packagePowerCapPctOfMax: 60 } });
    expect(capIntents("performance", gpuNode(), none)).not.toHaveProperty("gpu");
  });
});
