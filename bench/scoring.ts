import type { Node, NodeTwinStatus } from "../src/core/api/index.ts";
import type { PodDemand, WorkloadClass } from "../src/core/demand/index.ts";
import { hardwareView } from "../src/core/inventory/index.ts";
import {
  batchOf,
  type CandidateNode,
  ScoringKernel,
  scoreNode,
  defaultScoringSettings as settings,
  twinStateOf,
} from "../src/core/scoring/index.ts";
import { instant } from "../src/core/units/index.ts";
import { type BenchFigure, nanosecondsPerCall, type Scenario } from "./scenario.ts";

const NODES = 5000;
const now = instant(Date.UTC(2026, 2, 1, 12));

/** Differs between nodes but not between runs. */
const spread = (index: number, most: number) => (index * 7919) % most;

const kinds: readonly Omit<Node, "metadata">[] = [
  { status: { allocatable: { cpu: "256" } } },
  { status: { allocatable: { cpu: "192", "nvidia.com/gpu": "8" } } },
];

function twinOf(index: number): NodeTwinStatus {
  const budget = index % 2 === 0 ? 600 : 6000;
  return {
    schedulableClass: (["performance", "eco", "performance", "draining"] as const)[index % 4],
    // One in fifty is stale.
    lastUpdated: new Date(now - (index % 50 === 0 ? 600_000 : spread(index, 60_000))).toISOString(),
    predictedPowerHeadroomScore: spread(index, 100),
    predictedCoolingStressScore: spread(index, 97),
    powerMeasurement: {
      measuredNodePowerW: spread(index, budget),
      nodeCappedPowerW: budget,
      powerTrendWPerMin: spread(index, 121) - 60,
    },
  } as NodeTwinStatus;
}

const kernel = new ScoringKernel(settings);
const states: CandidateNode[] = [];
for (let index = 0; index < NODES; index++) {
  const node: Node = { metadata: { name: `node-${index}`, labels: {} }, ...kinds[index % kinds.length] };
  const twin = twinOf(index);
  const hardware = hardwareView(node, undefined);
  kernel.upsertTwin(node.metadata.name, twin);
  kernel.upsertHardware(node.metadata.name, hardware);
  kernel.upsertLabels(node.metadata.name, node.metadata.labels);
  // The reference gets parsed twins: the bench compares scoring, not date parsing.
  states.push({ twin: twinStateOf(twin), hardware, labels: node.metadata.labels });
}

const pods: Readonly<Record<WorkloadClass, PodDemand>> = {
  standard: { cpuCores: 4, gpus: new Map() },
  performance: { cpuCores: 16, gpus: new Map([["nvidia.com/gpu", 1]]) },
};

const slots = Int32Array.from(states.keys());
const scores = new Int16Array(NODES);
const literal = new Int16Array(NODES);

function byKernel(workloadClass: WorkloadClass): void {
  kernel.beginBatch(now);
  kernel.scoreMany(slots, pods[workloadClass], workloadClass, scores);
}

function byOracle(workloadClass: WorkloadClass): void {
  const pod = { demand: pods[workloadClass], workloadClass };
  const batch = batchOf(
    states.map(({ twin }) => twin),
    now,
    settings,
  );
  for (let index = 0; index < NODES; index++) {
    literal[index] = scoreNode(pod, states[index] as CandidateNode, batch, settings).score;
  }
}

const perNode = (work: () => void): BenchFigure => ({
  unit: "ns per node",
  value: nanosecondsPerCall(work).value / NODES,
});

export const scenario: Scenario = {
  about: `One batch and all scores of ${NODES} nodes: the columnar kernel against the literal formula.`,
  repeats: 10,
  measure: () => {
    const figures = {
      "kernel, standard": perNode(() => byKernel("standard")),
      "oracle, standard": perNode(() => byOracle("standard")),
      "kernel, performance": perNode(() => byKernel("performance")),
      "oracle, performance": perNode(() => byOracle("performance")),
    };
    if (!scores.every((score, index) => score === literal[index])) throw new Error("kernel and oracle disagree");
    return figures;
  },
  goals: (["standard", "performance"] as const).map((workloadClass) => ({
    says: `times the oracle's speed, ${workloadClass} pod`,
    of: (figures) =>
      (figures[`oracle, ${workloadClass}`] ?? Number.NaN) / (figures[`kernel, ${workloadClass}`] ?? Number.NaN),
    atLeast: 5,
  })),
};
