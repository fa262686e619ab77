import { labels, type Node, type NodeTwin, type Pod } from "../src/core/api/index.ts";
import { boundWattsOn, demandViewOf, podSummaryOf, podsByNode } from "../src/core/demand/index.ts";
import { type Density, densityOf, type HardwareView, hardwareView } from "../src/core/inventory/index.ts";
import {
  type CapSettings,
  capIntents,
  type GuardOptions,
  guard,
  observedStateOf,
  type PolicySettings,
  type ProfileCaps,
  planProfiles,
  publishedStateOf,
  targetOf,
} from "../src/core/policy/index.ts";
import { instant, milliseconds, percent, watts } from "../src/core/units/index.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 50_000;

const settings: PolicySettings = {
  type: "queue_aware_v1",
  staticHpFrac: 0.5,
  queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
  reconcileInterval: milliseconds(60_000),
};
const capSettings: CapSettings = {
  cpu: {
    absolute: false,
    watts: { performance: watts(5000), eco: watts(120) },
    percent: { performance: percent(100), eco: percent(60) },
    onGpuNodes: true,
  },
  gpu: {
    absolute: true,
    percent: { performance: percent(100), eco: percent(60) },
    modelCaps: { "NVIDIA-A100-SXM4-80GB": { maxCapWatts: watts(400) }, "NVIDIA-L4": { maxCapWatts: watts(72) } },
  },
};
const guardOptions: GuardOptions = { drainingCaps: "performance" };
const coefficients = { cpu: 0.7, gpuStandard: 0.65, gpuPerformance: 0.85 };

const models = [
  { "joulie.io/hw.cpu-model": "AMD EPYC 9654", "joulie.io/hw.cpu-sockets": "2" },
  { "joulie.io/hw.cpu-model": "Intel(R) Xeon(R) Platinum 8480+", "joulie.io/hw.cpu-sockets": "2" },
  { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" },
] as const;
const nameOf = (index: number) => `node-${index}.rack-${index % 40}.example.com`;

const nodes = Array.from(
  { length: NODES },
  (_, index): Node => ({
    metadata: {
      name: nameOf(index),
      labels: {
        ...models[index % 3],
        [labels.managed]: "true",
        [labels.powerProfile]: index % 2 === 0 ? "eco" : "performance",
      },
    },
  }),
);

/** Every second pod excludes eco, by a nodeSelector, an affinity with two terms, or the annotation. */
const podSpecs: readonly Pick<Pod, "spec">[] = [
  { spec: { nodeSelector: { [labels.powerProfile]: "performance" } } },
  { spec: {} },
  {
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: ["a", "b"].map((zone) => ({
              matchExpressions: [
                { key: "topology.kubernetes.io/zone", operator: "In", values: [zone] },
                { key: labels.powerProfile, operator: "NotIn", values: ["eco"] },
                { key: labels.draining, operator: "NotIn", values: ["true"] },
              ],
            })),
          },
        },
      },
    },
  },
  { spec: {} },
];
const pods = Array.from(
  { length: PODS },
  (_, index): Pod => ({
    metadata: {
      name: `pod-${index}`,
      ...(index % 8 === 0 && { annotations: { "joulie.io/workload-class": "performance" } }),
    },
    spec: {
      // One in fifty is pending.
      ...(index % 50 !== 0 && { nodeName: nameOf((index * 7919) % NODES) }),
      ...podSpecs[index % podSpecs.length]?.spec,
      containers: [{ resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { memory: "2Gi" } } }],
    },
    status: { phase: "Running" },
  }),
);

/** Data derived from a node's objects alone. */
interface Shape {
  readonly view: HardwareView;
  readonly density: Density;
  readonly caps: ProfileCaps;
}
const intentsOf = capIntents(capSettings);
function shapeOf(node: Node): Shape {
  const view = hardwareView(node, undefined);
  return { view, density: densityOf(view), caps: intentsOf(view) };
}

// The operator caches this between passes, because it changes only with its object.
const shapes = new Map<string, Shape>(nodes.map((node) => [node.metadata.name, shapeOf(node)]));
const summaries = pods.map((pod) => podSummaryOf(pod));
const tenth = pods.slice(0, PODS / 10);
let twins = new Map<string, Pick<NodeTwin, "spec" | "status">>();

/** From cached summaries to every node's target: demand, plan, guard and target. */
function plan(): typeof twins {
  const demand = demandViewOf(summaries);
  const planned = planProfiles(
    nodes.map(({ metadata: { name } }) => {
      const { density, view } = shapes.get(name) as Shape;
      return { name, density, family: view.family };
    }),
    settings,
    { performancePods: demand.performancePods, now: instant(0) },
  );
  const profiles = new Map(planned.nodes.map(({ name, profile }) => [name, profile]));
  const next: typeof twins = new Map();
  for (const node of nodes) {
    const { name } = node.metadata;
    const { caps } = shapes.get(name) as Shape;
    const seen = observedStateOf(node, twins.get(name), {
      caps,
      pin: undefined,
      powerProfileLabel: labels.powerProfile,
    });
    const performancePods = demand.performancePodsByNode.get(name) ?? 0;
    const decision = guard(seen, { planned: profiles.get(name) ?? "performance", performancePods }, guardOptions);
    const face = publishedStateOf(decision.next);
    next.set(name, {
      spec: { nodeName: name, ...targetOf(face, undefined, caps, settings.type) },
      status: { schedulableClass: face.schedulableClass },
    });
  }
  return next;
}

/** CPU time of the thread: wall time would include other programs. */
function timed(work: () => void): BenchFigure {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return { unit: "ms of CPU", value: (user + system) / 1000 };
}

export const scenario: Scenario = {
  about: `Planning ${NODES} nodes with ${PODS} pods, each pod and node read once per version: demand, plan, guard and targets of all; a pass that finds little changed does less.`,
  repeats: 25,
  measure: () => {
    let wall = Number.NaN;
    const planning = timed(() => {
      const start = performance.now();
      twins = plan();
      wall = performance.now() - start;
    });
    if (twins.size !== NODES) throw new Error("a node has no target");
    return {
      planning,
      "planning by the clock": { unit: "ms", value: wall },
      "demand view alone": timed(() => demandViewOf(summaries)),
      "shapes of a tenth of the nodes": timed(() => nodes.slice(0, NODES / 10).map(shapeOf)),
      "reading a tenth of the pods": timed(() => tenth.map((pod) => podSummaryOf(pod))),
      "watts of bound pods": timed(() => {
        const bound = podsByNode(summaries);
        for (const { metadata } of nodes) {
          const node = { hardware: shapes.get(metadata.name)?.view, labels: metadata.labels };
          boundWattsOn(bound.get(metadata.name) ?? [], node, coefficients);
        }
      }),
    };
  },
  goals: [{ says: "ms of CPU for planning", of: ({ planning = Number.NaN }) => planning, atMost: 35 }],
};
