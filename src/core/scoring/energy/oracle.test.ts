import { describe, expect, it } from "vitest";
import type { NodeHardwareStatus } from "../../api/index.ts";
import { hardwareView } from "../../inventory/index.ts";
import { nodePowerModelOf, powerAt } from "../../power/index.ts";
import { instant, milliseconds, seconds } from "../../units/index.ts";
import { twinStateOf } from "../twin-state.ts";
import { energyNodeOf } from "./energy-node.ts";
import type { PlacedPod, RunningPod } from "./energy-pod.ts";
import { gpuMixOf } from "./gpu-mix.ts";
import {
  type EnergyCandidate,
  type EnergyContext,
  energyScores,
  type MarginalJoules,
  marginalJoules,
} from "./oracle.ts";
import { defaultEnergySettings, type EnergySettings, energySettings } from "./settings.ts";

const NOW = instant(Date.UTC(2026, 2, 1, 12));
const context: EnergyContext = {
  now: NOW,
  mix: gpuMixOf([]),
  stalenessThreshold: milliseconds(300_000),
  facilityMetrics: false,
};

const hardware = (cpu: string, gpu?: { readonly model: string; readonly count: number }) => {
  const found: NodeHardwareStatus = {
    cpu: { rawModel: cpu, sockets: 2 },
    ...(gpu && { gpu: { present: true, rawModel: gpu.model, vendor: "nvidia", count: gpu.count } }),
  };
  return hardwareView({ metadata: { name: "n" } }, found);
};
const epyc = hardware("AMD EPYC 9654");
const xeon = hardware("Intel(R) Xeon(R) Platinum 8380");
const hgx = hardware("AMD EPYC 7763", { model: "NVIDIA H100 80GB HBM3", count: 8 });

const running = (cpuCores: number, more: Partial<RunningPod> = {}): RunningPod => ({
  demand: { cpuCores, gpus: new Map() },
  duration: undefined,
  startedAt: NOW,
  background: false,
  ...more,
});
const gpus = (count: number) => new Map([["nvidia.com/gpu", count]]);
const cpuPod = (cpuCores: number, duration?: number): PlacedPod => ({
  demand: { cpuCores, gpus: new Map() },
  duration: duration === undefined ? undefined : seconds(duration),
});
const gpuPod = (count: number, cpuCores = 8): PlacedPod => ({
  demand: { cpuCores, gpus: gpus(count) },
  duration: undefined,
});

function joulesOf(
  pod: PlacedPod,
  candidate: EnergyCandidate,
  settings: EnergySettings = defaultEnergySettings,
  around: Partial<EnergyContext> = {},
): MarginalJoules {
  const found = marginalJoules(pod, candidate, { ...context, ...around }, settings);
  if (found.fallback !== undefined) throw new Error(found.fallback);
  return found;
}
const only = (weights: Partial<EnergySettings["weights"]>): EnergySettings => ({
  ...defaultEnergySettings,
  weights: { awake: 0, fragmentation: 0, starvation: 0, guests: 0, spare: 0, spareBoards: 0, ...weights },
});

describe("the marginal joules of a pod", () => {
  it("are the watts between two loads at the wall, for the default duration", () => {
    const {
      addedWatts,
      running: energy,
      durationSeconds,
    } = joulesOf(cpuPod(96), { hardware: epyc, pods: [running(32)] });
    expect(durationSeconds).toBe(1800);
    expect(energy).toBeCloseTo(addedWatts * 1.13 * 1800, 6);
    // Of 192 cores 32 run at 60 %, then 128: the load grows from 0.1 to 0.4.
    const { cpu, packages } = nodePowerModelOf(epyc);
    expect(addedWatts).toBeCloseTo(packages * (powerAt(cpu, 0.4, 1) - powerAt(cpu, 0.1, 1)), 6);
  });

  it("grow with the declared duration", () => {
    const settings = only({});
    const short = joulesOf(cpuPod(8, 600), { hardware: epyc, pods: [] }, settings);
    const long = joulesOf(cpuPod(8, 6000), { hardware: epyc, pods: [] }, settings);
    expect(long.joules).toBeCloseTo(10 * short.joules, 6);
  });

  it("depend on the load that the node's curve starts from", () => {
    const added = (used: number) => joulesOf(cpuPod(16), { hardware: xeon, pods: [running(used)] }).addedWatts;
    expect(added(0)).not.toBeCloseTo(added(40), 1);
  });

  it("count the power of a GPU board between idle and the expected load", () => {
    const { addedWatts } = joulesOf(gpuPod(2, 0), { hardware: hgx, pods: [] });
    const { idleWatts = 0, defaultWatts = 0 } = hgx.gpu ?? {};
    expect(addedWatts).toBeCloseTo(2 * (defaultWatts - idleWatts) * 0.7, 6);
  });

  it("count a MIG slice as its share of a board", () => {
    const slice = { demand: { cpuCores: 0, gpus: new Map([["nvidia.com/mig-1g.10gb", 7]]) }, duration: undefined };
    const whole = joulesOf(gpuPod(1, 0), { hardware: hgx, pods: [] });
    expect(joulesOf(slice, { hardware: hgx, pods: [] }).addedWatts).toBeCloseTo(whole.addedWatts, 6);
  });

  it("are longer on a slower board if boards differ in speed", () => {
    const a100 = hardware("AMD EPYC 7763", { model: "NVIDIA A100-SXM4-80GB", count: 8 });
    const on = (view: typeof hgx, boardSpeeds: boolean) =>
      joulesOf(gpuPod(1), { hardware: view, pods: [] }, { ...defaultEnergySettings, boardSpeeds }).durationSeconds;
    expect(on(a100, true)).toBeGreaterThan(2 * on(hgx, true));
    expect(on(a100, false)).toBe(on(hgx, false));
    expect(joulesOf(cpuPod(1), { hardware: hgx, pods: [] }).durationSeconds).toBe(1800);
  });

  it("prefer the fuller of two equal nodes", () => {
    const settings = only({ spare: 0.1 });
    const onFull = joulesOf(cpuPod(4), { hardware: epyc, pods: [running(100)] }, settings);
    const onEmpty = joulesOf(cpuPod(4), { hardware: epyc, pods: [] }, settings);
    expect(onFull.spare).toBeLessThan(onEmpty.spare);
  });

  it("SLP-72 with sleep, prefer a busy node to one that could sleep, and the GPU node with fewer free boards", () => {
    const sleeping = energySettings({ sleeps: true });
    const total = (pods: readonly RunningPod[], pod: PlacedPod, view = hgx) =>
      joulesOf(pod, { hardware: view, pods }, sleeping);
    const used = (boards: number) => running(8, { demand: { cpuCores: 8, gpus: gpus(boards) } });
    expect(total([running(4)], cpuPod(4), epyc).awake).toBe(0);
    expect(total([], cpuPod(4), epyc).awake).toBeGreaterThan(0);
    expect(total([used(6)], gpuPod(1)).joules).toBeLessThan(total([used(2)], gpuPod(1)).joules);
    expect(energySettings().weights).toMatchObject({ awake: 0, spareBoards: 0 });
  });

  it("SLP-72 with sleep, prefer an empty node without GPUs to room beside GPUs", () => {
    const allBoards = running(64, { demand: { cpuCores: 64, gpus: gpus(8) } });
    const on = (view: typeof hgx, pods: readonly RunningPod[], sleeps: boolean) =>
      joulesOf(cpuPod(16), { hardware: view, pods }, energySettings({ sleeps }));
    expect(on(hgx, [allBoards], true).joules).toBeGreaterThan(on(epyc, [], true).joules);
    const idle = energyNodeOf(hgx, undefined, energySettings())?.idle ?? 0;
    expect(on(hgx, [allBoards], true).starvation).toBeCloseTo(4 * (16 / 128) * 1800 * idle, 3);
    expect(on(hgx, [allBoards], false).starvation).toBe(0);
    expect(on(epyc, [], true).starvation).toBe(0);
  });

  it("count a node's idle power if a pod without GPUs starves its free boards", () => {
    const settings = only({ starvation: 1 });
    const cores = hgx.cpu.totalCores ?? 0;
    expect(cores).toBe(128);
    // 8 free boards need 128 cores; after 4 of them are used, 64 are enough.
    const fourUsed = running(0, { demand: { cpuCores: 0, gpus: gpus(4) } });
    expect(joulesOf(cpuPod(4), { hardware: hgx, pods: [] }, settings).starvation).toBeGreaterThan(0);
    expect(joulesOf(cpuPod(4), { hardware: hgx, pods: [fourUsed] }, settings).starvation).toBe(0);
    expect(joulesOf(gpuPod(1, 100), { hardware: hgx, pods: [fourUsed] }, settings).starvation).toBe(0);
    expect(joulesOf(cpuPod(150), { hardware: epyc, pods: [] }, settings).starvation).toBe(0);
  });

  it("count boards that the cluster's GPU pods cannot use any more", () => {
    const settings = only({ fragmentation: 1 });
    const mix = gpuMixOf([{ boards: 4, cpus: 8 }]);
    const four = running(0, { demand: { cpuCores: 8, gpus: gpus(3) } });
    const gap = joulesOf(gpuPod(1), { hardware: hgx, pods: [four] }, settings, { mix });
    const fresh = joulesOf(gpuPod(1), { hardware: hgx, pods: [] }, settings, { mix });
    expect(gap.fragmentation).toBeLessThan(0);
    expect(fresh.fragmentation).toBeGreaterThan(0);
    expect(joulesOf(gpuPod(1), { hardware: hgx, pods: [] }, settings).fragmentation).toBe(0);
  });

  describe("with nodes that sleep", () => {
    const settings = only({ awake: 1 });
    const awake = (pods: readonly RunningPod[], pod = cpuPod(1)) =>
      joulesOf(pod, { hardware: epyc, pods }, settings).awake;

    it("count the idle power of an empty node", () => {
      expect(awake([])).toBeGreaterThan(0);
      expect(joulesOf(cpuPod(1), { hardware: epyc, pods: [] }).awake).toBe(0);
    });

    it("count nothing if other pods are expected to run as long", () => {
      expect(awake([running(1)])).toBe(0);
      expect(awake([running(1, { duration: seconds(1800) })])).toBe(0);
    });

    it("count the time beyond the last declared end", () => {
      const whole = awake([]);
      expect(awake([running(1, { duration: seconds(600) })])).toBeCloseTo((whole * 1200) / 1800, 6);
    });

    it("expect a pod past its declared duration to run for a default duration", () => {
      const overdue = running(1, { duration: seconds(600), startedAt: instant(NOW - 3_600_000) });
      expect(awake([overdue])).toBe(0);
      expect(awake([overdue], cpuPod(1, 3600))).toBeGreaterThan(0);
    });

    it("ignore DaemonSet and static pods", () => {
      expect(awake([running(1, { background: true })])).toBe(awake([]));
    });
  });

  it("count DaemonSet pods as load", () => {
    const { spare } = joulesOf(cpuPod(1), { hardware: epyc, pods: [running(50, { background: true })] });
    expect(spare).toBeLessThan(joulesOf(cpuPod(1), { hardware: epyc, pods: [] }).spare);
  });

  it("use the CPUs that Kubernetes counts, which are threads", () => {
    const threads = hardwareView(
      { metadata: { name: "n" }, status: { allocatable: { cpu: "384" }, capacity: { cpu: "384" } } },
      { cpu: { rawModel: "AMD EPYC 9654", sockets: 2 } },
    );
    const half = joulesOf(cpuPod(192), { hardware: threads, pods: [] });
    const all = joulesOf(cpuPod(96), { hardware: epyc, pods: [] });
    expect(half.addedWatts).toBeCloseTo(all.addedWatts, 6);
  });

  it("are multiplied with the PUE if that is enabled", () => {
    const twin = twinStateOf({ estimatedPUE: 1.5 });
    const plain = joulesOf(cpuPod(8), { hardware: epyc, pods: [], twin });
    const weighted = joulesOf(cpuPod(8), { hardware: epyc, pods: [], twin }, defaultEnergySettings, {
      facilityMetrics: true,
    });
    expect(weighted.joules).toBeCloseTo(1.5 * plain.joules, 6);
  });

  it.each([Number.NaN, -1, 1e308, Infinity])("stay finite for a request of %d cores", (cores) => {
    expect(Number.isFinite(joulesOf(cpuPod(cores), { hardware: epyc, pods: [running(cores)] }).joules)).toBe(true);
  });

  it("are unknown if neither the catalogue nor the agent knows the node's power", () => {
    const unknown = hardwareView({ metadata: { name: "n" }, status: { allocatable: { cpu: "64" } } }, undefined);
    expect(marginalJoules(cpuPod(1), { hardware: unknown, pods: [] }, context, defaultEnergySettings)).toEqual({
      fallback: "unknown hardware",
    });
    expect(marginalJoules(cpuPod(1), { pods: [] }, context, defaultEnergySettings).fallback).toBe("unknown hardware");
    const unknownBoards = hardware("AMD EPYC 9654", { model: "NVIDIA Something New", count: 8 });
    const found = marginalJoules(cpuPod(1), { hardware: unknownBoards, pods: [] }, context, defaultEnergySettings);
    expect(found.fallback).toBe("unknown hardware");
  });
});

describe("the cap", () => {
  const twinAt = (measuredNodePowerW: number, ageSeconds = 0) =>
    twinStateOf({
      lastUpdated: new Date(NOW - ageSeconds * 1000).toISOString(),
      powerMeasurement: { measuredNodePowerW, nodeCappedPowerW: 600 },
    } as Parameters<typeof twinStateOf>[0]);
  const exceeds = (twin: EnergyCandidate["twin"]) =>
    joulesOf(cpuPod(48), { hardware: epyc, pods: [], twin }).exceedsCap;

  it("is exceeded if the measured power and the pod's watts are above it", () => {
    expect(exceeds(twinAt(100))).toBe(false);
    expect(exceeds(twinAt(580))).toBe(true);
  });

  it("is unknown without a fresh measurement", () => {
    expect(exceeds(undefined)).toBeUndefined();
    expect(exceeds(twinAt(580, 301))).toBeUndefined();
  });
});

describe("energyScores", () => {
  const cost = (joules: number, exceedsCap = false) => ({ joules, exceedsCap }) as MarginalJoules;
  const unknown = { fallback: "unknown hardware" } as const;

  it("places the joules between the dearest and the cheapest candidate", () => {
    expect(energyScores([cost(100), cost(300), cost(200)], [], 100)).toEqual([100, 1, 50]);
    expect(energyScores([cost(100), cost(300), cost(200)], [], 10)).toEqual([10, 1, 5]);
  });

  it("gives equal joules the full score", () => {
    expect(energyScores([cost(7), cost(7)], [], 100)).toEqual([100, 100]);
  });

  it("gives only the cheapest nodes the full score", () => {
    expect(energyScores([cost(0), cost(0.001), cost(1e9)], [], 100)).toEqual([100, 99, 1]);
  });

  it("ranks a node whose cap would be exceeded below all others", () => {
    expect(energyScores([cost(100), cost(5, true), cost(300)], [], 100)).toEqual([100, 0, 1]);
    expect(energyScores([cost(5, true), cost(6, true)], [], 100)).toEqual([0, 0]);
  });

  it("gives a node with unknown hardware its headroom score", () => {
    expect(energyScores([cost(100), unknown, cost(300)], [1, 64, 2], 100)).toEqual([100, 64, 1]);
    expect(energyScores([unknown], [41], 100)).toEqual([41]);
  });
});
