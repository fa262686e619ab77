import { describe, expect, it } from "vitest";
import {
  gpuProductLabels,
  labels,
  managedByOperator,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  type Pod,
  type PowerEndpoint,
} from "../api/index.ts";
import { PodShapes, type PodSummary, podSummaryOf } from "../demand/index.ts";
import { ArrivalHistory } from "../fit/index.ts";
import { builtinCatalogue } from "../inventory/index.ts";
import { capLimits } from "../policy/index.ts";
import { linearCoolingModel, type MeterReading } from "../twin/index.ts";
import { type Instant, instant, milliseconds, percent, seconds, watts } from "../units/index.ts";
import type { ClusterSnapshot, SnapshotNode } from "./cluster-snapshot.ts";
import { statusToPublish } from "./node-plan.ts";
import { type ClusterPlan, planCluster } from "./plan-cluster.ts";
import type { Telemetry } from "./planning-input.ts";
import { emptyPlanningMemory, type PlanningMemory } from "./planning-memory.ts";
import type { PlanningSettings } from "./settings.ts";
import { isNodeOccupied } from "./sleep.ts";
import type { SleepObservations } from "./sleep-observations.ts";

const NOW = instant(Date.UTC(2030, 0, 1, 12));
const stamp = (secondsAgo: number): string => new Date(NOW - secondsAgo * 1000).toISOString();

const settings: PlanningSettings = {
  eligibility: {
    selector: [{ key: labels.managed, operator: "In", values: ["true"] }],
    reservedLabel: labels.reserved,
  },
  policy: {
    type: "static_partition",
    staticHpFrac: 0.5,
    queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
    fitReserve: 0.9,
    reconcileInterval: milliseconds(60_000),
  },
  minDwell: milliseconds(0),
  guard: { drainingCaps: "performance" },
  limitsOf: capLimits({
    cpu: {
      absolute: false,
      watts: { performance: watts(5000), eco: watts(120) },
      percent: { performance: percent(100), eco: percent(60) },
      onGpuNodes: true,
    },
    gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {} },
  }),
  labels: { powerProfile: labels.powerProfile, draining: labels.draining },
  gpuProductLabels,
  catalogue: builtinCatalogue,
  twin: { cooling: linearCoolingModel() },
  powerSource: "auto",
  readingsFreshFor: milliseconds(300_000),
};

const noTelemetry: Telemetry = {
  power: new Map(),
  usage: new Map(),
  facility: { site: {}, zones: new Map(), racks: new Map() },
};

/** An in-memory cluster. Tests change its maps and flags. */
class TestSnapshot implements ClusterSnapshot {
  readonly byName = new Map<string, SnapshotNode>();
  readonly twins = new Map<string, NodeTwin>();
  readonly hardwares = new Map<string, NodeHardware>();
  readonly profiles = new Map<string, NodePowerProfile>();
  readonly podList: PodSummary[] = [];
  current = true;
  nodesCurrent = true;

  addNode(name: string, cpu: string, more: Record<string, string> = {}): this {
    const metadata = { name, uid: `uid-${name}`, resourceVersion: "1", labels: { [labels.managed]: "true", ...more } };
    const ready = [{ type: "Ready", status: "True" }];
    this.byName.set(name, { metadata, spec: {}, status: { capacity: { cpu }, conditions: ready } });
    return this;
  }

  addPod(node: string, workloadClass: string): void {
    const requests = { cpu: "4" };
    const pod = {
      metadata: { name: `pod-${this.podList.length}`, annotations: { "joulie.io/workload-class": workloadClass } },
      spec: { nodeName: node, containers: [{ name: "main", resources: { requests } }] },
    };
    this.podList.push(podSummaryOf(pod));
  }

  /** A pod without a node that is promised to one, or a static pod. */
  addOther(pod: Pick<Pod, "metadata" | "spec" | "status">): void {
    this.podList.push(podSummaryOf(pod));
  }

  nodes = () => this.byName.values();
  node = (name: string) => this.byName.get(name);
  twin = (name: string) => this.twins.get(name);
  hardware = (name: string) => this.hardwares.get(name);
  profile = (name: string) => this.profiles.get(name);
  pods = () => this.podList;
  podsOn = (name: string) => this.podList.filter(({ node }) => node === name);
  recorded = () => [...this.twins.keys(), ...this.hardwares.keys(), ...this.profiles.keys()];
  isGone = (name: string) => !this.byName.has(name);
}

interface HandOver {
  memory: PlanningMemory;
}

const handOver = (): HandOver => ({ memory: emptyPlanningMemory });

interface Pass {
  readonly settings?: Partial<PlanningSettings>;
  readonly telemetry?: Partial<Telemetry>;
  /** Passes with the same object hand their memory on. */
  readonly handOver?: HandOver;
  readonly sleep?: SleepObservations;
  readonly arrivals?: ArrivalHistory;
  readonly now?: Instant;
}

function pass(snapshot: ClusterSnapshot, more: Pass = {}): ClusterPlan {
  const plan = planCluster({
    snapshot,
    settings: more.settings === undefined ? settings : { ...settings, ...more.settings },
    telemetry: { ...noTelemetry, ...more.telemetry },
    memory: more.handOver?.memory ?? emptyPlanningMemory,
    sleep: more.sleep,
    arrivals: more.arrivals,
    now: more.now ?? NOW,
  });
  if (more.handOver !== undefined) more.handOver.memory = plan.memory;
  return plan;
}

/** Writes a plan into the snapshot, as the operator does. */
function publish(snapshot: TestSnapshot, { nodes }: ClusterPlan): void {
  for (const plan of nodes.values()) {
    const { name, spec } = plan;
    const status = statusToPublish(plan, snapshot.twin(name)?.status, NOW);
    snapshot.twins.set(name, { metadata: { name, uid: `twin-${name}` }, spec, status });
    const node = snapshot.byName.get(name) as SnapshotNode;
    const merged = { ...node.metadata.labels, ...plan.labels };
    snapshot.byName.set(name, { ...node, metadata: { ...node.metadata, labels: merged } });
  }
}

/** Runs passes until nothing changes: first the spec changes, then the class, then the eco caps. */
function settle(snapshot: TestSnapshot, more: Pass = {}): ClusterPlan {
  for (let round = 0; round < 4; round++) publish(snapshot, pass(snapshot, more));
  return pass(snapshot, more);
}

const profileOf = (plan: ClusterPlan, name: string) => plan.nodes.get(name)?.labels[labels.powerProfile];
const cpuCap = (plan: ClusterPlan, name: string) => plan.nodes.get(name)?.spec.cpu?.packagePowerCapPctOfMax;
const powerOf = (plan: ClusterPlan, name: string) => plan.nodes.get(name)?.status.powerMeasurement;
const sourceOf = (plan: ClusterPlan, name: string) => powerOf(plan, name)?.source;

describe("planCluster", () => {
  const cluster = () => new TestSnapshot().addNode("big", "64").addNode("small", "8");

  it("gives the densest half the performance profile and caps the other half", () => {
    const plan = settle(cluster());
    expect(plan.hpCount).toBe(1);
    expect([profileOf(plan, "big"), cpuCap(plan, "big")]).toEqual(["performance", 100]);
    expect([profileOf(plan, "small"), cpuCap(plan, "small")]).toEqual(["eco", 60]);
    expect(plan.nodes.get("small")?.status.schedulableClass).toBe("eco");
  });

  it("keeps the caps of a node open while it runs a performance pod", () => {
    const snapshot = cluster();
    snapshot.addPod("small", "performance");
    const plan = settle(snapshot, { settings: { policy: { ...settings.policy, staticHpFrac: 0 } } });
    expect(plan.demand.performancePods).toBe(1);
    expect(cpuCap(plan, "small")).toBe(100);
    expect(plan.nodes.get("small")?.status.schedulableClass).toBe("draining");
    expect(plan.nodes.get("small")?.performancePods).toBe(1);
  });

  it("downgrades no node while the snapshot is not current", () => {
    const snapshot = cluster();
    publish(snapshot, pass(snapshot, { settings: { policy: { ...settings.policy, staticHpFrac: 1 } } }));
    snapshot.current = false;
    const plan = settle(snapshot);
    expect([cpuCap(plan, "small"), plan.nodes.get("small")?.performancePods]).toEqual([100, undefined]);
  });

  it("gives a pin precedence over the policy", () => {
    const snapshot = cluster();
    const spec = { nodeName: "small", profile: "performance" };
    snapshot.profiles.set("small", { metadata: { name: "small" }, spec } as NodePowerProfile);
    const plan = settle(snapshot);
    expect(profileOf(plan, "small")).toBe("performance");
  });

  it("keeps the last target of a cordoned node, and gives a new cordoned node none", () => {
    const snapshot = cluster();
    const before = settle(snapshot);
    const node = snapshot.byName.get("big") as SnapshotNode;
    snapshot.byName.set("big", { ...node, spec: { unschedulable: true } });
    snapshot.byName.set("new", {
      ...node,
      metadata: { ...node.metadata, name: "new" },
      spec: { unschedulable: true },
    });
    const plan = pass(snapshot);
    expect(plan.nodes.get("big")?.spec).toEqual(before.nodes.get("big")?.spec);
    expect(plan.nodes.get("big")?.reason).toBe("cordoned: it keeps its last target");
    expect(plan.nodes.has("new")).toBe(false);
  });

  it("names the taint that makes a node ineligible", () => {
    const snapshot = cluster();
    settle(snapshot);
    const node = snapshot.byName.get("big") as SnapshotNode;
    const taints = [{ key: "dedicated", effect: "NoSchedule" }];
    snapshot.byName.set("big", { ...node, spec: { taints } });
    expect(pass(snapshot).nodes.get("big")?.reason).toMatch(/^tainted with dedicated:NoSchedule/);
  });

  it("lists leftover objects of deleted and unmanaged nodes only if the list of Nodes is current", () => {
    const snapshot = cluster();
    settle(snapshot);
    snapshot.hardwares.set("small", { metadata: { name: "small", uid: "hw-small" } } as NodeHardware);
    const mirror = { name: "small", uid: "npp-small", labels: { [labels.managedBy]: managedByOperator } };
    snapshot.profiles.set("small", { metadata: mirror, spec: { nodeName: "small" } } as unknown as NodePowerProfile);
    snapshot.byName.delete("small");
    const node = snapshot.byName.get("big") as SnapshotNode;
    const { [labels.managed]: _managed, ...others } = node.metadata.labels ?? {};
    snapshot.byName.set("big", { ...node, metadata: { ...node.metadata, labels: others } });
    const { leftovers, nodes } = pass(snapshot);
    expect(nodes.size).toBe(0);
    expect(leftovers.get("small")).toEqual({
      labels: [],
      hardware: "hw-small",
      mirror: "npp-small",
      twin: "twin-small",
    });
    expect(leftovers.get("big")).toMatchObject({ labels: [labels.powerProfile, labels.draining], twin: "twin-big" });
    snapshot.nodesCurrent = false;
    expect(pass(snapshot).leftovers.size).toBe(0);
  });
});

describe("the power of a node in a plan", () => {
  const external = (source: "http" | "prometheus", secondsAgo: number) => ({
    settings: { powerSource: source },
    telemetry: {
      power: new Map([["a", { power: watts(321), source, at: instant(NOW - secondsAgo * 1000) }]]),
    },
  });
  const alone = () => new TestSnapshot().addNode("a", "64");

  it("comes from the configured source while its reading is fresh", () => {
    expect(powerOf(pass(alone(), external("http", 10)), "a")).toMatchObject({
      source: "http",
      measuredNodePowerW: 321,
    });
    expect(sourceOf(pass(alone(), external("http", 301)), "a")).toBeUndefined();
  });

  it("continues with the value that another replica published, as long as it is fresh", () => {
    const snapshot = alone();
    publish(snapshot, pass(snapshot, external("prometheus", 10)));
    const without = { settings: { powerSource: "prometheus" as const } };
    expect(powerOf(pass(snapshot, without), "a")).toMatchObject({ source: "prometheus", measuredNodePowerW: 321 });
    expect(sourceOf(pass(snapshot, { settings: { powerSource: "http" } }), "a")).toBeUndefined();
  });

  it("prefers the agent's reading, then the utilization, then a static estimate", () => {
    const snapshot = alone();
    const usage = new Map([["a", { cpuCores: 32, at: NOW }]]);
    const estimate = powerOf(pass(snapshot), "a");
    expect(estimate).toMatchObject({ source: "static" });
    const half = powerOf(pass(snapshot, { telemetry: { usage } }), "a");
    expect(half).toMatchObject({ source: "utilization" });
    expect(half?.measuredNodePowerW ?? 0).toBeGreaterThan(estimate?.measuredNodePowerW ?? 0);
    publish(snapshot, pass(snapshot));
    const twin = snapshot.twins.get("a") as NodeTwin;
    const cpu = { backend: "rapl", result: "applied", observedPowerWatts: 200, updatedAt: stamp(5) };
    snapshot.twins.set("a", { ...twin, status: { ...twin.status, controlStatus: { cpu } } } as unknown as NodeTwin);
    const agent = { source: "agent", measuredNodePowerW: 200 };
    expect(powerOf(pass(snapshot, { telemetry: { usage } }), "a")).toMatchObject(agent);
  });

  describe("from a meter outside the cluster", () => {
    const kepler = (more: Partial<MeterReading>) => ({
      power: new Map([["a", { source: "kepler" as const, at: NOW, ...more }]]),
    });
    const gpuNode = () =>
      new TestSnapshot().addNode("a", "64", { "joulie.io/hw.gpu-model": "H100 SXM", "joulie.io/hw.gpu-count": "8" });
    const usage = new Map([["a", { cpuCores: 32, at: NOW }]]);
    const reports = (snapshot: TestSnapshot, devices: Readonly<Record<string, number>>) => {
      publish(snapshot, pass(snapshot));
      const twin = snapshot.twins.get("a") as NodeTwin;
      const controlStatus = Object.fromEntries(
        Object.entries(devices).map(([device, watt]) => [
          device,
          { backend: "rapl", result: "applied", observedPowerWatts: watt, updatedAt: stamp(5) },
        ]),
      );
      snapshot.twins.set("a", { ...twin, status: { ...twin.status, controlStatus } });
    };

    it("X-157 auto takes Kepler where it answers and no agent reports", () => {
      const telemetry = { ...kepler({ power: watts(333) }), usage };
      const snapshot = alone();
      expect(powerOf(pass(snapshot, { telemetry }), "a")).toMatchObject({ source: "kepler", measuredNodePowerW: 333 });
      publish(snapshot, pass(snapshot, { telemetry }));
      // Another replica whose first query fails continues with it.
      expect(sourceOf(pass(snapshot, { telemetry: { usage } }), "a")).toBe("kepler");
      reports(snapshot, { cpu: 200 });
      expect(powerOf(pass(snapshot, { telemetry }), "a")).toMatchObject({ source: "agent", measuredNodePowerW: 200 });
    });

    it("X-156 estimates the boards that Kepler does not read, and says so", () => {
      const partial = { telemetry: kepler({ power: watts(210), onlyCpus: true }) };
      const snapshot = gpuNode();
      const { source, measuredNodePowerW, estimatedGpuPowerW } = powerOf(pass(snapshot, partial), "a") ?? {};
      expect(source).toBe("kepler");
      // Eight idle H100.
      expect(estimatedGpuPowerW).toBeGreaterThan(8 * 40);
      expect(measuredNodePowerW).toBe(210 + (estimatedGpuPowerW ?? 0));
      publish(snapshot, pass(snapshot, partial));
      expect(powerOf(pass(snapshot), "a")).toMatchObject({ measuredNodePowerW, estimatedGpuPowerW });
      expect(powerOf(pass(alone(), partial), "a")).toMatchObject({ source: "kepler", measuredNodePowerW: 210 });
      expect(powerOf(pass(alone(), partial), "a")).not.toHaveProperty("estimatedGpuPowerW");
    });

    it("X-154 publishes what a meter of the whole server reads, beside packages and boards", () => {
      const onlyServer = { telemetry: kepler({ server: watts(400) }) };
      const { serverPowerW, measuredNodePowerW = Infinity } = powerOf(pass(alone(), onlyServer), "a") ?? {};
      expect(serverPowerW).toBe(400);
      expect(measuredNodePowerW).toBeLessThan(400);
      const snapshot = alone();
      reports(snapshot, { cpu: 200 });
      const both = powerOf(pass(snapshot, onlyServer), "a");
      expect(both).toMatchObject({ source: "agent", measuredNodePowerW: 200, serverPowerW: 400 });
      publish(snapshot, pass(snapshot, { ...onlyServer, settings: { powerSource: "prometheus" } }));
      const published = powerOf(pass(snapshot, { settings: { powerSource: "prometheus" } }), "a");
      expect(published).toMatchObject({ source: "kepler", serverPowerW: 400 });
    });
  });

  it("gives no utilization for a node without a CPU count", () => {
    const snapshot = alone();
    const node = snapshot.byName.get("a") as SnapshotNode;
    snapshot.byName.set("a", { ...node, status: { capacity: { cpu: "many" } } });
    const usage = new Map([["a", { cpuCores: 32, at: NOW }]]);
    const settings = { powerSource: "utilization" as const };
    expect(sourceOf(pass(snapshot, { settings, telemetry: { usage } }), "a")).toBeUndefined();
  });
});

describe("sleep in a plan", () => {
  const maySleep = { [labels.maySleep]: "true" };
  const NAMES = ["a", "b", "c", "d"];
  const MINUTE = 60_000;
  const cluster = () => NAMES.reduce((all, name) => all.addNode(name, "64", maySleep), new TestSnapshot());
  const proven = (name: string): PowerEndpoint => ({
    metadata: { name, generation: 1 },
    spec: { nodeName: name, webhook: { url: "https://power.test" } },
    status: {
      wakeProven: true,
      provenGeneration: 1,
      lastWake: { at: stamp(86_400), seconds: seconds(200), result: "succeeded" },
    },
  });
  const observations = (more: Partial<SleepObservations> = {}): SleepObservations => ({
    current: true,
    known: true,
    endpoint: proven,
    hasLocalVolume: () => false,
    selectedNode: () => undefined,
    arrivals: new ArrivalHistory(),
    ...more,
  });
  const sleeping = (mode: "off" | "recommend" | "on") => ({
    sleep: { mode, after: milliseconds(10 * MINUTE), reserveQuantile: 0, zoneShare: 0.5 },
  });
  /** The plan after all nodes were observed for long enough, and past the time in which arrivals are learned. */
  const plannedLater = (snapshot: TestSnapshot, options: Pass): ClusterPlan => {
    const more = { handOver: handOver(), ...options };
    const learned = instant(NOW - 3 * 60 * MINUTE);
    publish(snapshot, pass(snapshot, { ...more, now: learned }));
    return settle(snapshot, more);
  };
  const off = (plan: ClusterPlan) => NAMES.filter((name) => plan.nodes.get(name)?.spec.power?.state === "off");

  it("SLP-41 SLP-42 lets half of the empty nodes sleep, and no node with a pod", () => {
    const snapshot = cluster();
    snapshot.addPod("a", "standard");
    const plan = plannedLater(snapshot, { settings: sleeping("on"), sleep: observations() });
    expect(off(plan)).toHaveLength(2);
    expect(off(plan)).not.toContain("a");
    expect(plan.nodes.get(off(plan)[0] ?? "")?.status.schedulableClass).toBe("asleep");
  });

  describe.each<[string, (node: string) => Pod]>([
    [
      "a nomination",
      (node) => ({ metadata: { name: "p" }, spec: {}, status: { phase: "Pending", nominatedNodeName: node } }),
    ],
    [
      "the claim of a volume",
      () => ({
        metadata: { name: "p", namespace: "shop" },
        spec: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] },
      }),
    ],
  ])("a pod that is promised to a node by %s", (_, podFor) => {
    const promisedTo = (node: string) => {
      const snapshot = cluster();
      snapshot.addOther(podFor(node));
      const selectedNode = (claim: string) => (claim === "shop/data" ? { node, hasVolume: false } : undefined);
      return { snapshot, sleep: observations({ selectedNode }) };
    };

    it.each(NAMES)("X-131 keeps node %s on", (node) => {
      const { snapshot, sleep } = promisedTo(node);
      const plan = plannedLater(snapshot, { settings: sleeping("on"), sleep });
      expect(off(plan)).toHaveLength(2);
      expect(off(plan)).not.toContain(node);
    });

    it("X-131 occupies that node, and no other, when the operator is about to let it sleep", () => {
      const { snapshot, sleep } = promisedTo("c");
      expect(NAMES.filter((name) => isNodeOccupied(name, snapshot, sleep))).toEqual(["c"]);
    });
  });

  it("X-132 keeps nodes on with the role etcd or controlplane, or a static pod of the control plane", () => {
    const snapshot = cluster();
    snapshot.addNode("a", "64", { ...maySleep, "node-role.kubernetes.io/etcd": "true" });
    snapshot.addNode("b", "64", { ...maySleep, "node-role.kubernetes.io/controlplane": "true" });
    const annotations = { "kubernetes.io/config.mirror": "x" };
    const metadata = { name: "etcd-c", labels: { component: "etcd", tier: "control-plane" }, annotations };
    snapshot.addOther({ metadata, spec: { nodeName: "c" } });
    const plan = plannedLater(snapshot, { settings: sleeping("on"), sleep: observations() });
    expect(off(plan)).toEqual(["d"]);
  });

  it("SLP-41 publishes the NodeTwin of a node before the node sleeps", () => {
    const snapshot = cluster();
    const more = { settings: sleeping("on"), sleep: observations(), handOver: handOver() };
    pass(snapshot, { ...more, now: instant(NOW - 3 * 60 * MINUTE) });
    const first = pass(snapshot, more);
    expect([first.nodes.size, off(first)]).toEqual([4, []]);
    publish(snapshot, first);
    expect(off(pass(snapshot, more))).toHaveLength(2);
  });

  it("SLP-53 with recommend plans the same sleep, and asks for nothing", () => {
    const plan = plannedLater(cluster(), { settings: sleeping("recommend"), sleep: observations() });
    expect([off(plan), plan.memory.sleep.recommended.size]).toEqual([[], 2]);
    expect([...(plan.sleep?.nodes.values() ?? [])].filter(({ wanted }) => wanted === "off")).toHaveLength(2);
  });

  it("plans no sleep if it is off, or if PowerEndpoints cannot be read", () => {
    expect(plannedLater(cluster(), { settings: sleeping("off"), sleep: observations() }).sleep).toBeUndefined();
    const unread = observations({ current: false });
    expect(off(plannedLater(cluster(), { settings: sleeping("on"), sleep: unread }))).toEqual([]);
  });

  it.each(["on", "recommend"] as const)("with %s returns its memory, and changes nothing of its input", (mode) => {
    const snapshot = cluster();
    const more = { settings: sleeping(mode), sleep: observations(), handOver: handOver() };
    plannedLater(snapshot, more);
    const { memory } = more.handOver;
    const before = structuredClone({ memory, twins: snapshot.twins, nodes: snapshot.byName });
    const first = pass(snapshot, { ...more, handOver: { memory }, now: instant(NOW + MINUTE) });
    const again = pass(snapshot, { ...more, handOver: { memory }, now: instant(NOW + MINUTE) });
    expect(again).toEqual(first);
    expect({ memory, twins: snapshot.twins, nodes: snapshot.byName }).toEqual(before);
    expect(first.memory.sleep).not.toEqual(memory.sleep);
  });

  it.each<[string, Partial<SleepObservations>]>([
    ["without a PowerEndpoint", { endpoint: () => undefined }],
    ["with a local volume", { hasLocalVolume: () => true }],
    [
      "after an edit of the PowerEndpoint",
      { endpoint: (name) => ({ ...proven(name), metadata: { name, generation: 2 } }) },
    ],
  ])("SLP-40 lets no node sleep %s", (_, more) => {
    expect(off(plannedLater(cluster(), { settings: sleeping("on"), sleep: observations(more) }))).toEqual([]);
  });

  it("SLP-46 wakes a sleeping node for a pending pod, whatever taints its sleep gave it", () => {
    const snapshot = cluster();
    const more = { settings: sleeping("on"), sleep: observations(), handOver: handOver() };
    const [first = "", second = ""] = off(plannedLater(snapshot, more));
    publish(snapshot, pass(snapshot, more));
    for (const name of [first, second]) {
      const twin = snapshot.twins.get(name) as NodeTwin;
      snapshot.twins.set(name, { ...twin, status: { ...twin.status, power: { state: "off", since: stamp(60) } } });
      const node = snapshot.byName.get(name) as SnapshotNode;
      const taints = [
        { key: "joulie.io/asleep", effect: "NoSchedule" },
        { key: "node.kubernetes.io/unreachable", effect: "NoExecute" },
      ];
      const status = { ...node.status, conditions: [{ type: "Ready", status: "Unknown" }] };
      snapshot.byName.set(name, { ...node, spec: { taints }, status });
    }
    expect(off(pass(snapshot, more))).toEqual([first, second]);
    const shapes = new PodShapes({ allClasses: true });
    for (let pod = 0; pod < 3; pod++) {
      const requests = { cpu: "60" };
      const spec = { containers: [{ name: "main", resources: { requests } }] };
      const pending = { metadata: { name: `pending-${pod}` }, spec };
      snapshot.podList.push(podSummaryOf(pending, labels.powerProfile, shapes));
    }
    const woken = pass(snapshot, more);
    expect([off(woken).length, woken.sleep?.waits.length]).toEqual([1, 1]);
  });
});

describe("fit_aware_v1 in a plan", () => {
  const policy = { ...settings.policy, type: "fit_aware_v1" as const };

  it("gives the performance profile to the node that runs a performance pod, and to one node with room", () => {
    const snapshot = new TestSnapshot().addNode("a", "64").addNode("b", "64").addNode("c", "64");
    snapshot.addPod("b", "performance");
    const plan = settle(snapshot, { settings: { policy } });
    expect(profileOf(plan, "b")).toBe("performance");
    expect(plan.hpCount).toBe(1);
    expect([cpuCap(plan, "a"), cpuCap(plan, "b")]).toEqual([60, 100]);
  });

  it("SLP-72 keeps the reserve of pods without GPUs off nodes with GPUs, if nodes sleep", () => {
    const snapshot = new TestSnapshot().addNode("cpu", "16").addNode("gpu", "64");
    const gpu = snapshot.byName.get("gpu") as SnapshotNode;
    snapshot.byName.set("gpu", { ...gpu, status: { ...gpu.status, capacity: { cpu: "64", "nvidia.com/gpu": "8" } } });
    snapshot.addPod("gpu", "performance");
    const arrivals = new ArrivalHistory();
    const shapes = new PodShapes({ allClasses: true });
    const arrived = {
      metadata: {
        name: "arrived",
        creationTimestamp: stamp(3600),
        annotations: { "joulie.io/workload-class": "performance" },
      },
      spec: { containers: [{ name: "main", resources: { requests: { cpu: "8" } } }] },
    };
    arrivals.record(podSummaryOf(arrived, labels.powerProfile, shapes));
    const reserve = { ...policy, fitReserve: 1 };
    const planned = (mode: "off" | "on") =>
      settle(snapshot, {
        settings: {
          policy: reserve,
          sleep: { mode, after: milliseconds(600_000), reserveQuantile: 0, zoneShare: 0.5 },
        },
        arrivals,
      });
    expect(profileOf(planned("on"), "cpu")).toBe("performance");
    expect(profileOf(planned("off"), "cpu")).toBe("eco");
  });
});
