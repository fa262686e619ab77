import { describe, expect, it } from "vitest";
import { labels, type Node, type NodePowerProfile, type NodeTwin } from "../../core/api/index.ts";
import { type PodSummary, podSummaryOf } from "../../core/demand/index.ts";
import { builtinCatalogue } from "../../core/inventory/index.ts";
import {
  type ClusterPlan,
  type ClusterSnapshot,
  emptyPlanningMemory,
  type PlanningInput,
  planCluster,
  type SnapshotNode,
  type Telemetry,
} from "../../core/planning/index.ts";
import { lastTransitionTime, policyTypes } from "../../core/policy/index.ts";
import { celsius, type Instant, instant, watts } from "../../core/units/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { operatorConfig } from "./config.ts";
import { diffNode } from "./reconcile/diff.ts";
import { operatorSettingsOf } from "./settings.ts";

const NOW = instant(Date.UTC(2030, 0, 1));
const MINUTE = 60_000;

/** A cluster as plain values. */
class Values implements ClusterSnapshot {
  readonly #nodes = new Map<string, SnapshotNode>();
  readonly twins = new Map<string, NodeTwin>();
  readonly profiles = new Map<string, NodePowerProfile>();
  readonly #pods: PodSummary[] = [];
  current = true;
  nodesCurrent = true;

  add(name: string, own: Readonly<Record<string, string>> = {}, spec: Node["spec"] = {}, uid = `uid-${name}`): this {
    const metadata = { name, uid, resourceVersion: "1", labels: { [labels.managed]: "true", ...own } };
    this.#nodes.set(name, { metadata, spec, status: { capacity: { cpu: "64" } } });
    return this;
  }

  pod(nodeName: string | undefined, performance = true): this {
    const annotations = performance ? { "joulie.io/workload-class": "performance" } : {};
    const spec = {
      ...(nodeName !== undefined && { nodeName }),
      containers: [{ resources: { requests: { cpu: "8" } } }],
    };
    this.#pods.push(podSummaryOf({ metadata: { name: "p", annotations }, spec, status: { phase: "Running" } }));
    return this;
  }

  /** Makes the cluster show what a plan asks for. */
  show(planned: ClusterPlan, at: Instant = NOW): void {
    for (const own of planned.nodes.values()) {
      const node = this.#nodes.get(own.name);
      if (node === undefined) continue;
      this.#nodes.set(own.name, {
        ...node,
        metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...own.labels } },
      });
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: own.name, uid: node.metadata.uid }];
      const lastUpdated = new Date(at).toISOString();
      const conditions = [
        { type: "Published", status: "True" as const, reason: "Written", message: "", lastTransitionTime: lastUpdated },
      ];
      const moved = lastTransitionTime(this.twins.get(own.name)?.status, own.status.schedulableClass, at);
      this.twins.set(own.name, {
        metadata: { name: own.name, ownerReferences },
        spec: own.spec,
        status: { ...own.status, conditions, ...(moved !== undefined && { lastTransitionTime: moved }), lastUpdated },
      });
    }
  }

  get objects(): unknown {
    return { nodes: this.#nodes, twins: this.twins, profiles: this.profiles, pods: this.#pods };
  }

  nodes = () => this.#nodes.values();
  node = (name: string) => this.#nodes.get(name);
  twin = (name: string) => this.twins.get(name);
  hardware = () => undefined;
  profile = (name: string) => this.profiles.get(name);
  pods = () => this.#pods;
  podsOn = (node: string) => this.#pods.filter((pod) => pod.node === node);
  recorded = () => this.twins.keys();
  isGone = (name: string) => !this.#nodes.has(name);
}

function configured(variables: Readonly<Record<string, string>> = {}) {
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(operatorConfig, { env: variables, flags: {}, machine });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return operatorSettingsOf(parsed.value.values, builtinCatalogue);
}

const nothingRead: Telemetry = {
  power: new Map(),
  usage: new Map(),
  facility: { site: {}, zones: new Map(), racks: new Map() },
};

function passOver(view: ClusterSnapshot, more: Partial<PlanningInput> = {}): ClusterPlan {
  const settings = more.settings ?? configured();
  return planCluster({
    snapshot: view,
    settings,
    telemetry: nothingRead,
    memory: emptyPlanningMemory,
    now: NOW,
    ...more,
  });
}

/** Makes passes one after the other, each with the memory of the last one. */
function successivePasses(): typeof passOver {
  let memory = emptyPlanningMemory;
  return (view, more) => {
    const plan = passOver(view, { memory, ...more });
    memory = plan.memory;
    return plan;
  };
}

const states = (planned: ClusterPlan) =>
  Object.fromEntries(Array.from(planned.nodes.values(), ({ name, next }) => [name, next.state]));

describe("planCluster", () => {
  it("OPR-03 OPR-04 does not plan reserved and cordoned nodes", () => {
    const view = new Values()
      .add("a")
      .add("b")
      .add("c", { [labels.reserved]: "true" })
      .add("d", {}, { unschedulable: true });
    const planned = passOver(view);
    expect(planned.hpCount).toBe(1);
    expect([...planned.nodes.keys()]).toEqual(["a", "b"]);
  });

  it("X-24 downgrades no node while the snapshot is stale, and removes nothing while the node list is stale", () => {
    const view = new Values().add("a").add("b");
    view.current = false;
    expect(states(passOver(view))).toEqual({ a: "ActivePerformance", b: "ActivePerformance" });
    view.current = true;
    expect(states(passOver(view))).toEqual({ a: "ActivePerformance", b: "ActiveEco" });
    view.twins.set("gone", { metadata: { name: "gone", uid: "u" }, spec: { nodeName: "gone", profile: "eco" } });
    expect([...passOver(view).leftovers.keys()]).toEqual(["gone"]);
    view.nodesCurrent = false;
    expect([...passOver(view).leftovers.keys()]).toEqual([]);
  });

  it("X-31 publishes no power for a missing reading, and the trend does not jump", () => {
    const settings = configured({
      OPERATOR_NODE_POWER_SOURCE: "http",
      OPERATOR_NODE_POWER_HTTP_ENDPOINT: "http://meter/{node}",
    });
    const view = new Values().add("a");
    const nextPass = successivePasses();
    const measured = (power: number | undefined, minute: number) => {
      const now = instant(NOW + minute * MINUTE);
      const reading = power === undefined ? [] : [["a", { power: watts(power), source: "http", at: now }] as const];
      const telemetry = { ...nothingRead, power: new Map(reading) };
      return nextPass(view, { settings, telemetry, now }).nodes.get("a")?.status.powerMeasurement;
    };
    expect(measured(100, 0)?.measuredNodePowerW).toBe(100);
    expect(measured(110, 1)?.powerTrendWPerMin).toBeCloseTo(10);
    expect(measured(undefined, 2)?.measuredNodePowerW).toBeUndefined();
    expect(measured(130, 3)?.powerTrendWPerMin).toBeCloseTo(10);
  });

  it.each([
    ["60s", 300],
    ["10m", 1800],
  ])("X-31 ignores readings at an interval of %s when they are older than %d s", (interval, seconds) => {
    const view = new Values().add("a");
    const sourceAt = (mode: string, age: number) => {
      const settings = configured({
        OPERATOR_NODE_POWER_SOURCE: mode,
        RECONCILE_INTERVAL: interval,
        OPERATOR_NODE_POWER_HTTP_ENDPOINT: "http://meters.example/{node}",
      });
      const at = instant(NOW - age * 1000);
      const telemetry: Telemetry = {
        ...nothingRead,
        power: new Map([["a", { power: watts(200), source: "http", at }]]),
        usage: new Map([["a", { cpuCores: 8, at }]]),
      };
      return passOver(view, { settings, telemetry }).nodes.get("a")?.status.powerMeasurement?.source;
    };
    expect([sourceAt("http", seconds), sourceAt("http", seconds + 1)]).toEqual(["http", undefined]);
    expect([sourceAt("auto", seconds), sourceAt("auto", seconds + 1)]).toEqual(["utilization", "static"]);
  });

  it.each([
    // An estimate stays below the cap, which is 150 W here; a meter says what it says.
    ["auto", "utilization", 299, "utilization", 150],
    ["auto", "utilization", 301, "static", 31.5],
    ["auto", "agent", 10, "static", 31.5],
    ["utilization", "utilization", 10, "utilization", 150],
    ["utilization", "static", 10, undefined, undefined],
    ["http", "http", 10, "http", 1e6],
    ["http", "prometheus", 10, undefined, undefined],
    ["prometheus", "kepler", 10, "kepler", 1e6],
    ["prometheus", "prometheus", 301, undefined, undefined],
    ["static", "utilization", 10, "static", 31.5],
  ] as const)(
    "X-31 source %s without a reading: the value published from %s %d s ago gives %s, %d W",
    (mode, published, age, source, power) => {
      const settings = configured({
        OPERATOR_NODE_POWER_SOURCE: mode,
        OPERATOR_NODE_POWER_HTTP_ENDPOINT: "http://meters.example/{node}",
        OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: "http://prometheus.example",
      });
      const view = new Values().add("a");
      view.show(passOver(view));
      const twin = view.twins.get("a") as NodeTwin;
      const measuredAt = new Date(NOW - age * 1000).toISOString();
      const powerMeasurement = { source: published, measuredNodePowerW: watts(1e6), measuredAt };
      view.twins.set("a", { ...twin, status: { ...twin.status, powerMeasurement } });
      const found = passOver(view, { settings }).nodes.get("a")?.status.powerMeasurement;
      expect([found?.source, found?.measuredNodePowerW]).toEqual([source, power]);
    },
  );

  it.each(policyTypes)(
    "%s gives the same plan twice and changes none of its input, after every kind of change",
    (policy) => {
      const settings = configured({ POLICY_TYPE: policy, QUEUE_PERF_PER_HP_NODE: "1" });
      let memory = emptyPlanningMemory;
      const view = new Values();
      const names = ["a", "b", "c", "d"];
      for (const name of names) view.add(name, { [labels.rack]: name < "c" ? "r1" : "r2" });
      let now = NOW;
      let telemetry = nothingRead;
      const later = (minutes: number) => (now = instant(now + minutes * MINUTE));
      /** What metrics.k8s.io says now: the cores in use on every node. */
      const use = (cpuCores: number) => {
        const usage = new Map(names.map((name) => [name, { cpuCores, at: now }]));
        telemetry = { ...telemetry, usage };
      };
      const surround = (facility: Partial<Telemetry["facility"]>) =>
        (telemetry = { ...telemetry, facility: { ...telemetry.facility, ...facility } });
      const passTwice = () => {
        const input = { settings, memory, telemetry, now };
        const contents = () => structuredClone({ objects: view.objects, memory, telemetry });
        const before = contents();
        const plan = passOver(view, input);
        expect(passOver(view, input)).toEqual(plan);
        expect(contents()).toEqual(before);
        memory = plan.memory;
        return plan;
      };
      const happenings = [
        () => view.pod("a"),
        () => view.pod("d"),
        () => view.pod(undefined).pod(undefined),
        () => view.add("b", { [labels.reserved]: "true" }),
        () => view.add("c", { [labels.managed]: "false" }),
        () => view.twins.delete("d"),
        () => view.pod("d", false),
        () => (view.current = false),
        () => view.add("c"),
        () => (view.current = true),
        () => view.profiles.set("d", { metadata: { name: "d" }, spec: { nodeName: "d", profile: "eco" } }),
        () => view.add("a", { [labels.rack]: "r2", "joulie.io/hw.cpu-cores": "8" }),
        () => view.profiles.delete("d"),
        () => surround({ racks: new Map(["r1", "r2"].map((rack) => [rack, watts(9000)])) }),
        // Another source that says the same of a node without pods.
        () => use(0),
        // The first reading of a source, corrected: there is no trend yet, and the rack has its own meter.
        () => use(10),
        () => use(20),
        // The same again, only newer.
        () => use((later(1), 20)),
        () => use((later(2), 50)),
        // Nothing is read, and what was read first is out of the trend.
        () => later(2.5),
        () => surround({ site: { it: watts(1000), cooling: watts(500) } }),
        () => surround({ site: { it: watts(1000), cooling: watts(600), ambient: celsius(33) } }),
      ];
      for (const happens of happenings) {
        happens();
        for (let pass = 0; pass < 2; pass++) view.show(passTwice(), now);
      }
    },
  );

  it("uses the sum of a rack's nodes for its supply, or the rack's meter if there is one", () => {
    const view = new Values()
      .add("a", { [labels.rack]: "r1" })
      .add("b", { [labels.rack]: "r1" })
      .add("c", { [labels.rack]: "r2" });
    const psu = (planned: ClusterPlan, name: string) => planned.nodes.get(name)?.status.predictedPsuStressScore ?? 0;
    // A small supply: published scores have one decimal, and these nodes draw little.
    const summed = passOver(view, { settings: configured({ REFERENCE_RACK_CAPACITY_W: "1000" }) });
    expect(psu(summed, "a")).toBe(psu(summed, "b"));
    expect(psu(summed, "a")).toBeGreaterThan(psu(summed, "c"));
    const racks = new Map([["r1", watts(25_000)]]);
    const metered = passOver(view, { telemetry: { ...nothingRead, facility: { ...nothingRead.facility, racks } } });
    expect(psu(metered, "a")).toBe(50);
  });

  it("X-46 keeps the target of a cordoned or reserved node, even if the settings changed", () => {
    const view = new Values().add("a").add("b").add("c").add("d");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const { labels: shown } = passOver(view).nodes.get("c") ?? {};
    view.add("c", shown, { unschedulable: true }).add("d", { ...shown, [labels.reserved]: "true" });
    const before = view.twin("c")?.spec;
    const planned = passOver(view, { settings: configured({ CPU_ECO_CAP_PCT_OF_MAX: "40", STATIC_HP_FRAC: "1" }) });
    expect(before?.cpu?.packagePowerCapPctOfMax).toBe(60);
    expect(planned.nodes.get("c")?.spec).toEqual(before);
    expect(planned.nodes.get("d")?.spec).toEqual({ ...before, nodeName: "d" });
    expect(planned.nodes.get("d")?.managed.eligibility).toBe("reserved");
  });

  it("a Node that was recreated under the same name starts without a trend", () => {
    const view = new Values().add("a");
    const nextPass = successivePasses();
    const trendAt = (minute: number, cpuCores: number) => {
      const now = instant(NOW + minute * MINUTE);
      const telemetry = { ...nothingRead, usage: new Map([["a", { cpuCores, at: now }]]) };
      return nextPass(view, { telemetry, now }).nodes.get("a")?.status.powerMeasurement?.powerTrendWPerMin;
    };
    trendAt(0, 10);
    expect(trendAt(1, 20)).toBeGreaterThan(0);
    view.add("a", { other: "label" });
    expect(trendAt(2, 30)).toBeGreaterThan(0);
    view.add("a", {}, {}, "another");
    expect(trendAt(3, 60)).toBe(0);
  });

  it("a static estimate increases with the node's pods", () => {
    const view = new Values().add("a").add("b");
    const nextPass = successivePasses();
    const power = (name: string) =>
      nextPass(view, { settings: configured({ STATIC_HP_FRAC: "1" }) }).nodes.get(name)?.status.powerMeasurement
        ?.measuredNodePowerW ?? Number.NaN;
    const idle = power("a");
    view.pod("a", false);
    expect(power("a")).toBeGreaterThan(idle);
    expect(power("b")).toBe(idle);
  });

  it("gives a node without a twin no eco caps, even with DRAINING_CAPS=eco", () => {
    const view = new Values().add("a").pod("a");
    const planned = passOver(view, { settings: configured({ STATIC_HP_FRAC: "0", DRAINING_CAPS: "eco" }) });
    expect(planned.nodes.get("a")).toMatchObject({ next: { state: "DrainingPerformance", caps: "performance" } });
  });
});

describe("eco caps in force", () => {
  it("OPR-27 stay as they are while a performance pod is on the node or pods are unknown, then follow the settings", () => {
    const view = new Values().add("a").add("b");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const lower = configured({ CPU_ECO_CAP_PCT_OF_MAX: "40" });
    const cap = () => passOver(view, { settings: lower }).nodes.get("b")?.spec.cpu?.packagePowerCapPctOfMax;
    expect(cap()).toBe(40);
    view.pod("b");
    expect(cap()).toBe(60);
    view.current = false;
    expect(cap()).toBe(60);
  });
});

describe("diffNode", () => {
  const settings = configured();
  const context = { now: NOW, settings, heartbeatDue: false, failure: undefined };
  const kindsFor = (planned: ClusterPlan, view: ClusterSnapshot, name: string, more = {}) => {
    const own = planned.nodes.get(name);
    if (own === undefined) throw new Error(`${name} is not planned`);
    return diffNode(own, view, { ...context, ...more }).steps.map(({ kind }) => kind);
  };

  it("X-22 orders the writes of a downgrade, a promotion and a new twin", () => {
    const view = new Values().add("a").add("b");
    const first = passOver(view);
    expect(kindsFor(first, view, "b")).toEqual(["spec", "status", "labels"]);
    view.show(first);
    const lowering = passOver(view);
    expect(kindsFor(lowering, view, "b")).toEqual(["status", "spec"]);
    view.show(lowering);
    const swapped = passOver(view.add("b", { "joulie.io/hw.cpu-cores": "512" }));
    expect(kindsFor(swapped, view, "a")).toEqual(["status", "labels", "spec"]);
    expect(kindsFor(swapped, view, "b")).toEqual(["spec", "status", "labels"]);
  });

  it("X-55 is empty when the cluster matches the plan, and a status write when the heartbeat is due", () => {
    const view = new Values().add("a").add("b");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const planned = passOver(view);
    for (const name of ["a", "b"]) {
      expect(kindsFor(planned, view, name)).toEqual([]);
      expect(kindsFor(planned, view, name, { heartbeatDue: true })).toEqual(["status"]);
    }
  });

  it("X-22 writes spec.caps over an older operator's spec with the heartbeat, so that an older CRD causes no write in every pass", () => {
    const view = new Values().add("a").add("b");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const twin = view.twin("b") as NodeTwin;
    expect(twin.spec.caps).toEqual({ profile: "eco", cpu: "profile" });
    const { caps: _, ...spec } = twin.spec;
    view.twins.set("b", { ...twin, spec });
    const planned = passOver(view);
    expect(kindsFor(planned, view, "b")).toEqual([]);
    expect(kindsFor(planned, view, "b", { heartbeatDue: true })).toEqual(["status", "spec"]);
  });

  it("X-22 lowers no caps of a node that no longer publishes eco", () => {
    const view = new Values().add("a").add("b");
    view.show(passOver(view));
    const lowering = passOver(view);
    view.add("b");
    expect(kindsFor(lowering, view, "b")).toEqual(["status", "labels"]);
  });

  it("X-55 reports a rejected target once before it is retried, without the agent's controlStatus", () => {
    const view = new Values().add("a").add("b");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const twin = view.twins.get("b") as NodeTwin;
    view.twins.set("b", { ...twin, status: { ...twin.status, controlStatus: { cpu: { result: "applied" } } } });
    const planned = passOver(view.add("b", { ...view.node("b")?.metadata.labels, "joulie.io/hw.cpu-cores": "512" }));
    const refused = { failure: { step: "spec", message: "spec: forbidden" } };
    expect(kindsFor(planned, view, "b", refused)).toEqual(["status", "spec", "status", "labels"]);
    const own = planned.nodes.get("b");
    const [reported] = own === undefined ? [] : diffNode(own, view, { ...context, ...refused }).steps;
    expect(reported).toMatchObject({ status: { schedulableClass: "eco", conditions: [{ status: "False" }] } });
    expect(reported).not.toHaveProperty("status.controlStatus");
    view.twins.set("b", { ...twin, status: (reported as { status: NonNullable<NodeTwin["status"]> }).status });
    expect(kindsFor(planned, view, "b", refused)).toEqual(["spec", "status", "labels"]);
    // A status that is refused must not keep caps from being raised.
    view.twins.set("b", twin);
    const statusRefused = { failure: { step: "status", message: "status: forbidden" } };
    expect(kindsFor(planned, view, "b", statusRefused)).toEqual(["spec", "status", "labels"]);
  });

  it("marks downgrades that must not be written if a performance pod arrived", () => {
    const view = new Values().add("a").add("b");
    const goesDown = passOver(view).nodes.get("b");
    expect(goesDown && diffNode(goesDown, view, context).needsNoPerformancePods).toBe(true);
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const stays = passOver(view).nodes.get("b");
    expect(stays && diffNode(stays, view, context).needsNoPerformancePods).toBe(false);
  });

  it("changes below the deadband wait for the heartbeat", () => {
    const view = new Values().add("a").add("b");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const warmer = (ambient: number) =>
      passOver(view, {
        telemetry: { ...nothingRead, facility: { ...nothingRead.facility, site: { ambient: ambient as never } } },
      });
    expect(kindsFor(warmer(21), view, "a")).toEqual([]);
    expect(kindsFor(warmer(24), view, "a")).toEqual(["status"]);
  });

  it("restores a missing ownerReference of a twin", () => {
    const view = new Values().add("a");
    for (let pass = 0; pass < 3; pass++) view.show(passOver(view));
    const twin = view.twins.get("a") as NodeTwin;
    view.twins.set("a", { ...twin, metadata: { name: "a" } });
    expect(kindsFor(passOver(view), view, "a")).toEqual(["spec"]);
  });
});
