import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds, type NodeTwinStatus } from "../../core/api/index.ts";
import { hardwareView } from "../../core/inventory/index.ts";
import { type Instant, instant, joules, milliseconds, seconds, watts } from "../../core/units/index.ts";
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
  let asked: Instant | undefined;
  const off = new Set<string>();

  beforeEach(async () => {
    api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
    hand = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "a-person" });
    asked = undefined;
    off.clear();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of it as the observer reads
    const datacenter = {
      size: 2,
      has: (node: string) => ["a", "b"].includes(node),
      machine: (node: string) => ({ spec: { hardware }, physics: { caps: {} }, power: off.has(node) ? "off" : "on" }),
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
      askedAt: () => asked,
      hearing: () => milliseconds(0),
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
  const createEndpoint = async () => {
    const spec = { nodeName: "a", webhook: { url: "https://switch.example" } };
    await hand.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
  };
  const power = async (status: object) => {
    await hand.mergePatch(resources.powerEndpoints, { name: "a" }, { status }, { subresource: "status" });
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
    expect(observer.history.drains).toEqual({ deferred: 1, completed: 1, takenBack: 0 });
    expect(observer.pods).toEqual({ waiting: 0, running: 0, performance: 0, finished: 1 });
  });

  it("detects a performance pod bound to a draining node, but ignores a standard pod", async () => {
    await publish("a", "draining");
    await submit("job");
    await submit("other", false);
    await bind("job", "a");
    await bind("other", "a");
    asked = clock.now();
    look();
    expect(observer.placements.figures).toMatchObject({ performancePods: 1, onEcoOrDraining: 1 });
  });

  it("uses the class that was in effect at the binding, not a later one", async () => {
    await publish("a", "performance");
    await submit("job");
    await bind("job", "a");
    await publish("a", "draining");
    look();
    expect(observer.placements.figures).toMatchObject({ performancePods: 1, onEcoOrDraining: 0 });
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
    expect(observer.sleepBindings.figures).toMatchObject({ pods: 1, violations: 1 });
  });

  it("detects pods that were bound to a node after its sleep, and accepts those before it and after its wake", async () => {
    await createEndpoint();
    for (const name of ["first", "second", "third"]) await submit(name, false);
    await bind("first", "a");
    await finish("first");
    await power({ lastSleep: { at: "2030-01-01T18:00:00Z", result: "succeeded" } });
    await bind("second", "a");
    await power({ lastWake: { at: "2030-01-01T18:01:00Z", result: "succeeded" } });
    await bind("third", "a");
    look();
    expect(observer.sleepBindings.figures).toEqual({
      pods: 3,
      violations: 1,
      examples: ["default/second was bound to a, which was off"],
    });
  });

  it("detects a pod that was deleted after the node fell asleep, and one before the PowerEndpoint was deleted", async () => {
    await createEndpoint();
    const at = "2030-01-01T18:00:00Z";
    for (const name of ["goes", "late"]) await submit(name, false);
    await power({ operation: { type: "sleep", step: "count", startedAt: at, stepAt: at } });
    await bind("goes", "a");
    await power({ operation: null, lastSleep: { at, result: "succeeded" } });
    await hand.delete(resources.pods, { name: "goes", namespace: "default" });
    await clock.advanceAsync(milliseconds(MINUTE));
    await bind("late", "a");
    await hand.delete(resources.powerEndpoints, { name: "a" });
    await settle();
    look();
    expect(observer.sleepBindings.figures.examples).toEqual([
      "default/goes was bound to a before it was switched off, and did not stop that",
      "default/late was bound to a, which was off",
    ]);
  });

  it("does not count a pod that has ended or was deleted before the node fell asleep", async () => {
    await createEndpoint();
    const at = "2030-01-01T18:00:00Z";
    for (const name of ["ends", "goes", "stays"]) await submit(name, false);
    await power({ operation: { type: "sleep", step: "count", startedAt: at, stepAt: at } });
    for (const name of ["ends", "goes", "stays"]) await bind(name, "a");
    await finish("ends");
    await hand.delete(resources.pods, { name: "goes", namespace: "default" });
    // The grace period of a bound pod.
    await clock.advanceAsync(milliseconds(MINUTE));
    await settle();
    await power({ operation: null, lastSleep: { at, result: "succeeded" } });
    look();
    expect(observer.sleepBindings.figures).toMatchObject({ pods: 3, violations: 1 });
    expect(observer.sleepBindings.figures.examples[0]).toContain("default/stays");
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
    expect(observer.wakeWaits.figures).toMatchObject({ pods: 1, performancePods: 1, late: 0 });
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
