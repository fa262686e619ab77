import { describe, expect, it } from "vitest";
import type { Profile } from "../api/index.ts";
import { hardwareView } from "../inventory/index.ts";
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
const intent = (profile: Profile, hardware: CapHardware, each: CapSettings) => capIntents(each)(hardware)[profile];

type CpuOrigins = CapHardware["cpu"]["from"];
const cpuNode = (from: CpuOrigins, match: CapHardware["cpu"]["match"] = "exact"): CapHardware => ({
  cpu: { match, maxWattsPerSocket: watts(400), minWattsPerSocket: watts(150), from },
});
const ordinary = cpuNode({ maxWatts: "discovered" });
const h100 = {
  count: 8,
  model: "NVIDIA H100 80GB HBM3",
  key: "nvidia-h100-sxm",
  match: "exact",
  maxWatts: watts(700),
  minWatts: watts(200),
  from: { maxWatts: "catalogue", minWatts: "catalogue" },
} as const;
const gpuNode = (gpu: Partial<NonNullable<CapHardware["gpu"]>> = {}): CapHardware => ({
  ...ordinary,
  gpu: { ...h100, ...gpu },
});

describe("CPU cap intents", () => {
  it("OPR-30 use the percentage of the profile by default", () => {
    expect(capIntents(settings())(ordinary)).toEqual({
      performance: { cpu: { packagePowerCapPctOfMax: 100 } },
      eco: { cpu: { packagePowerCapPctOfMax: 60 } },
    });
  });

  it("OPR-31 use watts if configured, clamped to the cap range that the package reports", () => {
    const absolute = settings({ absolute: true });
    expect(intent("performance", ordinary, absolute)).toEqual({ cpu: { packagePowerCapWatts: 400 } });
    expect(intent("eco", ordinary, absolute)).toEqual({ cpu: { packagePowerCapWatts: 150 } });
    const { minWattsPerSocket: _, ...open } = ordinary.cpu;
    expect(intent("eco", { cpu: open }, absolute)).toEqual({ cpu: { packagePowerCapWatts: 120 } });
  });

  it("OPR-31 are not raised to the minimum of the catalogue", () => {
    const absolute = settings({ absolute: true });
    const genoa = hardwareView(
      { metadata: { name: "n", labels: { "joulie.io/hw.cpu-model": "AMD EPYC 9654" } } },
      undefined,
    );
    expect(intent("eco", genoa, absolute)).toEqual({ cpu: { packagePowerCapWatts: 120 } });
  });

  it("OPR-31 are not lowered to a maximum that comes from a proxy model or an estimate", () => {
    const most = (hardware: CapHardware) =>
      intent("performance", hardware, settings({ absolute: true })).cpu?.packagePowerCapWatts;
    expect(most(cpuNode({ maxWatts: "catalogue" }))).toBe(400);
    expect(most(cpuNode({ maxWatts: "catalogue" }, "proxy"))).toBe(5000);
    expect(most(cpuNode({ maxWatts: "discovered" }, "proxy"))).toBe(400);
    expect(most(cpuNode({ maxWatts: "fallback" }, "generic"))).toBe(5000);
    expect(most(cpuNode({ maxWatts: "fallback" }))).toBe(5000);
    expect(most(cpuNode({}))).toBe(5000);
  });

  it("apply to GPU nodes too unless disabled", () => {
    expect(intent("eco", gpuNode(), settings()).cpu).toEqual({ packagePowerCapPctOfMax: 60 });
    const spared = intent("eco", gpuNode(), settings({ onGpuNodes: false }));
    expect(spared).not.toHaveProperty("cpu");
    expect(spared.gpu).toBeDefined();
    expect(intent("eco", ordinary, settings({ onGpuNodes: false })).cpu).toBeDefined();
    expect(intent("eco", gpuNode({ count: 0 }), settings({ onGpuNodes: false })).cpu).toBeDefined();
  });

  it("omit caps that the API would reject", () => {
    const odd = (value: number) => settings({ percent: { performance: percent(value), eco: percent(value) } });
    expect(intent("eco", ordinary, odd(150))).toEqual({ cpu: { packagePowerCapPctOfMax: 100 } });
    for (const value of [0, -5, Number.NaN]) expect(intent("eco", ordinary, odd(value))).toEqual({});
    const unbounded = cpuNode({ maxWatts: "fallback" });
    const oddWatts = (value: number) =>
      settings({ absolute: true, watts: { performance: watts(value), eco: watts(value) } });
    for (const value of [0.9, 0, -5, Number.NaN, Infinity]) {
      expect(intent("eco", unbounded, oddWatts(value))).toEqual({});
    }
    expect(intent("eco", unbounded, oddWatts(1))).toEqual({ cpu: { packagePowerCapWatts: 1 } });
  });
});

describe("GPU cap intents", () => {
  const absolute = (modelCaps: CapSettings["gpu"]["modelCaps"] = {}) => settings({}, { absolute: true, modelCaps });
  const watted = (gpu: Partial<NonNullable<CapHardware["gpu"]>>, each: CapSettings) =>
    intent("eco", gpuNode(gpu), each).gpu?.powerCap?.capWattsPerGpu;
  const labelled = (product: string) =>
    hardwareView(
      {
        metadata: { name: "n", labels: { "nvidia.com/gpu.product": product } },
        status: { allocatable: { "nvidia.com/gpu": "8" } },
      },
      undefined,
    );

  it("OPR-32 use the percentage of the profile by default", () => {
    const { performance, eco } = capIntents(settings())(gpuNode());
    expect(eco.gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 60 } });
    expect(performance.gpu).toEqual({ powerCap: { scope: "perGpu", capPctOfMax: 100 } });
  });

  it("X-80 are absent on a CPU-only node", () => {
    expect(intent("eco", ordinary, settings())).not.toHaveProperty("gpu");
    expect(intent("eco", gpuNode({ count: 0 }), absolute())).not.toHaveProperty("gpu");
  });

  it("OPR-33 carry watts and a percentage if the model maps to watts", () => {
    expect(intent("eco", gpuNode(), absolute()).gpu).toEqual({
      powerCap: { scope: "perGpu", capPctOfMax: 60, capWattsPerGpu: 420 },
    });
    expect(intent("performance", gpuNode(), absolute()).gpu?.powerCap?.capWattsPerGpu).toBe(700);
    expect(watted({ match: "proxy", from: { maxWatts: "discovered" } }, absolute())).toBe(420);
  });

  it("OPR-34 carry only a percentage for an unknown board or one matched by proxy", () => {
    const percentOnly = { powerCap: { scope: "perGpu", capPctOfMax: 60 } };
    const unknown = gpuNode({ key: "generic", match: "generic", model: "Mystery 1", from: { maxWatts: "fallback" } });
    expect(intent("eco", unknown, absolute()).gpu).toEqual(percentOnly);
    // A board named only "H100" may be the 350 W variant: 60 % of 700 W would not cap it.
    expect(labelled("H100").gpu).toMatchObject({ match: "proxy", from: { maxWatts: "catalogue" } });
    expect(intent("eco", labelled("H100"), absolute()).gpu).toEqual(percentOnly);
    expect(watted({ from: {} }, absolute())).toBeUndefined();
  });

  it("OPR-35 prefer the configured range of the product, whatever the spelling of its name", () => {
    const caps = { minCapWatts: watts(100), maxCapWatts: watts(500) };
    for (const product of ["NVIDIA-H100-80GB-HBM3", "nvidia  h100 (80GB) hbm3", "H100 80GB HBM3", "nvidia-h100-sxm"]) {
      expect(watted({}, absolute({ other: { maxCapWatts: watts(1) }, [product]: caps }))).toBe(300);
    }
    expect(watted({}, absolute({ "NVIDIA-H100-80GB": caps, H100: caps, "AMDXXX-A100-80XX-DDR3": caps }))).toBe(420);
    expect(watted({}, settings({}, { modelCaps: { "nvidia-h100-sxm": caps } }))).toBeUndefined();
    const cut = labelled("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
    expect(intent("eco", cut, absolute({ "NVIDIA-A100-SXM4-40GB": caps })).gpu?.powerCap?.capWattsPerGpu).toBe(300);
    expect(intent("eco", labelled("H100"), absolute({ "NVIDIA H100": caps })).gpu?.powerCap?.capWattsPerGpu).toBe(300);
  });

  it("OPR-35 look up the catalogue key on an exact match, and never look up an empty name", () => {
    const caps = { maxCapWatts: watts(900) };
    const { model: _, ...nameless } = h100;
    const board = (gpu: NonNullable<CapHardware["gpu"]>, modelCaps: CapSettings["gpu"]["modelCaps"]) =>
      intent("eco", { ...ordinary, gpu }, absolute(modelCaps)).gpu?.powerCap?.capWattsPerGpu;
    expect(board(nameless, { "": { maxCapWatts: watts(1) }, "nvidia-h100-sxm": caps })).toBe(540);
    expect(board({ ...nameless, match: "proxy" }, { "nvidia-h100-sxm": caps })).toBeUndefined();
    expect(board({ ...h100, model: "NVIDIA" }, { "": caps, GPU: caps })).toBe(420);
  });

  it("OPR-35 stay within the range", () => {
    expect(watted({}, absolute({ "nvidia-h100-sxm": { minCapWatts: watts(450), maxCapWatts: watts(500) } }))).toBe(450);
    expect(watted({}, absolute({ "nvidia-h100-sxm": { maxCapWatts: watts(500) } }))).toBe(300);
    expect(watted({ minWatts: watts(430) }, absolute())).toBe(430);
    expect(watted({ minWatts: watts(900) }, absolute())).toBe(700);
    expect(watted({ minWatts: watts(0), maxWatts: watts(1) }, absolute())).toBeUndefined();
    // The minimum of a proxy model is not used as a lower bound.
    const half = { match: "proxy", minWatts: watts(430) } as const;
    expect(watted({ ...half, from: { maxWatts: "discovered", minWatts: "catalogue" } }, absolute())).toBe(420);
    expect(watted({ ...half, from: { maxWatts: "discovered", minWatts: "discovered" } }, absolute())).toBe(430);
  });

  it("omit caps that the API would reject", () => {
    const none = settings({}, { percent: { performance: percent(0), eco: percent(Number.NaN) } });
    expect(intent("eco", gpuNode(), none)).toEqual({ cpu: { packagePowerCapPctOfMax: 60 } });
    expect(intent("performance", gpuNode(), none)).not.toHaveProperty("gpu");
  });
});
