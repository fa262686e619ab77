import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod } from "./testing/test-harness.ts";

/** Nodes have 64 cores, pods request 4. */
const policy = { POLICY_TYPE: "fit_aware_v1", FIT_RESERVE: "0" };
const SOON = 5;
const MINUTE = 60;
const NODES = ["a", "b", "c"];

describe("fit_aware_v1", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of NODES) await harness.createNode(name);
  });
  afterEach(async () => harness.end());

  const profiles = async () => {
    const specs = await Promise.all(NODES.map(async (name) => (await harness.twin(name)).spec.profile));
    return specs.map((profile) => (profile === "performance" ? "P" : "e")).join("");
  };
  const pending = async (name: string, spec: Readonly<Record<string, unknown>> = {}) =>
    harness.createPod(name, undefined, { ...performancePod, spec });
  const remove = async (name: string) => harness.user.delete(resources.pods, { name, namespace: "default" });
  const resourcesOf = (cpu: string) => ({
    containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }],
  });

  it("POL-28 POL-33 caps an idle cluster, and promotes a node within a second of a pending performance pod", async () => {
    harness.start(policy);
    await harness.advance(3 * SOON);
    expect(await profiles()).toBe("eee");
    expect(await harness.shown("a")).toEqual({ spec: "eco", class: "eco", labels: "eco false", cap: 60 });
    await pending("urgent");
    await harness.advance(0.75);
    expect(await harness.shown("a")).toEqual({
      spec: "performance",
      class: "performance",
      labels: "performance false",
      cap: 100,
    });
    expect(await profiles()).toBe("Pee");
  });

  it("POL-33 changes that follow each other still get a pass within a second", async () => {
    harness.start(policy);
    await harness.advance(3 * SOON);
    await harness.createPod("other", "c", performancePod);
    await harness.advance(0.5);
    await pending("urgent", { nodeSelector: { "joulie.io/power-profile": "performance" }, ...resourcesOf("62") });
    await harness.advance(0.5);
    // c has no room for it.
    expect(await profiles()).toBe("PeP");
  });

  it("POL-29 a pending pod with a selector promotes the node that it selects", async () => {
    harness.start(policy);
    await harness.label("b", { disk: "ssd" });
    await harness.advance(3 * SOON);
    await pending("urgent", { nodeSelector: { disk: "ssd", "joulie.io/power-profile": "performance" } });
    await harness.advance(1);
    expect(await profiles()).toBe("ePe");
  });

  it("POL-32 a node without performance pods becomes eco after PROFILE_MIN_DWELL, not before", async () => {
    harness.start(policy);
    await harness.advance(3 * SOON);
    await pending("urgent");
    await harness.advance(SOON);
    await remove("urgent");
    await harness.advance(4 * MINUTE);
    expect(await profiles()).toBe("Pee");
    await harness.advance(3 * MINUTE);
    expect(await profiles()).toBe("eee");
  });

  it("POL-28 a performance pod that was bound to an eco node promotes it", async () => {
    harness.start(policy);
    await harness.advance(3 * SOON);
    await harness.createPod("intruder", "b", performancePod);
    await harness.advance(2);
    expect(await harness.shown("b")).toMatchObject({ spec: "performance", cap: 100 });
  });

  it("POL-31 keeps room for arrivals like those of the last day, also after a restart", async () => {
    const first = harness.start({ ...policy, FIT_RESERVE: "1" });
    await harness.advance(3 * SOON);
    // Seventeen pods need two nodes, and so does the reserve once they have finished.
    for (let pod = 0; pod < 17; pod++) await pending(`burst-${pod}`);
    await harness.advance(SOON);
    for (let pod = 0; pod < 17; pod++) await harness.finishPod(`burst-${pod}`);
    await harness.advance(10 * MINUTE);
    expect(await profiles()).toBe("PPe");
    await first.stop();
    harness.start({ ...policy, FIT_RESERVE: "1" });
    await harness.advance(10 * MINUTE);
    expect(await profiles()).toBe("PPe");
  });

  it("X-150 remembers the node that it keeps free for a pod, also after a restart", async () => {
    const first = harness.start(policy);
    await harness.advance(3 * SOON);
    for (const name of NODES)
      await harness.createPod(`filler-${name}`, name, { spec: resourcesOf(name === "b" ? "58" : "60") });
    await pending("large", resourcesOf("16"));
    await harness.advance(SOON);
    const chosen = (await harness.twin("b")).status?.awaitedBy;
    expect(chosen).toMatchObject({ pod: "default/large", spare: { cpu: 0 } });
    await first.stop();
    // Another node has to free less now.
    await harness.finishPod("filler-a");
    await harness.createPod("smaller", "a", { spec: resourcesOf("50") });
    harness.start(policy);
    await harness.advance(10 * MINUTE);
    expect((await harness.twin("b")).status?.awaitedBy).toEqual(chosen);
    expect(await profiles()).toBe("ePe");
    await remove("large");
    await harness.advance(2 * MINUTE);
    const { until = "" } = (await harness.twin("b")).status?.awaitedBy ?? {};
    expect(Date.parse(until)).toBeLessThanOrEqual(harness.clock.now());
  });

  it("POL-30 counts pending performance pods by what it has for them, on a page and in a metric", async () => {
    const operator = harness.start(policy);
    await harness.advance(3 * SOON);
    await pending("urgent");
    await pending("huge", resourcesOf("65"));
    await harness.advance(SOON);
    expect(JSON.parse((await operator.page("/debug/plan")).text)).toMatchObject({
      pendingPerformancePods: { onPerformance: 1, onPromoted: 0, unplaced: 1 },
    });
    expect(await operator.series("pending_performance_pods", "")).toEqual([
      'joulie_operator_pending_performance_pods{fit="performance_node"} 1',
      'joulie_operator_pending_performance_pods{fit="promotion"} 0',
      'joulie_operator_pending_performance_pods{fit="none"} 1',
    ]);
  });
});

describe("ECO_MAX_SLOWDOWN_PCT", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    await harness.createNode("n", { "joulie.io/hw.cpu-model": "Intel-Xeon-Platinum-8480" });
    await harness.pin("n", { profile: "eco" });
  });
  afterEach(async () => harness.end());

  it("X-111 X-112 X-115 halves the bound while a pod waits and for ten minutes afterwards, without listing pods again", async () => {
    let listed = 0;
    harness.intercept(async (request, go) => {
      if (request.path.includes("spec.nodeName")) listed++;
      return go();
    });
    harness.start({ ECO_MAX_SLOWDOWN_PCT: "10" });
    await harness.advance(3 * SOON);
    const slowdown = async () => (await harness.twin("n")).status?.expectedSlowdownPct ?? Number.NaN;
    const calm = await slowdown();
    expect(calm).toBeGreaterThan(9);
    expect(calm).toBeLessThanOrEqual(10);
    const before = listed;
    await harness.createPod("waiting", undefined);
    await harness.advance(2 * MINUTE);
    expect(await slowdown()).toBeLessThanOrEqual(5);
    await harness.user.bind({ name: "waiting", namespace: "default" }, "n");
    await harness.advance(9 * MINUTE);
    expect(await slowdown()).toBeLessThanOrEqual(5);
    await harness.advance(2 * MINUTE);
    expect(await slowdown()).toBe(calm);
    expect(listed).toBe(before);
  });
});
