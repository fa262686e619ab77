import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds, type NodeTwinStatus } from "../../core/api/index.ts";
import { hardwareView } from "../../core/inventory/index.ts";
import { instant, joules, milliseconds, seconds, watts } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, resources } from "../../platform/kube/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { ClusterObserver, type ClusterObserverOptions } from "./cluster-observer.ts";

const MINUTE = 60_000;
const hardware = hardwareView(
  { metadata: { name: "", labels: { "joulie.io/hw.cpu-model": "AMD-EPYC-7763", "joulie.io/hw.cpu-sockets": "2" } } },
  undefined,
);

describe("ClusterObserver", () => {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1, 18)));
  let api: EmbeddedApi;
  let hand: KubeClient;
  let observer: ClusterObserver;
  const off = new Set<string>();

  beforeEach(async () => {
    api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
    hand = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "a-person" });
    off.clear();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of it as the observer reads
    const datacenter = {
      size: 2,
      has: (node: string) => ["a", "b"].includes(node),
      machine: (node: string) => ({ spec: { hardware }, physics: { caps: {} }, power: off.has(node) ? "off" : "on" }),
      offences: { pods: 0, podSeconds: 0, first: [] },
      totals: { seconds: seconds(1), watts: watts(1), joules: joules(1) },
    } as unknown as ClusterObserverOptions["datacenter"];
    observer = new ClusterObserver({
      client: hand,
      clock,
      ioClock: clock,
      random: seededRandom(3),
      log: createLogger({ level: "silent", program: "test" }),
      datacenter,
      namespace: "joulie-demo",
      stale: milliseconds(5 * MINUTE),
      settling: milliseconds(MINUTE),
      wakeMargin: () => milliseconds(MINUTE),
    });
    observer.start();
    await settle();
  });
  afterEach(async () => {
    await Promise.all([observer.stop(), settle()]);
    await api.close();
  });

  const settle = async () => {
    for (let turn = 0; turn < 30; turn++) await clock.advanceAsync(milliseconds(10));
  };
  const publish = async (node: string, schedulableClass: NodeTwinStatus["schedulableClass"]) => {
    const lastUpdated = new Date(clock.now()).toISOString();
    const spec = { nodeName: node, profile: "performance", cpu: { packagePowerCapPctOfMax: 100 } };
    await hand.apply(resources.nodeTwins, { name: node }, { spec });
    const powerMeasurement = { nodeCappedPowerW: 300, nodeTdpW: 500 };
    const status = { schedulableClass, lastUpdated, powerMeasurement };
    await hand.apply(resources.nodeTwins, { name: node }, { status }, { subresource: "status" });
    await settle();
  };
  const submit = async (name: string, performance = true) => {
    const metadata = {
      name,
      labels: { "joulie.io/simulated": "true" },
      annotations: { "joulie.io/workload-class": performance ? "performance" : "standard" },
    };
    await hand.create(
      resources.pods,
      { metadata, spec: { containers: [{ name: "main", image: "none" }] } },
      { namespace: "default" },
    );
    await settle();
  };
  const bind = async (name: string, node: string) => {
    await hand.create(resources.nodes, { metadata: { name: node } }).catch(() => undefined);
    await hand.bind({ name, namespace: "default" }, node);
    await settle();
  };
  const finish = async (name: string) => {
    const at = { name, namespace: "default" };
    await hand.mergePatch(resources.pods, at, { status: { phase: "Succeeded" } }, { subresource: "status" });
    await settle();
  };
  const look = () => {
    observer.runPeriodicChecks();
    observer.runPeriodicChecks();
  };

  it("counts classes, budgets and fresh twins of the simulated nodes", async () => {
    await publish("a", "performance");
    await publish("b", "eco");
    await publish("stranger", "eco");
    expect(observer.classes).toEqual({ performance: 1, eco: 2, draining: 0, asleep: 0, unknown: 0 });
    expect(observer.budget).toEqual({ capped: 900, uncapped: 1500 });
    expect(observer.twins).toMatchObject({ nodes: 2, twins: 2, fresh: 2 });
    await clock.advanceAsync(milliseconds(6 * MINUTE));
    await publish("b", "eco");
    expect(observer.twins).toMatchObject({ twins: 2, fresh: 1 });
    expect(observer.twins.oldest).toBeGreaterThan(6 * MINUTE);
  });

  it.each([
    ["stopping", 1],
    ["off", 0],
    ["waking", 1],
    ["on", 0],
  ] as const)("counts a node whose machine is %s as %s between on and off", async (state, count) => {
    await publish("b", "asleep");
    const power = { state, since: new Date(clock.now()).toISOString() };
    await hand.mergePatch(resources.nodeTwins, { name: "b" }, { status: { power } }, { subresource: "status" });
    await settle();
    expect(observer.betweenStates).toBe(count);
  });

  it("observes a drain from start through waiting pods to its end", async () => {
    await publish("a", "performance");
    await submit("job");
    await bind("job", "a");
    await publish("a", "draining");
    await finish("job");
    await publish("a", "eco");
    expect(observer.drains.counts).toEqual({ deferred: 1, completed: 1, takenBack: 0 });
    expect(observer.pods).toEqual({ waiting: 0, running: 0, performance: 0, finished: 1 });
  });

  it("compares caps only after the settling time", async () => {
    await publish("a", "performance");
    look();
    expect(observer.caps.figures.compared).toBe(0);
    await clock.advanceAsync(milliseconds(MINUTE));
    look();
    expect(observer.caps.figures).toMatchObject({ compared: 2, different: 0 });
  });

  it("compares no caps while Joulie is stopped, and then only after they settled again", async () => {
    await publish("a", "performance");
    const stop = async (value: string | null) => {
      const metadata = { annotations: { "joulie.io/stop": value } };
      await hand.mergePatch(resources.namespaces, { name: "joulie-demo" }, { metadata });
      await settle();
    };
    await hand.create(resources.namespaces, { metadata: { name: "joulie-demo" } });
    await stop("true");
    await clock.advanceAsync(milliseconds(2 * MINUTE));
    look();
    await stop(null);
    look();
    expect(observer.caps.figures.compared).toBe(0);
    await clock.advanceAsync(milliseconds(MINUTE));
    look();
    expect(observer.caps.figures.compared).toBe(2);
  });

  it("finds no twin late while Joulie is stopped, because the operator refreshes none", async () => {
    await publish("a", "performance");
    await clock.advanceAsync(milliseconds(60 * MINUTE));
    expect(observer.twins).toMatchObject({ twins: 1, fresh: 0, oldest: expect.any(Number) });
    const metadata = { name: "joulie-demo", annotations: { "joulie.io/stop": "true" } };
    await hand.create(resources.namespaces, { metadata });
    await settle();
    expect(observer.twins).toMatchObject({ twins: 1, fresh: 1, oldest: undefined });
  });

  it("reports how long a job has been waiting for its first scheduling attempt", async () => {
    await submit("first");
    await clock.advanceAsync(milliseconds(MINUTE));
    await submit("second");
    expect(observer.unseen).toBeGreaterThan(MINUTE);
    await bind("first", "a");
    expect(observer.unseen).toBeLessThan(MINUTE);
    expect(observer.pods).toMatchObject({ waiting: 1, running: 1, performance: 1 });
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable" };
    const status = { status: { conditions: [condition] } };
    await hand.mergePatch(resources.pods, { name: "second", namespace: "default" }, status, { subresource: "status" });
    await settle();
    expect(observer.unseen).toBe(0);
  });

  it("detects a pod that was bound to a machine that is off", async () => {
    await publish("a", "performance");
    await submit("job", false);
    off.add("a");
    await bind("job", "a");
    look();
    const checks = observer.checks({ twins: false, drains: undefined, figures: false, any: false, sleep: false });
    expect(checks.find(({ name }) => name === "no pod was bound to a sleeping node")).toMatchObject({
      ok: false,
      figures: { pods: 1, toMachinesOff: 1, examples: ["default/job on a, which was off"] },
    });
  });

  it("counts sleeps from published power states, and measures waits for a wake from the operator's Event", async () => {
    await publish("b", "eco");
    for (const state of ["stopping", "off", "waking", "on"] as const) {
      const power = { state, since: new Date(clock.now()).toISOString() };
      await hand.mergePatch(resources.nodeTwins, { name: "b" }, { status: { power } }, { subresource: "status" });
      await settle();
    }
    expect(observer.sleeps.counts).toEqual({ sleeps: 1, wakes: 1, failedWakes: 0 });
    await submit("job");
    await hand.create(
      resources.events,
      {
        metadata: { name: "waits" },
        eventTime: "2030-01-01T18:00:00.000000Z",
        reportingController: "joulie.io/operator",
        reportingInstance: "x",
        action: "WakeNode",
        reason: "WaitsForNode",
        type: "Normal",
        note: "waking node b, about 4 min",
        regarding: { apiVersion: "v1", kind: "Pod", name: "job", namespace: "default" },
      },
      { namespace: "default" },
    );
    await settle();
    await clock.advanceAsync(milliseconds(4 * MINUTE));
    look();
    expect(observer.wakeWaits.figures).toMatchObject({ pods: 1, late: 0 });
    await clock.advanceAsync(milliseconds(2 * MINUTE));
    look();
    expect(observer.wakeWaits.figures.late).toBe(1);
    await bind("job", "b");
    const waited = observer.wakeWaits.figures.longestPerformance;
    expect(waited).toBeGreaterThan(360);
    await clock.advanceAsync(milliseconds(2 * MINUTE));
    look();
    expect(observer.wakeWaits.figures.longestPerformance).toBe(waited);
  });
});
