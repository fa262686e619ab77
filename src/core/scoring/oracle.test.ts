import { describe, expect, it } from "vitest";
import type { NodeTwinStatus, Pod } from "../api/index.ts";
import { demandOf, workloadClassOf } from "../demand/index.ts";
import type { HardwareView } from "../inventory/index.ts";
import { instant, milliseconds, percent, wattsPerMinute } from "../units/index.ts";
import type { Batch } from "./batch.ts";
import { filterNode } from "./filter.ts";
import { defaultScoringSettings, type ScoringSettings } from "./formula.ts";
import { type CandidateNode, marginalOn, type ScoredBreakdown, type ScoredPod, scoreNode } from "./oracle.ts";
import { twinStateOf } from "./twin-state.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));
const calm: Batch = { now, clusterTrend: wattsPerMinute(0), perfPressure: percent(0) };

/** A pod as kube-scheduler sends it. */
function pod(cpu: string, gpus: Record<string, string> = {}, workloadClass?: string): ScoredPod {
  const object: Pod = {
    metadata: {
      name: "p",
      ...(workloadClass === undefined ? {} : { annotations: { "joulie.io/workload-class": workloadClass } }),
    },
    spec: { containers: [{ resources: { requests: { cpu }, limits: gpus } }] },
  };
  return { demand: demandOf(object), workloadClass: workloadClassOf(object).workloadClass };
}

const hardware = (cores: number, cpuWatts: number, boards = 0, boardWatts = 0) =>
  ({
    cpu: { totalCores: cores, maxWatts: cpuWatts },
    gpu: { count: boards, maxWatts: boardWatts },
    family: "f",
  }) as HardwareView;

interface Sketch {
  readonly class?: string;
  readonly cap?: number;
  readonly drawn?: number;
  readonly stress?: number;
  readonly trend?: number;
  readonly predicted?: number;
  readonly pue?: number;
  readonly lastUpdated?: string;
}

function node(sketch: Sketch, view?: HardwareView): CandidateNode {
  const { cap, drawn, stress, trend, predicted, pue, lastUpdated = "2026-03-01T12:00:00Z" } = sketch;
  const status = {
    schedulableClass: sketch.class ?? "performance",
    lastUpdated,
    predictedPowerHeadroomScore: predicted,
    predictedCoolingStressScore: stress,
    estimatedPUE: pue,
    powerMeasurement: { nodeCappedPowerW: cap, measuredNodePowerW: drawn, powerTrendWPerMin: trend },
  };
  return { twin: twinStateOf(status as NodeTwinStatus), hardware: view };
}

const nothing = pod("0");
const near = (value: number) => expect.closeTo(value, 9) as number;
const watts = (cpu: number, gpu: number) => ({ cpu: near(cpu), gpu: near(gpu), total: near(cpu + gpu) });
const settingsWith = (changes: Partial<ScoringSettings>): ScoringSettings => ({
  ...defaultScoringSettings,
  ...changes,
});

function scored(p: ScoredPod, state: CandidateNode, batch = calm, settings = defaultScoringSettings): ScoredBreakdown {
  const breakdown = scoreNode(p, state, batch, settings);
  if (breakdown.neutral !== undefined) throw new Error(`not scored: ${breakdown.neutral}`);
  return breakdown;
}

/** 50 W on a node of `fifty`: 10 of 70 cores at 0.7 × 500 W. */
const fifty = hardware(70, 500);
const tenCores = pod("10");

describe("worked examples of the scoring formula", () => {
  it("SCH-34 cap 600 W, 300 W drawn, pod 50 W, stress 20, flat: 41.1667", () => {
    const breakdown = scored(
      { ...tenCores, workloadClass: "performance" },
      node({ cap: 600, drawn: 300, stress: 20 }, fifty),
    );
    expect(breakdown.marginal.total).toBeCloseTo(50, 10);
    expect(breakdown.headroomScore).toBeCloseTo(41.6667, 4);
    expect(breakdown.coolingTerm).toBe(12);
    expect(breakdown.trendBonus).toBe(0);
    expect(breakdown.profileBonus).toBe(0);
    expect(breakdown.pressureRelief).toBe(0);
    expect(breakdown.drainingPenalty).toBe(0);
    expect(breakdown.raw).toBeCloseTo(41.1667, 4);
    expect(breakdown.clamped).toBe(breakdown.raw);
  });

  it("X-76 publishes that score as 41", () => {
    expect(scored(tenCores, node({ cap: 600, drawn: 300, stress: 20 }, fifty)).score).toBe(41);
  });

  it("SCH-35 an empty, cool eco node scores 95 for a standard pod, exactly", () => {
    const breakdown = scored(nothing, node({ class: "eco", cap: 600, drawn: 0, stress: 0 }));
    expect(breakdown).toMatchObject({
      headroomScore: 100,
      coolingTerm: 15,
      trendBonus: 0,
      profileBonus: 10,
      raw: 95,
      score: 95,
    });
  });

  it("X-75 an overdrawn budget costs points and does not zero the score: 600, 580 + 100 W, stress 20 is 2.67", () => {
    const breakdown = scored(
      { ...pod("20"), workloadClass: "performance" },
      node({ cap: 600, drawn: 580, stress: 20 }, fifty),
    );
    expect(breakdown.headroomScore).toBeCloseTo(-13.3333, 4);
    expect(breakdown.raw).toBeCloseTo(2.6667, 4);
    expect(breakdown.score).toBe(3);
  });
});

describe("marginal watts of a pod on a node", () => {
  const big = hardware(128, 700, 8, 400);

  it("SCH-15 SCH-17 uses the CPU share: 0.7 × 16/128 × 700 W = 61.25 W", () => {
    expect(marginalOn(pod("16"), { hardware: big }, defaultScoringSettings)).toEqual(watts(61.25, 0));
  });

  it.each(["nvidia.com/gpu", "amd.com/gpu"])(
    "SCH-16 SCH-18 SCH-19 uses the share of 8 × 400 W for one %s: 260 W",
    (resource) => {
      const { cpu, gpu, total } = marginalOn(pod("0", { [resource]: "1" }), { hardware: big }, defaultScoringSettings);
      expect([cpu, gpu, total]).toEqual([0, 260, 260]);
    },
  );

  it("SCH-03 SCH-22 counts the GPU of a performance pod with its own coefficient: 340 W", () => {
    expect(
      marginalOn(pod("0", { "nvidia.com/gpu": "1" }, "performance"), { hardware: big }, defaultScoringSettings).gpu,
    ).toBeCloseTo(340, 10);
  });

  it("SCH-20 SCH-21 SCH-22 uses the configured coefficients", () => {
    const settings = settingsWith({ coefficients: { cpu: 0.5, gpuStandard: 0.25, gpuPerformance: 1 } });
    const asked = { "nvidia.com/gpu": "8" };
    expect(marginalOn(pod("128", asked), { hardware: big }, settings)).toMatchObject({ cpu: 350, gpu: 800 });
    expect(marginalOn(pod("128", asked, "performance"), { hardware: big }, settings)).toMatchObject({
      cpu: 350,
      gpu: 3200,
    });
  });

  it("counts a MIG slice as its part of a board where the node's labels say so", () => {
    const labels = { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" };
    const { gpu } = marginalOn(pod("0", { "nvidia.com/gpu": "7" }), { hardware: big, labels }, defaultScoringSettings);
    expect(gpu).toBeCloseTo(260, 10);
  });

  it("assumes a small CPU where the hardware is unknown", () => {
    expect(marginalOn(pod("1"), {}, defaultScoringSettings).total).toBeCloseTo(105, 10);
  });
});

describe("PUE", () => {
  const settings = settingsWith({ facilityMetrics: true });
  const both = pod("64", { "nvidia.com/gpu": "1" });
  const view = hardware(128, 700, 8, 400);
  const marginal = (pue: number | undefined, used: ScoringSettings) =>
    marginalOn(both, node(pue === undefined ? {} : { pue }, view), used);

  it("SCH-40 multiplies every part of the marginal watts: 1.6 is 60 % more", () => {
    expect(marginal(1.6, settings)).toEqual(watts(245 * 1.6, 260 * 1.6));
    const state = node({ cap: 2000, drawn: 0, stress: 0, pue: 1.6 }, view);
    expect(scored(both, state, calm, settings).headroomScore).toBeCloseTo(59.6, 10);
  });

  it.each([undefined, 1, 0.5, 0])("SCH-41 ignores a PUE of %j", (pue) => {
    expect(marginal(pue, settings)).toEqual(watts(245, 260));
  });

  it("SCH-42 ignores any PUE while facility metrics are off, the default", () => {
    expect(marginal(1.6, defaultScoringSettings)).toEqual(watts(245, 260));
  });
});

describe("the score", () => {
  it("SCH-29 is the sum of its parts", () => {
    const busy: Batch = { now, clusterTrend: wattsPerMinute(0), perfPressure: percent(50) };
    const breakdown = scored(tenCores, node({ cap: 1000, drawn: 450, stress: 40, trend: -30 }, fifty), busy);
    expect(breakdown).toMatchObject({
      coolingTerm: 9,
      trendBonus: 5,
      profileBonus: 0,
      pressureRelief: -15,
      drainingPenalty: 0,
    });
    expect(breakdown.headroomScore).toBeCloseTo(50, 10);
    expect(breakdown.raw).toBeCloseTo(35 + 9 + 5 - 15, 10);
    expect(breakdown.score).toBe(34);
  });

  it("SCH-23 SCH-24 measures the headroom with the pod in place", () => {
    expect(scored(tenCores, node({ cap: 100, drawn: 100 }, fifty)).headroomScore).toBeCloseTo(-50, 10);
  });

  it("SCH-25 X-82 falls back to the predicted headroom, independent of the pod's power", () => {
    expect(scored(tenCores, node({ predicted: 70, stress: 100 }, fifty)).headroomScore).toBe(70);
    expect(scored(tenCores, node({ cap: 0, drawn: 50, predicted: 70, stress: 100 }, fifty)).raw).toBe(49);
    expect(scored(nothing, node({ cap: 200, predicted: 70, stress: 100 }, fifty)).headroomScore).toBe(70);
  });

  it("SCH-27 SCH-28 scales the trend of the node by the cluster trend", () => {
    const burst = { ...calm, clusterTrend: wattsPerMinute(-501) };
    const rising = node({ cap: 100, drawn: 0, trend: 30 });
    expect(scored(nothing, rising).trendBonus).toBe(-5);
    expect(scored(nothing, rising, burst).trendBonus).toBe(-15);
  });

  it("SCH-31 SCH-32 SCH-57 gives each class of node its own adjustment for standard pods", () => {
    const batch = { ...calm, perfPressure: percent(100) };
    const adjusted = (schedulableClass: string, workloadClass?: string) =>
      scored(pod("0", {}, workloadClass), node({ class: schedulableClass, cap: 100, drawn: 50, stress: 0 }), batch).raw;
    expect([adjusted("eco"), adjusted("performance"), adjusted("draining")]).toEqual([60, 20, 30]);
    for (const nodeClass of ["eco", "performance", "draining"]) expect(adjusted(nodeClass, "performance")).toBe(50);
  });

  it("SCH-57 uses DRAINING_SCORE_PENALTY", () => {
    const draining = node({ class: "draining", cap: 100, drawn: 50, stress: 0 });
    expect(scored(nothing, draining, calm, settingsWith({ drainingPenalty: 7 })).score).toBe(43);
  });

  it("SCH-36 is clamped last", () => {
    const hot = scored(nothing, node({ cap: 100, drawn: 300, stress: 100 }));
    expect([hot.raw, hot.clamped, hot.score]).toEqual([-140, 0, 0]);
    const ideal = scored(nothing, node({ class: "eco", cap: 100, drawn: 0, stress: 0, trend: -600 }));
    expect([ideal.raw, ideal.clamped, ideal.score]).toEqual([120, 100, 100]);
  });

  it("X-21 is rescaled to SCORE_MAX, the neutral score too", () => {
    const ten = settingsWith({ scoreMax: 10 });
    expect(scored(nothing, node({ class: "eco", cap: 600, drawn: 0, stress: 0 }), calm, ten).score).toBe(10);
    expect(scored(nothing, node({ cap: 100, drawn: 50, stress: 100 }), calm, ten).score).toBe(4);
    expect(scoreNode(nothing, {}, calm, ten)).toEqual({ neutral: "no twin", score: 5 });
  });
});

describe("the neutral score", () => {
  const good = { cap: 100, drawn: 0, stress: 0 };

  it("SCH-39 is 50 without a twin", () => {
    expect(scoreNode(nothing, {}, calm, defaultScoringSettings)).toEqual({ neutral: "no twin", score: 50 });
  });

  it("SCH-37 is 50 for a twin older than the threshold", () => {
    const score = (lastUpdated: string, stalenessThreshold = 300_000) =>
      scoreNode(
        nothing,
        node({ ...good, lastUpdated }),
        calm,
        settingsWith({ stalenessThreshold: milliseconds(stalenessThreshold) }),
      );
    expect(score("2026-03-01T11:54:59.999Z")).toEqual({ neutral: "stale", score: 50 });
    expect(score("2026-03-01T11:55:00Z").score).toBe(85);
    expect(score("2026-03-01T11:59:00Z", 59_000)).toEqual({ neutral: "stale", score: 50 });
    expect(score("2026-03-01T12:01:00Z").score).toBe(85);
    expect(score("2026-03-01T12:30:00Z")).toEqual({ neutral: "stale", score: 50 });
  });

  it.each(["", "at noon"])("SCH-38 is 50 if lastUpdated is %j", (lastUpdated) => {
    expect(scoreNode(nothing, node({ ...good, lastUpdated }), calm, defaultScoringSettings)).toEqual({
      neutral: "stale",
      score: 50,
    });
  });

  it.each(["unknown", "novel"])("X-69 is 50 for the class %s", (schedulableClass) => {
    const state = node({ ...good, class: schedulableClass });
    expect(scoreNode(nothing, state, calm, defaultScoringSettings)).toEqual({ neutral: "no class", score: 50 });
  });

  it("is 50 if headroom is neither measured nor predicted", () => {
    expect(scoreNode(nothing, node({ stress: 0 }), calm, defaultScoringSettings)).toEqual({
      neutral: "no headroom",
      score: 50,
    });
  });
});

describe("a decision", () => {
  it("SCH-11 is deterministic and does not modify its inputs", () => {
    const state = Object.freeze(node({ cap: 600, drawn: 300, stress: 20 }, fifty));
    Object.freeze(state.twin);
    const first = scoreNode(tenCores, state, calm, defaultScoringSettings);
    expect(scoreNode(tenCores, state, calm, defaultScoringSettings)).toEqual(first);
    expect(filterNode("performance", state.twin, undefined)).toBeUndefined();
  });
});
