import { gpuProductLabels, labels, type NodeTwin, type Pod } from "../src/core/api/index.ts";
import { demandViewOf, PodShapes, type PodSummary, podSummaryOf } from "../src/core/demand/index.ts";
import { builtinCatalogue } from "../src/core/inventory/index.ts";
import {
  type ClusterPlan,
  type ClusterSnapshot,
  emptyPlanningMemory,
  type PlanningInput,
  type PlanningSettings,
  planCluster,
  type SnapshotNode,
  statusToPublish,
} from "../src/core/planning/index.ts";
import { ArrivalHistory, capLimits } from "../src/core/policy/index.ts";
import { linearCoolingModel } from "../src/core/twin/index.ts";
import { instant, milliseconds, percent, watts } from "../src/core/units/index.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 50_000;
const INTERVAL_MS = 60_000;

const settings: PlanningSettings = {
  eligibility: {
    selector: [{ key: labels.managed, operator: "In", values: ["true"] }],
    reservedLabel: labels.reserved,
  },
  policy: {
    type: "queue_aware_v1",
    staticHpFrac: 0.5,
    queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
    fitReserve: 0.9,
    reconcileInterval: milliseconds(INTERVAL_MS),
  },
  minDwell: milliseconds(300_000),
  guard: { drainingCaps: "performance" },
  limitsOf: capLimits({
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
  }),
  labels: { powerProfile: labels.powerProfile, draining: labels.draining },
  gpuProductLabels,
  catalogue: builtinCatalogue,
  twin: { cooling: linearCoolingModel() },
  powerSource: "auto",
  readingsFreshFor: milliseconds(300_000),
};

const models = [
  { "joulie.io/hw.cpu-model": "AMD EPYC 9654", "joulie.io/hw.cpu-sockets": "2" },
  { "joulie.io/hw.cpu-model": "Intel(R) Xeon(R) Platinum 8480+", "joulie.io/hw.cpu-sockets": "2" },
  { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" },
] as const;
const nameOf = (index: number) => `node-${index}.rack-${index % 40}.example.com`;

const nodeOf = (index: number): SnapshotNode => ({
  metadata: {
    name: nameOf(index),
    uid: `uid-${index}`,
    resourceVersion: "1",
    labels: {
      ...models[index % 3],
      [labels.managed]: "true",
      [labels.powerProfile]: index % 2 === 0 ? "eco" : "performance",
      [labels.rack]: `rack-${index % 40}`,
    },
  },
});

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

const tenth = pods.slice(0, PODS / 10);

/** The cluster as watches would hold it: every object and every pod is read once per version. */
class BenchSnapshot implements ClusterSnapshot {
  readonly current = true;
  readonly nodesCurrent = true;
  readonly #nodes = new Map(Array.from({ length: NODES }, (_, index) => [nameOf(index), nodeOf(index)]));
  readonly #twins = new Map<string, NodeTwin>();
  readonly #pods: readonly PodSummary[] = pods.map((pod) => podSummaryOf(pod));
  readonly #podsOn = Map.groupBy(this.#pods, ({ node }) => node);

  nodes = () => this.#nodes.values();
  node = (name: string) => this.#nodes.get(name);
  twin = (name: string) => this.#twins.get(name);
  hardware = () => undefined;
  profile = () => undefined;
  pods = () => this.#pods;
  podsOn = (name: string) => this.#podsOn.get(name) ?? [];
  recorded = () => this.#twins.keys();
  isGone = () => false;

  /** Writes every node's spec, status and labels, as the operator would. */
  write({ nodes, at }: ClusterPlan): void {
    for (const plan of nodes.values()) {
      const { name, spec, twin, managed } = plan;
      this.#twins.set(name, { metadata: { name }, spec, status: statusToPublish(plan, twin?.status, at) });
      const { metadata } = managed.node;
      this.#nodes.set(name, { metadata: { ...metadata, labels: { ...metadata.labels, ...plan.labels } } });
    }
  }

  /** New versions of the first nodes and of their twins, with the same content. */
  touch(count: number): void {
    for (let index = 0; index < count; index++) {
      const name = nameOf(index);
      const node = this.#nodes.get(name);
      const twin = this.#twins.get(name);
      if (node !== undefined) this.#nodes.set(name, { ...node });
      if (twin !== undefined) this.#twins.set(name, { ...twin });
    }
  }
}

const telemetry = { power: new Map(), usage: new Map(), facility: { site: {}, zones: new Map(), racks: new Map() } };
let now = Date.UTC(2026, 0, 1);

const snapshot = new BenchSnapshot();

// fit_aware_v1: pods with requests on nodes with allocatable resources, and performance pods of many shapes in the queue.
const PENDING = 2000;
const fitSettings: PlanningSettings = { ...settings, policy: { ...settings.policy, type: "fit_aware_v1" } };
const shapes = new PodShapes();
const arrivals = new ArrivalHistory();

const fitPod = (index: number, cpu: string, more: Pod["spec"] = {}): PodSummary =>
  podSummaryOf(
    {
      metadata: {
        name: `fit-${index}`,
        creationTimestamp: new Date(Date.UTC(2026, 0, 1) - index * 1000).toISOString(),
        ...(more.nodeName === undefined && { annotations: { "joulie.io/workload-class": "performance" } }),
      },
      spec: { ...more, containers: [{ resources: { requests: { cpu, memory: "4Gi" } } }] },
    },
    undefined,
    shapes,
  );

/** Every node is almost full, so that most pending pods fit on few nodes and promote others. */
class FitSnapshot extends BenchSnapshot {
  readonly #bound = Array.from({ length: 20_000 }, (_, index) => {
    const cpu = `${2 + (index % 13)}`;
    return fitPod(index, cpu, { nodeName: nameOf((index * 7919) % NODES) });
  });
  readonly #pending = Array.from({ length: PENDING }, (_, index) =>
    // 200 different requests and 40 different racks to choose from.
    fitPod(index, `${4000 + 100 * (index % 200)}m`, { nodeSelector: { [labels.rack]: `rack-${index % 40}` } }),
  );
  readonly #all = [...this.#bound, ...this.#pending];
  readonly #roomy = new Map<string, SnapshotNode>();

  constructor() {
    super();
    for (const pod of this.#pending) arrivals.record(pod);
    const allocatable = { cpu: "64", memory: "256Gi", pods: "110" };
    for (let index = 0; index < NODES; index++)
      this.#roomy.set(nameOf(index), { ...nodeOf(index), status: { allocatable } });
  }

  override touch(count: number): void {
    for (const name of Array.from(this.#roomy.keys()).slice(0, count))
      this.#roomy.set(name, { ...(this.#roomy.get(name) as SnapshotNode) });
  }

  override nodes = () => this.#roomy.values();
  override node = (name: string) => this.#roomy.get(name);
  override twin = (name: string): NodeTwin => ({
    metadata: { name },
    spec: { nodeName: name, profile: name.endsWith("7.example.com") ? "performance" : "eco" },
  });
  override pods = () => this.#all;
}
const fitSnapshot = new FitSnapshot();

/** One pass after the other, each with the memory of the last one. */
class Passes {
  #memory = emptyPlanningMemory;

  run(input: Pick<PlanningInput, "snapshot" | "settings" | "arrivals">): ClusterPlan {
    now += INTERVAL_MS;
    const plan = planCluster({ ...input, telemetry, memory: this.#memory, now: instant(now) });
    this.#memory = plan.memory;
    return plan;
  }
}

function fitPass(passes: Passes): ClusterPlan {
  const plan = passes.run({ snapshot: fitSnapshot, settings: fitSettings, arrivals });
  const { onPerformance = 0, onPromoted = 0, unplaced = 0 } = plan.fit ?? {};
  if (onPerformance + onPromoted !== PENDING || unplaced !== 0 || onPromoted === 0)
    throw new Error(`pending pods without a node: ${JSON.stringify(plan.fit)}`);
  return plan;
}
function pass(passes: Passes): ClusterPlan {
  const plan = passes.run({ snapshot, settings });
  if (plan.nodes.size !== NODES) throw new Error("a node has no plan");
  return plan;
}

// The first passes move every node to its profile; afterwards no plan differs from the cluster.
for (let round = 0; round < 4; round++) snapshot.write(pass(new Passes()));

/** CPU time of the thread: wall time would include other programs. Some kernels count it in steps of 4 ms, hence `times`. */
function timed(work: () => void, times = 1): BenchFigure {
  const start = process.threadCpuUsage();
  for (let count = 0; count < times; count++) work();
  const { user, system } = process.threadCpuUsage(start);
  return { unit: "ms of CPU", value: (user + system) / 1000 / times };
}

function fitFigures(): Record<string, BenchFigure> {
  const passes = new Passes();
  fitSnapshot.touch(NODES);
  return {
    "fit_aware_v1, cold pass": timed(() => fitPass(passes)),
    "fit_aware_v1, 2,000 pending pods": timed(() => fitPass(passes), 5),
  };
}

export const scenario: Scenario = {
  about: `The operator's planning pass (planCluster) over ${NODES} nodes with ${PODS} pods, each pod and node read once per version: with new versions of all nodes, with nothing changed, and with new versions of a tenth of the nodes and twins. Then fit_aware_v1 over the same nodes with 20,000 bound and ${PENDING} pending performance pods of 200 requests and 40 node selectors.`,
  repeats: 25,
  measure: () => {
    const passes = new Passes();
    snapshot.touch(NODES);
    const cold = timed(() => pass(passes));
    return {
      "cold pass": cold,
      "unchanged pass": timed(() => pass(passes), 10),
      "pass with a tenth changed": timed(() => {
        snapshot.touch(NODES / 10);
        pass(passes);
      }, 10),
      ...fitFigures(),
      "demand view alone": timed(() => demandViewOf(snapshot.pods()), 10),
      "reading a tenth of the pods": timed(() => tenth.map((pod) => podSummaryOf(pod)), 10),
    };
  },
  goals: [
    {
      says: "ms of CPU for planning with nothing changed",
      of: (figures) => figures["unchanged pass"] ?? Number.NaN,
      atMost: 60,
    },
    {
      says: "ms of CPU for planning with 2,000 pending performance pods",
      of: (figures) => figures["fit_aware_v1, 2,000 pending pods"] ?? Number.NaN,
      atMost: 200,
    },
  ],
};
