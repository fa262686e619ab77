import { describe, expect, it } from "vitest";
import { labels as labelNames, type NodeTwinStatus } from "../api/index.ts";
import type { PodDemand, WorkloadClass } from "../demand/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { batchOf } from "./batch.ts";
import { filterNode, rejections } from "./filter.ts";
import type { ScoringSettings } from "./formula.ts";
import { ScoringKernel } from "./kernel.ts";
import { type CandidateNode, scoreNode } from "./oracle.ts";
import { twinStateOf } from "./twin-state.ts";

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
const edges = [0, -0, 1, 50, 100, 600, -1, 1e-300, 1e308, Number.MAX_VALUE, Number.NaN, undefined];

/** Mostly plausible and often round, so that sums hit half points; sometimes an edge case or missing. */
function figure({ next, below, pick, often }: Chance, most: number): number | undefined {
  if (often(0.08)) return pick(edges);
  return often(0.5) ? below(most + 1) : next() * most;
}

const ages = [0, 1, 299_999, 300_000, 300_001, 1e9, -60_000, -62_000];
const moments = ages.map((age) => new Date(NOW - age).toISOString());

function randomStatus(c: Chance): NodeTwinStatus {
  const status = {
    schedulableClass: c.pick(["performance", "performance", "eco", "eco", "draining", "unknown", "new", undefined]),
    lastUpdated: c.often(0.9) ? moments[c.below(c.often(0.8) ? 4 : ages.length)] : c.pick(["", "never", undefined]),
    predictedPowerHeadroomScore: figure(c, 100),
    predictedCoolingStressScore: figure(c, 100),
    estimatedPUE: c.pick([undefined, 0.5, 1, 1.2, 1.6, 2, 1e308, Number.NaN]),
    powerMeasurement: c.often(0.15)
      ? undefined
      : {
          measuredNodePowerW: figure(c, 1200),
          nodeCappedPowerW: figure(c, 1600),
          powerTrendWPerMin: c.often(0.1) ? c.pick(edges) : c.below(601) - 300,
        },
  };
  return status as unknown as NodeTwinStatus;
}

function randomHardware(c: Chance): HardwareView {
  const gpu = c.often(0.5)
    ? { count: c.pick([0, 1, 2, 4, 8, 8]), maxWatts: figure(c, 800), model: c.pick(["A100", "A30"]) }
    : undefined;
  const cpu = { totalCores: c.often(0.8) ? 8 * c.below(33) : figure(c, 256), maxWatts: figure(c, 1000) };
  return { cpu, gpu } as unknown as HardwareView;
}

const randomLabels = (c: Chance): Record<string, string> => ({
  ...(c.often(0.5) ? { [labelNames.powerProfile]: c.pick(["eco", "performance"]) } : {}),
  ...(c.often(0.3) ? { "site.example/draining": c.pick(["true", "false"]) } : {}),
  ...(c.often(0.2) ? { "nvidia.com/gpu.product": c.pick(["NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA-A30"]) } : {}),
  ...(c.often(0.2) ? { "nvidia.com/gpu.replicas": c.pick(["4", "x"]), "amd.com/gpu.replicas": "3" } : {}),
});

function randomDemand(c: Chance): PodDemand {
  const gpus = new Map<string, number>();
  if (c.often(0.5)) gpus.set(c.pick(["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"]), c.pick([1, 2, 8, 16]));
  if (c.often(0.15))
    gpus.set(c.pick(["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared", "gpu.intel.com/xe"]), c.pick([1, 3]));
  return { cpuCores: c.often(0.9) ? c.below(64) / 2 : c.pick([0, 1e308, Number.NaN, -1, 512]), gpus };
}

const randomSettings = (c: Chance): ScoringSettings => ({
  stalenessThreshold: milliseconds(300_000),
  coefficients: { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 },
  facilityMetrics: c.often(0.5),
  drainingPenalty: c.pick([20, 20, 0, 7.5]),
  scoreMax: c.often(0.7) ? 100 : 10,
  nodeLabels: { powerProfile: labelNames.powerProfile, draining: "site.example/draining" },
});

/** One random cluster, stored both in a kernel and as plain states by name. */
class Twice {
  readonly kernel: ScoringKernel;
  readonly states = new Map<string, CandidateNode>();

  constructor(settings: ScoringSettings) {
    this.kernel = new ScoringKernel(settings);
  }

  event(c: Chance, names: number): void {
    const name = `node-${c.below(names)}`;
    const before = this.states.get(name) ?? {};
    const kind = c.next();
    if (kind < 0.1) {
      this.kernel.remove(name);
      this.states.delete(name);
    } else if (kind < 0.5) {
      const status = c.often(0.95) ? randomStatus(c) : undefined;
      this.kernel.upsertTwin(name, status);
      this.states.set(name, { ...before, twin: status && twinStateOf(status) });
    } else if (kind < 0.8) {
      const hardware = c.often(0.95) ? randomHardware(c) : undefined;
      this.kernel.upsertHardware(name, hardware);
      this.states.set(name, { ...before, hardware });
    } else {
      const labels = c.often(0.95) ? randomLabels(c) : undefined;
      this.kernel.upsertLabels(name, labels);
      this.states.set(name, { ...before, labels });
    }
  }

  /** Floating-point sums depend on the order, and the kernel sums in slot order. */
  inSlotOrder(): CandidateNode[] {
    const placed = [...this.states].filter(([name]) => this.kernel.slotOf(name) >= 0);
    return placed.toSorted(([a], [b]) => this.kernel.slotOf(a) - this.kernel.slotOf(b)).map(([, state]) => state);
  }
}

/** Compares every node for one pod; returns the number of nodes, and throws on the first difference. */
function compare({ kernel, states }: Twice, demand: PodDemand, pod: WorkloadClass, settings: ScoringSettings): number {
  const slots = Int32Array.from(states.keys(), (name) => kernel.slotOf(name));
  const scores = new Int16Array(slots.length).fill(-1);
  kernel.scoreMany(slots, demand, pod, scores);
  let at = 0;
  for (const [name, state] of states) {
    const expected = scoreNode({ demand, workloadClass: pod }, state, kernel.batch, settings);
    const score = scores[at];
    if (score !== expected.score) {
      throw new Error(
        `${name} scores ${score}: ${JSON.stringify({ expected, state, pod, batch: kernel.batch, settings, cpu: demand.cpuCores, gpus: [...demand.gpus] }, null, 1)}`,
      );
    }
    const own = state.labels ?? {};
    const reason = filterNode(pod, state.twin, own[labelNames.powerProfile], own["site.example/draining"]);
    const rejection = rejections[kernel.filter(slots[at] as number, pod)];
    if (rejection !== reason) throw new Error(`${name} is filtered with ${rejection}, not ${reason}`);
    at++;
  }
  return at;
}

function compareClusters(seed: number, clusters: number): number {
  const c = chance(seed);
  let compared = 0;
  for (let cluster = 0; cluster < clusters; cluster++) {
    const settings = randomSettings(c);
    const twice = new Twice(settings);
    const names = 1 + c.below(200);
    for (let event = 0; event < 300; event++) twice.event(c, names);
    for (let batch = 0; batch < 10; batch++) {
      // Nodes are added, changed and removed between batches, so slots are freed and reused.
      for (let event = 0; event < 20; event++) twice.event(c, names);
      const now = instant(NOW + c.pick([0, 0, 1, 1000]));
      const twins = twice.inSlotOrder().map(({ twin }) => twin);
      expect(twice.kernel.beginBatch(now)).toEqual(batchOf(twins, now, settings));
      for (const pod of ["standard", "performance", "standard", "performance"] as const) {
        compared += compare(twice, randomDemand(c), pod, settings);
      }
    }
  }
  return compared;
}

describe("the columnar kernel", () => {
  it("gives the same scores as the oracle on hundreds of thousands of random nodes", () => {
    expect(compareClusters(1, 100)).toBeGreaterThan(250_000);
  });
});
