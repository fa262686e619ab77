import { describe, expect, it } from "vitest";
import type { NodeHardwareStatus, NodeTwinStatus } from "../../api/index.ts";
import { type HardwareView, hardwareView } from "../../inventory/index.ts";
import { instant, milliseconds, seconds } from "../../units/index.ts";
import { defaultScoringSettings, type ScoringSettings } from "../formula.ts";
import { type CandidateNode, scoreNode } from "../oracle.ts";
import { twinStateOf } from "../twin-state.ts";
import { energyNodeOf, nodeLoadOf } from "./energy-node.ts";
import type { PlacedPod, RunningPod } from "./energy-pod.ts";
import { OVER_CAP } from "./formula.ts";
import { type GpuMix, gpuMixOf } from "./gpu-mix.ts";
import { EnergyKernel } from "./kernel.ts";
import { energyScores, marginalJoules } from "./oracle.ts";
import { defaultEnergySettings, type EnergySettings } from "./settings.ts";

/** mulberry32: fast-check has too much overhead for this many cases. */
function chance(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  return { next, below, pick, often: (share: number) => next() < share };
}
type Chance = ReturnType<typeof chance>;

const NOW = Date.UTC(2026, 2, 1, 12);

const board = (model: string, count: number) => ({ present: true, rawModel: model, vendor: "nvidia" as const, count });
const discovered: readonly (NodeHardwareStatus | undefined)[] = [
  { cpu: { rawModel: "AMD EPYC 9654", sockets: 2 } },
  { cpu: { rawModel: "Intel(R) Xeon(R) Platinum 8480+", sockets: 2 } },
  { cpu: { rawModel: "AMD EPYC 7763", sockets: 2 }, gpu: board("NVIDIA H100 80GB HBM3", 8) },
  { cpu: { rawModel: "AMD EPYC 7763", sockets: 1 }, gpu: board("NVIDIA A100-SXM4-80GB", 4) },
  { cpu: { rawModel: "AMD EPYC 9454", sockets: 2 }, gpu: board("NVIDIA L40S", 4) },
  { cpu: { rawModel: "AMD EPYC 9454", sockets: 2 }, gpu: board("NVIDIA Something New", 4) },
  { cpu: { rawModel: "Something Else", sockets: 2 } },
  undefined,
];
const views: readonly HardwareView[] = discovered.flatMap((status) => [
  hardwareView({ metadata: { name: "n" }, status: { allocatable: { cpu: "192" } } }, status),
  hardwareView({ metadata: { name: "n" } }, status),
]);

function randomStatus(c: Chance): NodeTwinStatus {
  const age = c.pick([0, 1, 299_999, 300_001, -62_000]);
  return {
    schedulableClass: c.pick(["performance", "eco", "draining", "unknown"]),
    lastUpdated: c.often(0.9) ? new Date(NOW - age).toISOString() : "never",
    predictedPowerHeadroomScore: c.below(101),
    estimatedPUE: c.pick([undefined, 0.5, 1, 1.2, 2, 1e308, Number.NaN]),
    powerMeasurement: c.often(0.3)
      ? undefined
      : {
          measuredNodePowerW: c.below(1200),
          nodeCappedPowerW: c.pick([0, 400, 600, 1000, 5000]),
          powerTrendWPerMin: 0,
        },
  } as unknown as NodeTwinStatus;
}

const randomLabels = (c: Chance): Record<string, string> => ({
  ...(c.often(0.2) ? { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" } : {}),
  ...(c.often(0.2) ? { "nvidia.com/gpu.replicas": c.pick(["4", "x"]) } : {}),
});

function randomPod(c: Chance): RunningPod {
  const gpus = new Map<string, number>();
  if (c.often(0.4)) gpus.set("nvidia.com/gpu", c.pick([1, 1, 2, 4, 8, 16]));
  if (c.often(0.1)) gpus.set(c.pick(["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "amd.com/gpu"]), c.pick([1, 3]));
  return {
    demand: { cpuCores: c.often(0.9) ? c.below(64) / 2 : c.pick([0, 1e308, Number.NaN, -1, 512]), gpus },
    duration: c.often(0.5) ? seconds(c.pick([1, 60, 1800, 86_400])) : undefined,
    startedAt: c.often(0.9) ? instant(NOW - c.pick([0, 60_000, 3_600_000])) : undefined,
    background: c.often(0.2),
  };
}

const randomSettings = (c: Chance): EnergySettings => ({
  ...defaultEnergySettings,
  boardSpeeds: c.often(0.5),
  weights: c.often(0.3)
    ? defaultEnergySettings.weights
    : {
        awake: c.pick([0, 1]),
        fragmentation: c.pick([0, 1, 2]),
        starvation: c.pick([0, 1]),
        guests: c.pick([0, 4]),
        spare: c.pick([0, 0.1, 1]),
        spareBoards: c.pick([0, 0.1, 1]),
      },
});

/** One random cluster, stored both in a kernel and as plain states by name. */
class Twice {
  readonly kernel: EnergyKernel;
  readonly scoring: ScoringSettings;
  readonly settings: EnergySettings;
  readonly nodes = new Map<string, CandidateNode>();
  readonly pods = new Map<string, { readonly node: string; readonly pod: RunningPod }>();

  constructor(scoring: ScoringSettings, settings: EnergySettings) {
    this.scoring = scoring;
    this.settings = settings;
    this.kernel = new EnergyKernel(scoring, settings);
  }

  event(c: Chance, names: number): void {
    const name = `node-${c.below(names)}`;
    const before = this.nodes.get(name) ?? {};
    const kind = c.next();
    if (kind < 0.04) {
      this.kernel.remove(name);
      this.nodes.delete(name);
    } else if (kind < 0.15) {
      const status = randomStatus(c);
      this.kernel.upsertTwin(name, status);
      this.nodes.set(name, { ...before, twin: twinStateOf(status) });
    } else if (kind < 0.3) {
      const hardware = c.often(0.95) ? c.pick(views) : undefined;
      this.kernel.upsertHardware(name, hardware);
      this.nodes.set(name, { ...before, hardware });
    } else if (kind < 0.35) {
      const labels = randomLabels(c);
      this.kernel.upsertLabels(name, labels);
      this.nodes.set(name, { ...before, labels });
    } else {
      this.podEvent(c, name, names);
    }
  }

  podEvent(c: Chance, node: string, names: number): void {
    const key = `pod-${c.below(3 * names)}`;
    if (c.often(0.3)) {
      this.kernel.removePod(key);
      this.pods.delete(key);
      return;
    }
    const pod = randomPod(c);
    // A pod that stays on its node keeps its place in the sums.
    if (this.pods.get(key)?.node !== node) this.pods.delete(key);
    this.kernel.addPod(key, node, pod);
    this.pods.set(key, { node, pod });
  }

  podsOn(name: string): RunningPod[] {
    return [...this.pods.values()].filter(({ node }) => node === name).map(({ pod }) => pod);
  }

  mix(): GpuMix {
    const jobs = [...this.nodes].flatMap(([name, { hardware, labels }]) => {
      const node = energyNodeOf(hardware, labels, this.settings);
      return node === undefined ? [] : nodeLoadOf(node, this.podsOn(name)).gpuJobs;
    });
    return gpuMixOf(jobs);
  }
}

/** Compares every node for one pod; throws on the first difference. */
function compare(twice: Twice, pod: PlacedPod, workloadClass: "standard" | "performance"): number {
  const { kernel, scoring, settings, nodes } = twice;
  const names = [...nodes.keys(), "a node that is not known"];
  const slots = Int32Array.from(names, (name) => kernel.slotOf(name));
  const scores = new Int16Array(names.length).fill(-1);
  const outcome = kernel.scoreEnergy(slots, pod, workloadClass, scores);
  const found = new Float64Array(names.length);
  kernel.joulesMany(slots, pod, found);
  const context = {
    now: kernel.batch.now,
    mix: twice.mix(),
    stalenessThreshold: scoring.stalenessThreshold,
    facilityMetrics: scoring.facilityMetrics,
  };
  expect(kernel.gpuMix).toEqual(context.mix);
  const candidates = names.map((name) => ({ ...nodes.get(name), pods: twice.podsOn(name) }));
  const expected = candidates.map((candidate) => marginalJoules(pod, candidate, context, settings));
  const asked = { demand: pod.demand, workloadClass };
  const headroom = candidates.map((candidate) => scoreNode(asked, candidate, kernel.batch, scoring).score);
  const expectedScores = energyScores(expected, headroom, scoring.scoreMax);
  for (const [at, one] of expected.entries()) {
    const joules = one.fallback !== undefined ? Number.NaN : one.exceedsCap === true ? OVER_CAP : one.joules;
    if (!Object.is(found[at], joules) || scores[at] !== expectedScores[at]) {
      const state = JSON.stringify({ node: names[at], pod: { ...pod, gpus: [...pod.demand.gpus] }, one, settings });
      throw new Error(
        `kernel ${found[at]} J, score ${scores[at]}; oracle ${joules} J, score ${expectedScores[at]}: ${state}`,
      );
    }
  }
  expect(outcome.unknown).toBe(expected.filter(({ fallback }) => fallback !== undefined).length);
  expect(outcome.overCap).toBe(found.filter((joules) => joules === OVER_CAP).length);
  return names.length;
}

function compareClusters(seed: number, clusters: number): number {
  const c = chance(seed);
  let compared = 0;
  for (let cluster = 0; cluster < clusters; cluster++) {
    const scoring: ScoringSettings = {
      ...defaultScoringSettings,
      stalenessThreshold: milliseconds(300_000),
      facilityMetrics: c.often(0.3),
      scoreMax: c.pick([100, 100, 10, 1]),
    };
    const twice = new Twice(scoring, randomSettings(c));
    const names = 1 + c.below(80);
    for (let event = 0; event < 400; event++) twice.event(c, names);
    for (let batch = 0; batch < 6; batch++) {
      for (let event = 0; event < 20; event++) twice.event(c, names);
      twice.kernel.beginBatch(instant(NOW + c.pick([0, 0, 1, 60_000])));
      compared += compare(twice, randomPod(c), c.pick(["standard", "performance"]));
    }
    expect(twice.kernel.podCount).toBe(twice.pods.size);
  }
  return compared;
}

describe("the columnar kernel", () => {
  it("gives the same joules, to the last bit, and the same scores as the oracle on random clusters", () => {
    expect(compareClusters(1, 150)).toBeGreaterThan(20_000);
  });
});

describe("pods of the kernel", () => {
  const [epyc] = views as [HardwareView];
  const pod = (cpuCores: number): RunningPod => ({
    demand: { cpuCores, gpus: new Map() },
    duration: undefined,
    startedAt: undefined,
    background: false,
  });

  it("count once their node is known, and until it is removed", () => {
    const kernel = new EnergyKernel(defaultScoringSettings, defaultEnergySettings);
    kernel.addPod("p", "late", pod(10));
    kernel.upsertHardware("late", epyc);
    expect(kernel.loadAt(kernel.slotOf("late"))?.usedCpus).toBe(10);
    kernel.remove("late");
    kernel.upsertHardware("other", epyc);
    expect(kernel.loadAt(kernel.slotOf("other"))?.usedCpus).toBe(0);
    kernel.upsertHardware("late", epyc);
    expect(kernel.loadAt(kernel.slotOf("late"))?.usedCpus).toBe(10);
  });

  it("move with their key", () => {
    const kernel = new EnergyKernel(defaultScoringSettings, defaultEnergySettings);
    for (const name of ["a", "b"]) kernel.upsertHardware(name, epyc);
    kernel.addPod("p", "a", pod(10));
    kernel.addPod("p", "b", pod(12));
    expect(kernel.loadAt(kernel.slotOf("a"))?.usedCpus).toBe(0);
    expect(kernel.loadAt(kernel.slotOf("b"))?.usedCpus).toBe(12);
    expect(kernel.nodeOfPod("p")).toBe("b");
    kernel.removePod("p");
    kernel.removePod("p");
    expect(kernel.podCount).toBe(0);
  });
});
