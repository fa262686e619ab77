import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeTwinStatus } from "../api/index.ts";
import { type HardwareView, hardwareView } from "../inventory/index.ts";
import { instant, percent, wattsPerMinute } from "../units/index.ts";
import type { Batch } from "./batch.ts";
import { defaultScoringSettings } from "./formula.ts";
import { type CandidateNode, type ScoredPod, scoreNode } from "./oracle.ts";
import { twinStateOf } from "./twin-state.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));
const calm: Batch = { now, clusterTrend: wattsPerMinute(0), perfPressure: percent(0) };

interface Sketch {
  readonly class?: string;
  readonly cap: number;
  readonly drawn: number;
  readonly stress?: number;
  readonly predicted?: number;
  readonly trend?: number;
  readonly pue?: number;
}

function node({ cap, drawn, trend, ...sketch }: Sketch, hardware: HardwareView): CandidateNode {
  const status = {
    schedulableClass: sketch.class ?? "performance",
    lastUpdated: "2026-03-01T12:00:00Z",
    predictedPowerHeadroomScore: sketch.predicted,
    predictedCoolingStressScore: sketch.stress,
    estimatedPUE: sketch.pue,
    powerMeasurement: { nodeCappedPowerW: cap, measuredNodePowerW: drawn, powerTrendWPerMin: trend },
  };
  return { twin: twinStateOf(status as NodeTwinStatus), hardware };
}

const hardware = (totalCores: number, cpuWatts: number, count: number, boardWatts: number) =>
  ({ cpu: { totalCores, maxWatts: cpuWatts }, gpu: { count, maxWatts: boardWatts } }) as HardwareView;

function scored(pod: ScoredPod, state: CandidateNode) {
  const breakdown = scoreNode(pod, state, calm, defaultScoringSettings);
  if (breakdown.neutral !== undefined) throw new Error(`not scored: ${breakdown.neutral}`);
  return breakdown;
}

describe("for any node and pod", () => {
  const power = fc.oneof(fc.double({ min: 0, max: 5000, noNaN: true }), fc.constantFrom(0, 1e-300, 1e308));
  const anyNode = fc
    .record({
      class: fc.constantFrom("performance", "eco", "draining"),
      cap: power,
      drawn: power,
      stress: fc.double({ min: 0, max: 100, noNaN: true }),
      predicted: fc.double({ min: 0, max: 100, noNaN: true }),
      trend: fc.double({ noNaN: true, noDefaultInfinity: true }),
      pue: fc.double({ min: 1, max: 3, noNaN: true }),
      cores: fc.nat(256),
      cpuWatts: power,
      boards: fc.nat(8),
      boardWatts: power,
    })
    .map(({ cores, cpuWatts, boards, boardWatts, ...sketch }) =>
      node(sketch, hardware(cores, cpuWatts, boards, boardWatts)),
    );
  const anyBatch = fc
    .tuple(fc.double({ noNaN: true }), fc.double({ min: 0, max: 100, noNaN: true }))
    .map(([trend, pressure]): Batch => ({ now, clusterTrend: wattsPerMinute(trend), perfPressure: percent(pressure) }));
  const anyClass = fc.constantFrom("performance" as const, "standard" as const);
  const demand = (cpuCores: number, gpus: number): ScoredPod["demand"] => ({
    cpuCores,
    gpus: new Map(gpus > 0 ? [["nvidia.com/gpu", gpus]] : []),
  });

  it("SCH-36 X-21 the score is a whole number from 0 to 100", () => {
    fc.assert(
      fc.property(
        anyNode,
        anyBatch,
        anyClass,
        fc.double({ min: 0 }),
        fc.nat(16),
        fc.boolean(),
        (state, batch, workloadClass, cores, gpus, facilityMetrics) => {
          const { score } = scoreNode({ demand: demand(cores, gpus), workloadClass }, state, batch, {
            ...defaultScoringSettings,
            facilityMetrics,
          });
          expect(Number.isInteger(score) && score >= 0 && score <= 100).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("SCH-43 a heavier pod never outscores a lighter one", () => {
    const amount = fc.nat(300);
    fc.assert(
      fc.property(
        anyNode,
        anyBatch,
        anyClass,
        amount,
        fc.nat(8),
        amount,
        fc.nat(8),
        (state, batch, workloadClass, cores, gpus, moreCores, moreGpus) => {
          const light = scoreNode({ demand: demand(cores, gpus), workloadClass }, state, batch, defaultScoringSettings);
          const heavy = scoreNode(
            { demand: demand(cores + moreCores, gpus + moreGpus), workloadClass },
            state,
            batch,
            defaultScoringSettings,
          );
          expect(heavy.score).toBeLessThanOrEqual(light.score);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("SCH-44 near its cap a GPU node loses more to a GPU pod than to a CPU pod", () => {
    const view = hardwareView(
      {
        metadata: { name: "n", labels: { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" } },
        status: { allocatable: { cpu: "128", "nvidia.com/gpu": "8" } },
      },
      undefined,
    );
    fc.assert(
      fc.property(
        fc.double({ min: 0.8, max: 1, noNaN: true }),
        fc.integer({ min: 2000, max: 8000 }),
        anyClass,
        fc.integer({ min: 1, max: 16 }),
        (fill, cap, workloadClass, cores) => {
          const state = node({ cap, drawn: cap * fill, stress: 0 }, view);
          const loss = (cpuCores: number, gpus: number) =>
            scored({ demand: demand(0, 0), workloadClass }, state).raw -
            scored({ demand: demand(cpuCores, gpus), workloadClass }, state).raw;
          expect(loss(0, 1)).toBeGreaterThan(loss(cores, 0));
        },
      ),
    );
  });

  const tenCores: ScoredPod = { demand: demand(10, 0), workloadClass: "standard" };

  it("SCH-45 a lower cap at the same draw leaves a lower headroomScore", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 101, max: 5000 }),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 5000 }),
        (cap, less, drawn) => {
          const headroom = (watts: number) =>
            scored(tenCores, node({ cap: watts, drawn }, hardware(70, 500, 0, 0))).headroomScore;
          expect(headroom(cap - less)).toBeLessThan(headroom(cap));
        },
      ),
    );
  });
});
