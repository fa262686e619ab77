import { describe, expect, it } from "vitest";
import type { NodeTwinStatus } from "../api/index.ts";
import type { PodDemand } from "../demand/index.ts";
import { type HardwareView, hardwareView } from "../inventory/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { defaultScoringSettings } from "./formula.ts";
import { ScoringKernel } from "./kernel.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));
const nothing: PodDemand = { cpuCores: 0, gpus: new Map() };
const asking = (cpuCores: number, gpus: Record<string, number> = {}): PodDemand => ({
  cpuCores,
  gpus: new Map(Object.entries(gpus)),
});

interface Sketch {
  readonly class?: string;
  readonly cap?: number;
  readonly drawn?: number;
  readonly trend?: number;
  readonly stress?: number;
  readonly predicted?: number;
  readonly pue?: number;
  readonly age?: number;
}

const twin = (sketch: Sketch = {}) =>
  ({
    schedulableClass: sketch.class ?? "performance",
    lastUpdated: new Date(now - (sketch.age ?? 0)).toISOString(),
    predictedPowerHeadroomScore: sketch.predicted,
    predictedCoolingStressScore: sketch.stress ?? 0,
    estimatedPUE: sketch.pue,
    powerMeasurement: {
      nodeCappedPowerW: sketch.cap ?? 1000,
      measuredNodePowerW: sketch.drawn ?? 0,
      powerTrendWPerMin: sketch.trend,
    },
  }) as unknown as NodeTwinStatus;

/** 100 cores with 1000 W in total and 4 boards with 1000 W in total. */
const view = {
  cpu: { totalCores: 100, maxWatts: 1000 },
  gpu: { count: 4, maxWatts: 250, model: "A100" },
  family: "f",
} as HardwareView;

function kernelWith(twins: Record<string, Sketch>, settings = defaultScoringSettings): ScoringKernel {
  const kernel = new ScoringKernel(settings);
  for (const [name, sketch] of Object.entries(twins)) {
    kernel.upsertTwin(name, twin(sketch));
    kernel.upsertHardware(name, view);
  }
  kernel.beginBatch(now);
  return kernel;
}

const scoreOf = (
  kernel: ScoringKernel,
  name: string,
  demand = nothing,
  workloadClass: "performance" | "standard" = "performance",
) => {
  const scores = new Int16Array(1);
  kernel.scoreMany(Int32Array.of(kernel.slotOf(name)), demand, workloadClass, scores);
  return scores[0];
};

describe("scores", () => {
  it("SCH-35 scores the worked example 95", () => {
    expect(scoreOf(kernelWith({ a: { class: "eco" } }), "a", nothing, "standard")).toBe(95);
  });

  it("SCH-39 scores 50 for an unknown node, for a node without a twin and before the first batch", () => {
    const kernel = new ScoringKernel(defaultScoringSettings);
    kernel.upsertHardware("bare", view);
    kernel.upsertTwin("early", twin());
    expect([scoreOf(kernel, "stranger"), scoreOf(kernel, "bare"), scoreOf(kernel, "early")]).toEqual([50, 50, 50]);
    kernel.beginBatch(now);
    expect([scoreOf(kernel, "stranger"), scoreOf(kernel, "bare"), scoreOf(kernel, "early")]).toEqual([50, 50, 85]);
  });

  it("SCH-37 treats a twin as stale once enough time has passed, without an event", () => {
    const kernel = kernelWith({ a: {} });
    expect(scoreOf(kernel, "a")).toBe(85);
    kernel.beginBatch(instant(now + 300_000));
    expect(scoreOf(kernel, "a")).toBe(85);
    kernel.beginBatch(instant(now + 300_001));
    expect(scoreOf(kernel, "a")).toBe(50);
  });

  it("X-69 scores 50 for an unknown class", () => {
    expect(scoreOf(kernelWith({ a: { class: "unknown" } }), "a")).toBe(50);
  });

  it("X-82 uses the prediction if the cap is 0, and scores 50 without a prediction", () => {
    const kernel = kernelWith({ a: { cap: 0, predicted: 10 }, b: { cap: 0 } });
    expect([scoreOf(kernel, "a", asking(100)), scoreOf(kernel, "b")]).toEqual([22, 50]);
  });

  it("SCH-17 SCH-18 SCH-21 SCH-22 subtracts the pod's watts from the headroom", () => {
    const kernel = kernelWith({ a: {} });
    expect(scoreOf(kernel, "a", asking(50))).toBe(Math.round(65 * 0.7 + 15));
    expect(scoreOf(kernel, "a", asking(0, { "nvidia.com/gpu": 2 }))).toBe(Math.round(57.5 * 0.7 + 15));
    expect(scoreOf(kernel, "a", asking(0, { "amd.com/gpu": 2 }), "standard")).toBe(Math.round(67.5 * 0.7 + 15));
    expect(scoreOf(kernel, "a", asking(50, { "nvidia.com/gpu": 2 }))).toBe(Math.round(22.5 * 0.7 + 15));
  });

  it("counts GPU slices by the partitioning of the node", () => {
    const kernel = kernelWith({ a: {}, b: {} });
    kernel.upsertLabels("b", {
      "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
      "amd.com/gpu.replicas": "4",
    });
    const points = (demand: PodDemand) => [scoreOf(kernel, "a", demand), scoreOf(kernel, "b", demand)];
    expect(points(asking(0, { "nvidia.com/gpu": 2 }))).toEqual([55, 81]);
    expect(points(asking(0, { "amd.com/gpu": 2 }))).toEqual([55, 78]);
    expect(points(asking(0, { "nvidia.com/mig-3g.20gb": 2 }))).toEqual([72, 72]);
    expect(points(asking(0, { "nvidia.com/gpu": 2, "nvidia.com/mig-3g.20gb": 1 }))).toEqual([49, 74]);
    expect(points(asking(0, { "nvidia.com/gpu": 0.5 }))).toEqual([78, 84]);
    expect(points(nothing)).toEqual([85, 85]);
  });

  it("SCH-40 SCH-41 SCH-42 applies the PUE only if facility metrics are enabled", () => {
    const twins = { a: { pue: 1.6 }, b: { pue: 0.5 }, c: {} };
    const on = kernelWith(twins, { ...defaultScoringSettings, facilityMetrics: true });
    expect(["a", "b", "c"].map((name) => scoreOf(on, name, asking(50)))).toEqual([46, 61, 61]);
    const off = kernelWith(twins);
    expect(["a", "b", "c"].map((name) => scoreOf(off, name, asking(50)))).toEqual([61, 61, 61]);
  });

  it("X-21 rescales to SCORE_MAX", () => {
    const kernel = kernelWith({ a: {} }, { ...defaultScoringSettings, scoreMax: 10 });
    expect([scoreOf(kernel, "a"), scoreOf(kernel, "?")]).toEqual([9, 5]);
  });

  it("scores many slots at once in their order, including unknown ones", () => {
    const kernel = kernelWith({ a: {}, b: { drawn: 500 }, c: { age: 300_001 } });
    const slots = Int32Array.from(["b", "?", "a", "c", "b"], (name) => kernel.slotOf(name));
    const out = new Int16Array(6).fill(-1);
    kernel.scoreMany(slots, nothing, "performance", out);
    expect([...out]).toEqual([50, 50, 85, 50, 50, -1]);
    kernel.scoreMany(slots, asking(0, { "nvidia.com/gpu.shared": 4 }), "performance", out);
    expect([...out]).toEqual([0, 50, 26, 50, 0, -1]);
  });
});

describe("a batch", () => {
  it("SCH-26 SCH-27 X-74 sums the trend of all fresh nodes, candidates or not", () => {
    const kernel = kernelWith({ a: { trend: 30 }, b: { class: "eco", trend: 471 }, c: { trend: 9000, age: 300_001 } });
    expect(kernel.batch).toEqual({ now, clusterTrend: 501, perfPressure: 0 });
    expect(scoreOf(kernel, "a")).toBe(70);
    kernel.upsertTwin("b", twin({ class: "eco", trend: 470 }));
    expect(kernel.beginBatch(now)).toEqual({ now, clusterTrend: 500, perfPressure: 0 });
    expect(scoreOf(kernel, "a")).toBe(80);
  });

  it("SCH-32 SCH-33 X-73 lowers the score of performance nodes by their pressure", () => {
    const kernel = kernelWith({
      a: { drawn: 1000 },
      b: { cap: 0, predicted: 40 },
      c: { cap: 0 },
      d: { class: "eco", drawn: 1000 },
      e: { class: "unknown", drawn: 1000 },
      f: { drawn: 0, age: 300_001 },
    });
    expect(kernel.batch.perfPressure).toBe(80);
    expect(scoreOf(kernel, "b", nothing, "standard")).toBe(19);
    expect(scoreOf(kernel, "b", nothing, "performance")).toBe(43);
  });

  it("X-33 X-73 keeps the pressure within [0, 100], 0 without performance nodes", () => {
    expect(kernelWith({ a: { drawn: 3000 } }).batch.perfPressure).toBe(100);
    expect(kernelWith({ a: { class: "eco", drawn: 1000 } }).batch.perfPressure).toBe(0);
  });

  it("SCH-31 SCH-57 applies bonus and penalty only to standard pods", () => {
    const kernel = kernelWith({ eco: { class: "eco", drawn: 500 }, draining: { class: "draining", drawn: 500 } });
    expect(scoreOf(kernel, "eco", nothing, "standard")).toBe(60);
    expect(scoreOf(kernel, "draining", nothing, "standard")).toBe(30);
    expect(scoreOf(kernel, "eco")).toBe(50);
    expect(scoreOf(kernel, "draining")).toBe(50);
  });

  it("uses the configured staleness threshold", () => {
    const settings = { ...defaultScoringSettings, stalenessThreshold: milliseconds(1000) };
    const kernel = kernelWith({ a: { trend: 1, age: 1000 }, b: { trend: 2, age: 1001 } }, settings);
    expect(kernel.batch.clusterTrend).toBe(1);
    expect([scoreOf(kernel, "a"), scoreOf(kernel, "b")]).toEqual([85, 50]);
  });
});

describe("filter", () => {
  it("SCH-04 SCH-05 SCH-06 SCH-09 returns the reason code", () => {
    const kernel = kernelWith({ p: {}, e: { class: "eco", age: 1e9 }, d: { class: "draining" } });
    const codes = (pod: "performance" | "standard") =>
      ["p", "e", "d", "?"].map((name) => kernel.filter(kernel.slotOf(name), pod));
    expect(codes("performance")).toEqual([0, 1, 2, 0]);
    expect(codes("standard")).toEqual([0, 0, 0, 0]);
  });

  it("SCH-07 X-44 X-69 uses the label only if the twin has no class", () => {
    const kernel = kernelWith({ known: {}, vague: { class: "unknown" } });
    const eco = { "joulie.io/power-profile": "eco" };
    for (const name of ["known", "vague", "twinless"]) kernel.upsertLabels(name, eco);
    const codes = () => ["known", "vague", "twinless"].map((name) => kernel.filter(kernel.slotOf(name), "performance"));
    expect(codes()).toEqual([0, 3, 3]);
    kernel.upsertLabels("vague", {});
    expect(codes()).toEqual([0, 0, 3]);
  });
});

describe("events", () => {
  it("may arrive in any order", () => {
    const kernel = new ScoringKernel(defaultScoringSettings);
    kernel.upsertLabels("a", { "nvidia.com/gpu.replicas": "2" });
    kernel.upsertHardware("a", view);
    kernel.upsertTwin("a", twin());
    kernel.beginBatch(now);
    expect(scoreOf(kernel, "a", asking(0, { "nvidia.com/gpu": 4 }))).toBe(55);
    kernel.upsertLabels("a", undefined);
    expect(scoreOf(kernel, "a", asking(0, { "nvidia.com/gpu": 4 }))).toBe(26);
    kernel.upsertHardware("a", undefined);
    expect(scoreOf(kernel, "a", asking(1))).toBe(78);
  });

  it("free the slot only when the last object of the node is removed", () => {
    const kernel = kernelWith({ a: {} });
    kernel.upsertLabels("a", {});
    kernel.upsertTwin("a", undefined);
    expect(kernel.slotOf("a")).toBe(0);
    expect(scoreOf(kernel, "a")).toBe(50);
    kernel.upsertHardware("a", undefined);
    expect(kernel.slotOf("a")).toBe(0);
    kernel.upsertLabels("a", undefined);
    expect(kernel.slotOf("a")).toBe(-1);
    expect(kernel.end).toBe(1);
  });

  it("that delete an unknown node allocate no slot", () => {
    const kernel = kernelWith({ a: {} });
    kernel.remove("a");
    kernel.remove("a");
    kernel.upsertTwin("a", undefined);
    kernel.upsertHardware("b", undefined);
    kernel.upsertLabels("c", undefined);
    expect([kernel.end, kernel.slotOf("a")]).toEqual([1, -1]);
  });

  it("reset a freed slot before the next node uses it", () => {
    const kernel = kernelWith({ a: { drawn: 1000, trend: 600 }, b: {} });
    kernel.upsertLabels("a", { "joulie.io/power-profile": "eco" });
    kernel.remove("a");
    expect(kernel.beginBatch(now)).toEqual({ now, clusterTrend: 0, perfPressure: 0 });
    kernel.upsertHardware("c", hardwareView({ metadata: { name: "c" } }, undefined));
    expect(kernel.slotOf("c")).toBe(0);
    expect(scoreOf(kernel, "c")).toBe(50);
    expect(kernel.filter(0, "performance")).toBe(0);
    kernel.upsertTwin("d", twin());
    kernel.beginBatch(now);
    expect(kernel.slotOf("d")).toBe(2);
    expect(scoreOf(kernel, "d", asking(1))).toBe(78);
  });

  it("compute the GPU slices of a node once per change, and not for unknown nodes", () => {
    const kernel = kernelWith({ a: {}, b: {} });
    let asked = 0;
    class Counted extends Map<string, number> {
      override [Symbol.iterator]() {
        asked++;
        return super[Symbol.iterator]();
      }
    }
    const demand = { ...nothing, gpus: new Counted([["nvidia.com/mig-1g.5gb", 7]]) };
    const slots = Int32Array.of(0, -1, 0, 1, -1, 1, 0);
    const scores = new Int16Array(slots.length);
    asked = 0;
    kernel.scoreMany(slots, demand, "performance", scores);
    expect(asked).toBe(2);
    const whole = scoreOf(kernel, "a", asking(0, { "nvidia.com/gpu": 1 }));
    expect([...scores]).toEqual([whole, 50, whole, whole, 50, whole, whole]);
    // Recomputed for the next pod.
    kernel.scoreMany(slots, asking(0, { "nvidia.com/mig-1g.5gb": 28 }), "performance", scores);
    expect(scores[0]).toBe(scoreOf(kernel, "a", asking(0, { "nvidia.com/gpu": 4 })));
  });

  it("grow the table without losing a node", () => {
    const names = Array.from({ length: 300 }, (_, index) => `node-${index}`);
    const kernel = kernelWith(Object.fromEntries(names.map((name, index) => [name, { drawn: index, trend: 1 }])));
    expect(kernel.end).toBe(300);
    expect(kernel.batch.clusterTrend).toBe(300);
    const gpus = asking(10, { "nvidia.com/gpu": 1 });
    for (const [index, name] of names.entries()) {
      const headroom = 100 - (index + 70 + 212.5) / 10;
      expect(scoreOf(kernel, name, gpus)).toBe(Math.round(0.7 * headroom + 15 - 1 / 6));
    }
  });

  it("SCH-11 read the status once, so that requests do not read it again", () => {
    const status = { ...twin({ drawn: 500 }) } as { powerMeasurement?: unknown };
    const kernel = new ScoringKernel(defaultScoringSettings);
    kernel.upsertTwin("a", status as NodeTwinStatus);
    status.powerMeasurement = undefined;
    kernel.beginBatch(now);
    expect(scoreOf(kernel, "a")).toBe(50);
    expect(scoreOf(kernel, "a", nothing, "standard")).toBe(35);
  });
});
