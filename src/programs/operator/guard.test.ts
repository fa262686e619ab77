import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { OperatorTestHarness, performancePod, type RecordedWrite } from "./testing/test-harness.ts";

const performance = { spec: "performance", class: "performance", labels: "performance false", cap: 100 };
const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };
const draining = { spec: "eco draining", class: "draining", labels: "eco true", cap: 100 };
/** Makes a node the densest, so that it takes the one performance place. */
const dense = { "joulie.io/hw.cpu-cores": "512" };
const TICK = 62;
const SOON = 5;

describe("the downgrade guard, end to end", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    for (const name of ["a", "b"]) await harness.createNode(name);
  });
  afterEach(async () => harness.end());

  const transitions = async (operator: ReturnType<OperatorTestHarness["start"]>, node: string) =>
    (await operator.series("state_transitions_total", `node="${node}"`)).map(
      (line) => /from_state="(\w+)",to_state="(\w+)",result="(\w+)"} (\d+)/.exec(line)?.slice(1).join(" ") ?? line,
    );

  it("OPR-14 OPR-19 OPR-20 OPR-22 starts a node without a NodeTwin at performance and downgrades it when it has no performance pod", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    expect(await harness.shown("a")).toEqual(performance);
    expect(await harness.shown("b")).toEqual(eco);
    expect(await transitions(operator, "a")).toEqual([]);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance ActiveEco applied 1"]);
  });

  it("OPR-15 OPR-16 OPR-17 OPR-18 OPR-21 X-22 X-23 X-72 drains a node with a performance pod: publishes eco in spec, class and label, with performance caps", async () => {
    await harness.createPod("worker", "b", performancePod);
    const operator = harness.start();
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(draining);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance DrainingPerformance deferred 1"]);
    expect((await harness.events()).filter(({ reason }) => reason === "DowngradeDeferred")).toMatchObject([
      { regarding: { name: "b" }, note: expect.stringContaining("1 performance pod") as unknown },
    ]);
  });

  it("OPR-23 OPR-29 X-16 keeps the node draining while the pod runs, and counts and reports it once", async () => {
    await harness.createPod("worker", "b", performancePod);
    const operator = harness.start();
    await harness.advance(3 * TICK);
    expect(await harness.shown("b")).toEqual(draining);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance DrainingPerformance deferred 1"]);
    const reported = (await harness.events()).filter(({ regarding }) => regarding.name === "b");
    expect(reported).toHaveLength(1);
    expect(reported[0]).not.toHaveProperty("series");
    const logged = operator.logs.filter(({ msg }) => msg.startsWith("state changed"));
    expect(logged.map(({ values }) => JSON.stringify(values)).join()).toContain("DrainingPerformance");
    expect(logged.length).toBeLessThan(4);
  });

  it("OPR-19 OPR-24 changes the node to eco after the last performance pod ended, and sets eco caps in a later pass", async () => {
    await harness.createPod("worker", "b", performancePod);
    const operator = harness.start();
    await harness.advance(SOON);
    operator.written();
    await harness.finishPod("worker");
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(eco);
    expect(order(operator.written(), "b")).toEqual([
      "status eco cap 100",
      "labels draining=false",
      "spec eco cap 100",
      "status eco cap 60",
      "spec eco cap 60",
    ]);
    expect(await transitions(operator, "b")).toContain("DrainingPerformance ActiveEco applied 1");
  });

  it("X-22 sets no eco caps if a pod is bound while the downgrade is being written", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    operator.written();
    const heal = harness.api.faults.add({
      fault: { kind: "latency", length: milliseconds(4000) },
      when: ({ method, path }) => method === "PATCH" && path.includes("/nodetwins/a/status"),
    });
    await harness.label("b", dense);
    await harness.advance(3);
    await harness.createPod("late", "a", performancePod);
    await harness.advance(1);
    heal();
    await harness.advance(2 * TICK);
    expect(await harness.shown("a")).toEqual(draining);
    expect(order(operator.written(), "a").filter((line) => line.endsWith("cap 60"))).toEqual([]);
  });

  it("X-22 sets no eco caps if a pod is bound before they are written", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    operator.written();
    const isLowering = (body: unknown) => String(body).includes('"cpuPct":60');
    const heal = harness.api.faults.add({
      fault: { kind: "latency", length: milliseconds(4000) },
      when: ({ path, body }) => path.includes("/nodetwins/a/status") && isLowering(body),
    });
    await harness.label("b", dense);
    await harness.advance(4);
    await harness.createPod("late", "a", performancePod);
    await harness.advance(1);
    heal();
    await harness.advance(2 * TICK);
    expect(await harness.shown("a")).toEqual({ ...eco, cap: 100 });
    expect(order(operator.written(), "a").filter((line) => line === "spec eco cap 60")).toEqual([]);
  });

  it("OPR-25 returns a draining node to performance when the plan changes back", async () => {
    await harness.createPod("worker", "b", performancePod);
    const operator = harness.start();
    await harness.advance(SOON);
    await harness.label("b", dense);
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(performance);
    expect(await transitions(operator, "b")).toContain("DrainingPerformance ActivePerformance applied 1");
  });

  it("OPR-26 X-22 promotes an eco node in order: caps, class, labels", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    operator.written();
    await harness.label("b", dense);
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(performance);
    expect(order(operator.written(), "b")).toEqual([
      "spec performance cap 100",
      "status performance cap 100",
      "labels power-profile=performance",
    ]);
    expect(await transitions(operator, "b")).toContain("ActiveEco ActivePerformance applied 1");
  });

  it("X-22 downgrades in order: class and labels, spec, and eco caps only after they are published", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    operator.written();
    await harness.label("b", dense);
    await harness.advance(SOON);
    expect(await harness.shown("a")).toEqual(eco);
    expect(order(operator.written(), "a")).toEqual([
      "status eco cap 100",
      "labels power-profile=eco",
      "spec eco cap 100",
      "status eco cap 60",
      "spec eco cap 60",
    ]);
  });

  it("OPR-27 reports a performance pod on an eco node once, by Event and metric, and changes nothing", async () => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    await harness.createPod("stray", "b", performancePod);
    await harness.advance(2 * TICK);
    expect(await harness.shown("b")).toEqual(eco);
    expect(await operator.series("performance_pods_on_eco", 'node="b"')).toEqual([
      'joulie_operator_performance_pods_on_eco{node="b"} 1',
    ]);
    const reported = (await harness.events()).filter(({ reason }) => reason === "PerformancePodOnEco");
    expect(reported).toHaveLength(1);
    expect(reported[0]).not.toHaveProperty("series");
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance ActiveEco applied 1"]);
  });

  it("X-23 DRAINING_CAPS=eco lowers a draining node's caps", async () => {
    await harness.createPod("worker", "b", performancePod);
    harness.start({ DRAINING_CAPS: "eco" });
    await harness.advance(SOON + TICK);
    expect(await harness.shown("b")).toEqual({ ...draining, cap: 60 });
  });

  it("X-24 downgrades no node while pods cannot be read, but publishes twins, and continues afterwards", async () => {
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    const operator = harness.start();
    await harness.advance(TICK);
    expect(await harness.shown("b")).toEqual(performance);
    expect(operator.logs.some((line) => JSON.stringify(line).includes("no node is downgraded"))).toBe(true);
    heal();
    await harness.advance(TICK);
    expect(await harness.shown("b")).toEqual(eco);
  });

  it("X-24 downgrades no node while the pod list is stale", async () => {
    harness.start();
    await harness.advance(SOON + 5);
    const heal = harness.api.faults.add({
      fault: { kind: "refused" },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    harness.api.faults.dropWatches();
    await harness.advance(160);
    await harness.label("b", dense);
    await harness.advance(TICK);
    expect(await harness.shown("b")).toEqual(performance);
    expect(await harness.shown("a")).toEqual(performance);
    heal();
    await harness.advance(2 * TICK);
    expect(await harness.shown("a")).toEqual(eco);
  });

  it.each([
    ["unreachable", { kind: "refused" }],
    ["forbidden", { kind: "status", code: 403 }],
  ] as const)("X-24 a list of NodePowerProfiles that went %s keeps nodes from going down as well", async (_, fault) => {
    const operator = harness.start();
    await harness.advance(SOON + 5);
    const heal = harness.api.faults.add({ fault, when: ({ path }) => path.includes("/nodepowerprofiles") });
    harness.api.faults.dropWatches();
    await harness.advance(160);
    await harness.label("b", dense);
    await harness.advance(TICK);
    expect(await harness.shown("b")).toEqual(performance);
    expect(await harness.shown("a")).toEqual(performance);
    const logged = operator.logs
      .map((line) => JSON.stringify(line))
      .filter((line) => line.includes("no node is downgraded"));
    expect(logged.join()).toContain("profiles");
    expect(await operator.series("joulie_operator_pods_readable")).toEqual(["joulie_operator_pods_readable 0"]);
    heal();
    await harness.advance(2 * TICK);
    expect(await harness.shown("a")).toEqual(eco);
  });

  it("X-24 downgrades no node before NodePowerProfiles were read, and continues afterwards", async () => {
    await harness.pin("b", { profile: "performance" });
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.includes("/nodepowerprofiles"),
    });
    harness.start();
    await harness.advance(2 * TICK);
    expect(await harness.findTwin("b")).toBeUndefined();
    heal();
    await harness.advance(TICK);
    expect(await harness.shown("b")).toEqual(performance);
    expect(await harness.shown("a")).toEqual(eco);
  });

  it("X-25 OPR-10 counts bound pending pods and terminating pods, but not finished pods", async () => {
    await harness.createPod("pending", "b", performancePod);
    await harness.createPod("done", "b", performancePod);
    await harness.finishPod("done");
    harness.start();
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(draining);
    await harness.user.delete(resources.pods, { name: "pending", namespace: "default" });
    await harness.advance(25);
    expect(await harness.shown("b")).toEqual(draining);
    await harness.advance(10);
    expect(await harness.shown("b")).toEqual(eco);
  });

  it("OPR-10 counts a pod whose affinity excludes eco, but not one that accepts both profiles", async () => {
    const required = (values: string[]) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "joulie.io/power-profile", operator: "In", values }] }],
          },
        },
      },
    });
    await harness.createPod("either", "b", { spec: required(["eco", "performance"]) });
    harness.start();
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(eco);
    await harness.createPod("picky", "a", { spec: required(["performance"]) });
    await harness.label("b", dense);
    await harness.advance(SOON);
    expect(await harness.shown("a")).toEqual(draining);
  });

  it("OPR-13 X-27 queue_aware_v1 counts pending pods that have no node yet", async () => {
    for (const name of ["c", "d"]) await harness.createNode(name);
    harness.start({
      POLICY_TYPE: "queue_aware_v1",
      QUEUE_HP_BASE_FRAC: "0",
      QUEUE_HP_MIN: "1",
      QUEUE_PERF_PER_HP_NODE: "1",
    });
    await harness.advance(SOON + 5);
    const performing = async () => {
      const shown = await Promise.all(["a", "b", "c", "d"].map(async (name) => harness.shown(name)));
      return shown.filter(({ spec }) => spec === "performance").length;
    };
    expect(await performing()).toBe(1);
    for (const name of ["x", "y", "z"]) await harness.createPod(name, undefined, performancePod);
    await harness.advance(SOON);
    expect(await performing()).toBe(3);
  });

  it("X-27 scheduling-gated pods do not raise P until their gates are removed", async () => {
    harness.start({
      POLICY_TYPE: "queue_aware_v1",
      QUEUE_HP_BASE_FRAC: "0",
      QUEUE_HP_MIN: "1",
      QUEUE_PERF_PER_HP_NODE: "1",
    });
    await harness.advance(SOON + 5);
    expect((await harness.shown("b")).spec).toBe("eco");
    const schedulingGates = [{ name: "example.com/quota" }];
    for (const name of ["x", "y", "z"])
      await harness.createPod(name, undefined, { ...performancePod, spec: { schedulingGates } });
    await harness.advance(TICK);
    expect((await harness.shown("b")).spec).toBe("eco");
    const ungated = { spec: { schedulingGates: [] } };
    for (const name of ["x", "y"])
      await harness.user.mergePatch(resources.pods, { name, namespace: "default" }, ungated);
    await harness.advance(SOON);
    expect((await harness.shown("b")).spec).toBe("performance");
  });

  it("OPR-20 OPR-28 resumes from the NodeTwin after a restart and never modifies a pod", async () => {
    await harness.createPod("worker", "b", performancePod);
    const first = harness.start();
    await harness.advance(SOON);
    await first.stop();
    const second = harness.start();
    await harness.advance(SOON + TICK);
    expect(await harness.shown("b")).toEqual(draining);
    expect(await transitions(second, "b")).toEqual([]);
    expect([...first.writes, ...second.writes].filter(({ path }) => path.includes("/pods"))).toEqual([]);
  });

  it("X-46 X-90 re-checks and releases a node that was cordoned while draining", async () => {
    await harness.createPod("worker", "b", performancePod);
    harness.start();
    await harness.advance(SOON);
    await harness.cordon("b");
    await harness.advance(SOON);
    expect(await harness.shown("b")).toEqual(draining);
    await harness.finishPod("worker");
    await harness.advance(SOON + 5);
    expect(await harness.shown("b")).toEqual(eco);
  });
});

/** A node's writes in the order in which they were sent, in short; a status that only moves figures is left out. */
function order(writes: readonly RecordedWrite[], node: string): string[] {
  let last = "";
  return writes
    .filter(({ path }) => path.split("/").includes(node))
    .map(({ path, body }) => (path.includes("/nodes/") ? labelsIn(body) : targetIn(body)))
    .filter((line) => {
      const repeated = line.startsWith("status") && line === last;
      if (line.startsWith("status")) last = line;
      return !repeated;
    });
}

function labelsIn(body: RecordedWrite["body"]): string {
  const { labels } = (body as { metadata: { labels: Record<string, string> } }).metadata;
  const [[key, value] = []] = Object.entries(labels);
  return `labels ${key?.replace("joulie.io/", "")}=${value}`;
}

function targetIn(body: RecordedWrite["body"]): string {
  const { spec, status } = body as {
    spec?: { profile: string; cpu?: { packagePowerCapPctOfMax?: number } };
    status?: { schedulableClass: string; effectiveCapState: { cpuPct: number } };
  };
  return status === undefined
    ? `spec ${spec?.profile} cap ${spec?.cpu?.packagePowerCapPctOfMax}`
    : `status ${status.schedulableClass} cap ${status.effectiveCapState.cpuPct}`;
}
