import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuCapIntent, gpuCapIntent, raplStep, resolveCap, withLowestCap } from "../control/index.ts";
import { noQueues, type QueuedPools } from "../demand/index.ts";
import { builtinCatalogue, type HardwareView, hardwareView } from "../inventory/index.ts";
import { type CapSettings, capLimits, profileCaps } from "../policy/index.ts";
import { fittingClock, leastEnergyClock, nodePowerModelOf, powerAt, restOfServerOf } from "../power/index.ts";
import { effectiveCaps } from "../twin/index.ts";
import { type Percent, percent, watts } from "../units/index.ts";

const settings: CapSettings = {
  cpu: {
    absolute: false,
    watts: { performance: watts(5000), eco: watts(120) },
    percent: { performance: percent(100), eco: percent(60) },
    onGpuNodes: true,
  },
  gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {} },
};
type Bound = readonly [maxSlowdown?: Percent, clockShare?: number];
const capsWith =
  (own: CapSettings, ...bound: Bound) =>
  (hardware: HardwareView, queued: QueuedPools) =>
    profileCaps(capLimits(own, ...bound)(hardware, queued), undefined, hardware);
const capsAt = (bound: number, clockShare = 1) => capsWith(settings, percent(bound), clockShare);
const node = { metadata: { name: "n" } };
const cpuNode = (rawModel: string, sockets = 2): HardwareView => hardwareView(node, { cpu: { rawModel, sockets } });
const gpuNode = (rawModel: string, count = 8): HardwareView =>
  hardwareView(node, {
    cpu: { rawModel: "AMD EPYC 9354", sockets: 2 },
    gpu: { present: true, rawModel, count },
  });

const cpuModels = [
  "AMD EPYC 7763",
  "AMD EPYC 9654",
  "AMD EPYC 9655",
  "AMD EPYC 9965",
  "Intel(R) Xeon(R) Platinum 8380",
  "Intel(R) Xeon(R) Platinum 8480+",
  "Ampere Altra Q80-30",
  "Mystery CPU",
];
const gpuModels = [
  "Tesla V100-SXM2-32GB",
  "Tesla T4",
  "NVIDIA A100-SXM4-80GB",
  "NVIDIA L40S",
  "NVIDIA H100 80GB HBM3",
  "AMD Instinct MI250X",
  "AMD Instinct MI300X",
  "Mystery GPU",
];
const bounds = fc.double({ min: 0.1, max: 100, noNaN: true });
const loads = fc.double({ min: 0, max: 1, noNaN: true });

/** The cap in watts that the agent sets for an eco target. */
function packageCap(hardware: HardwareView, bound: number, queued = noQueues, clockShare = 1): number {
  const { cpu } = capsAt(bound, clockShare)(hardware, queued).eco;
  const device = withLowestCap({ max: hardware.cpu.maxWattsPerSocket, step: raplStep });
  const cap = resolveCap(cpuCapIntent(cpu), device);
  return cap.kind === "watts" ? cap.watts : Infinity;
}
function boardCap(hardware: HardwareView, bound: number, queued = noQueues, clockShare = 1): number {
  const { gpu } = hardware;
  const intent = gpuCapIntent(capsAt(bound, clockShare)(hardware, queued).eco.gpu?.powerCap);
  const cap = resolveCap(intent, { min: gpu?.minWatts, max: gpu?.maxWatts });
  return cap.kind === "watts" ? cap.watts : Infinity;
}

describe("eco caps with a bounded slowdown", () => {
  it("X-111 without a bound the percentages of the settings apply", () => {
    expect(capsWith(settings)(cpuNode("AMD EPYC 9654"), noQueues).eco).toEqual({
      cpu: { packagePowerCapPctOfMax: 60 },
      caps: { profile: "eco", cpu: "profile" },
    });
  });

  it("X-111 no load on any CPU model is slowed beyond the bound by the cap that the agent sets", () => {
    fc.assert(
      fc.property(fc.constantFrom(...cpuModels), bounds, loads, (name, bound, load) => {
        const hardware = cpuNode(name);
        const model = nodePowerModelOf(hardware).cpu;
        const clock = fittingClock(model, load, watts(packageCap(hardware, bound)));
        expect(1 / clock - 1).toBeLessThanOrEqual(bound / 100 + 1e-9);
      }),
    );
  });

  it("X-111 no load on any GPU model is slowed beyond the bound", () => {
    fc.assert(
      fc.property(fc.constantFrom(...gpuModels), bounds, loads, (name, bound, load) => {
        const hardware = gpuNode(name);
        const model = nodePowerModelOf(hardware).gpu;
        if (model === undefined) throw new Error("a GPU model is expected");
        const clock = fittingClock(model, load, watts(boardCap(hardware, bound)));
        expect(1 / clock - 1).toBeLessThanOrEqual(bound / 100 + 1e-9);
      }),
    );
  });

  it("X-111 caps are never below the clock of least energy per work, nor below the minimum of the device", () => {
    fc.assert(
      fc.property(fc.constantFrom(...cpuModels), bounds, (name, bound) => {
        const hardware = cpuNode(name);
        const model = nodePowerModelOf(hardware);
        const rest = restOfServerOf(model);
        const least = leastEnergyClock(model.cpu, { constant: rest.idle / model.packages, slope: rest.slope });
        const cap = packageCap(hardware, bound);
        expect(cap).toBeGreaterThanOrEqual(Math.min(model.cpu.full, powerAt(model.cpu, 1, least)) - 1e-6);
        expect(cap).toBeGreaterThanOrEqual(hardware.cpu.minWattsPerSocket ?? 0);
      }),
    );
  });

  it("X-111 the cap is the lowest one: 1 % less breaks the bound, unless energy or the device forbids less", () => {
    const hardware = cpuNode("Intel(R) Xeon(R) Platinum 8480+");
    const model = nodePowerModelOf(hardware).cpu;
    const cap = packageCap(hardware, 10);
    expect(cap).toBeLessThan(hardware.cpu.maxWattsPerSocket);
    expect(1 / fittingClock(model, 1, watts(cap * 0.99)) - 1).toBeGreaterThan(0.1);
  });

  it("X-111 a larger bound never raises a cap, and eco is never above performance", () => {
    fc.assert(
      fc.property(fc.constantFrom(...gpuModels), bounds, bounds, (name, one, other) => {
        const hardware = gpuNode(name);
        expect(boardCap(hardware, Math.max(one, other))).toBeLessThanOrEqual(boardCap(hardware, Math.min(one, other)));
      }),
    );
    const low = { ...settings, gpu: { ...settings.gpu, percent: { performance: percent(50), eco: percent(40) } } };
    const caps = capsWith(low, percent(1))(gpuNode("NVIDIA H100 80GB HBM3"), noQueues);
    expect(caps.eco.gpu?.powerCap?.capPctOfMax).toBe(50);
  });

  it("X-116 work that follows the clock less has lower caps, and the bound of compute-bound work still holds", () => {
    fc.assert(
      fc.property(fc.constantFrom(...gpuModels), bounds, loads, loads, (name, bound, load, below) => {
        const hardware = gpuNode(name);
        const model = nodePowerModelOf(hardware).gpu;
        if (model === undefined) throw new Error("a GPU model is expected");
        const cap = boardCap(hardware, bound, noQueues, 1 - below);
        expect(cap).toBeLessThanOrEqual(boardCap(hardware, bound));
        expect(1 / fittingClock(model, load, watts(cap)) - 1).toBeLessThanOrEqual(bound / 100 + 1e-9);
      }),
    );
    const h100 = gpuNode("NVIDIA H100 80GB HBM3");
    const xeon = cpuNode("Intel(R) Xeon(R) Platinum 8480+");
    expect(boardCap(h100, 70, noQueues, 0.7)).toBeLessThan(0.9 * boardCap(h100, 70));
    expect(packageCap(xeon, 70, noQueues, 0.7)).toBeLessThan(0.9 * packageCap(xeon, 70));
    expect(boardCap(h100, 10, noQueues, 0.7)).toBe(boardCap(h100, 10));
  });

  it("X-112 half the bound applies to the pool whose pods wait", () => {
    const cpu = cpuNode("Intel(R) Xeon(R) Platinum 8480+");
    const gpu = gpuNode("NVIDIA H100 80GB HBM3");
    const waiting = { cpu: { cpu: true, gpu: false }, gpu: { cpu: false, gpu: true } };
    expect(packageCap(cpu, 10, waiting.cpu)).toBe(packageCap(cpu, 5));
    expect(packageCap(cpu, 10, waiting.gpu)).toBe(packageCap(cpu, 10));
    expect(boardCap(gpu, 10, waiting.gpu)).toBe(boardCap(gpu, 5));
    expect(boardCap(gpu, 10, waiting.cpu)).toBe(boardCap(gpu, 10));
    expect(boardCap(gpu, 10, waiting.gpu)).toBeGreaterThan(boardCap(gpu, 10));
  });

  it("X-113 CPUs of nodes with GPUs stay uncapped, so that the boards do not wait for their host", () => {
    const { eco } = capsAt(10)(gpuNode("NVIDIA H100 80GB HBM3"), noQueues);
    expect(eco.cpu).toBeUndefined();
    expect(eco.gpu?.powerCap?.capPctOfMax).toBeLessThan(100);
  });

  it("X-111 writes watts if configured, and leaves a package of an unknown maximum open", () => {
    const absolute = { ...settings, cpu: { ...settings.cpu, absolute: true } };
    const capped = capsWith(absolute, percent(10))(cpuNode("Intel(R) Xeon(R) Platinum 8480+"), noQueues);
    expect(capped.eco.cpu?.packagePowerCapWatts).toBeLessThan(350);
    expect(capsWith(absolute, percent(10))(cpuNode("Mystery CPU"), noQueues).eco).toEqual({
      cpu: { packagePowerCapWatts: 5000 },
      caps: { profile: "eco", cpu: "profile" },
    });
  });

  it("X-111 watts of a configured maximum keep the bound too", () => {
    const hardware = gpuNode("NVIDIA H100 80GB HBM3");
    const modelCaps = { "NVIDIA H100 80GB HBM3": { maxCapWatts: watts(500) } };
    const limited = { ...settings, gpu: { ...settings.gpu, absolute: true, modelCaps } };
    const caps = capsWith(limited, percent(10))(hardware, noQueues);
    const ours = capsWith({ ...limited, gpu: { ...limited.gpu, modelCaps: {} } }, percent(10))(hardware, noQueues);
    expect(caps.eco.gpu?.powerCap?.capWattsPerGpu).toBeCloseTo(
      Math.min(500, ours.eco.gpu?.powerCap?.capWattsPerGpu ?? 0),
      0,
    );
  });

  it("X-114 a cap of 60 % is a cap of 60 % on every CPU that exposes no higher minimum, for twin and agent", () => {
    const spec = { cpu: { packagePowerCapPctOfMax: percent(60) } };
    for (const { key } of builtinCatalogue.cpus) {
      const hardware = cpuNode(key);
      const max = hardware.cpu.maxWattsPerSocket;
      expect(resolveCap(cpuCapIntent(spec.cpu), withLowestCap({ max }))).toEqual({ kind: "watts", watts: 0.6 * max });
      expect(effectiveCaps(spec, hardware).cpuPct).toBe(60);
    }
  });

  it("X-114 the twin predicts the cap that the agent sets, also below the minimum of the device", () => {
    const capRange = { maxWattsPerSocket: watts(400), minWattsPerSocket: watts(300) };
    const hardware = hardwareView(node, { cpu: { rawModel: "AMD EPYC 9654", sockets: 2, capRange } });
    const spec = { cpu: { packagePowerCapPctOfMax: percent(60) } };
    const set = resolveCap(cpuCapIntent(spec.cpu), withLowestCap({ max: watts(400), min: watts(300) }));
    expect(set).toMatchObject({ kind: "watts", watts: 300 });
    expect(effectiveCaps(spec, hardware).cpuPct).toBe(75);
    const board = gpuNode("NVIDIA H100 80GB HBM3");
    const low = { gpu: { powerCap: { scope: "perGpu" as const, capPctOfMax: percent(10) } } };
    expect((effectiveCaps(low, board).gpuPct * (board.gpu?.maxWatts ?? 0)) / 100).toBeCloseTo(board.gpu?.minWatts ?? 0);
    // Unknown hardware: a quarter of the maximum.
    const unknown = cpuNode("Mystery CPU");
    expect(effectiveCaps({ cpu: { packagePowerCapPctOfMax: percent(5) } }, unknown).cpuPct).toBe(25);
  });
});
