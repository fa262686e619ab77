import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { performancePod, Trial, type Write } from "./trial.ts";

const performance = { spec: "performance", class: "performance", labels: "performance false", cap: 100 };
const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };
const draining = { spec: "eco draining", class: "draining", labels: "eco true", cap: 100 };
/** Makes a node the densest, so that it takes the one performance place. */
const dense = { "joulie.io/hw.cpu-cores": "512" };
const TICK = 62;
const SOON = 5;

describe("the guard, through the API", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
    for (const name of ["a", "b"]) await trial.createNode(name);
  });
  afterEach(async () => trial.end());

  const transitions = async (operator: ReturnType<Trial["start"]>, node: string) =>
    (await operator.series("state_transitions_total", `node="${node}"`)).map(
      (line) => /from_state="(\w+)",to_state="(\w+)",result="(\w+)"} (\d+)/.exec(line)?.slice(1).join(" ") ?? line,
    );

  it("OPR-14 OPR-19 OPR-20 OPR-22 a node without a NodeTwin starts in performance and is let go to eco when no pod needs it", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    expect(await trial.shown("a")).toEqual(performance);
    expect(await trial.shown("b")).toEqual(eco);
    expect(await transitions(operator, "a")).toEqual([]);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance ActiveEco applied 1"]);
  });

  it("OPR-15 OPR-16 OPR-17 OPR-18 OPR-21 X-22 X-23 X-72 a node with a performance pod drains: eco at once in three places, with performance caps", async () => {
    await trial.createPod("worker", "b", performancePod);
    const operator = trial.start();
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(draining);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance DrainingPerformance deferred 1"]);
    expect((await trial.events()).filter(({ reason }) => reason === "DowngradeDeferred")).toMatchObject([
      { regarding: { name: "b" }, note: expect.stringContaining("1 performance pod") as unknown },
    ]);
  });

  it("OPR-23 OPR-29 X-16 stays draining while the pod is there, counted and told once", async () => {
    await trial.createPod("worker", "b", performancePod);
    const operator = trial.start();
    await trial.pass(3 * TICK);
    expect(await trial.shown("b")).toEqual(draining);
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance DrainingPerformance deferred 1"]);
    const told = (await trial.events()).filter(({ regarding }) => regarding.name === "b");
    expect(told).toHaveLength(1);
    expect(told[0]).not.toHaveProperty("series");
    const logged = operator.logs.filter(({ msg }) => msg.startsWith("state changed"));
    expect(logged.map(({ values }) => JSON.stringify(values)).join()).toContain("DrainingPerformance");
    expect(logged.length).toBeLessThan(4);
  });

  it("OPR-19 OPR-24 the last performance pod gone, it is eco, and eco caps come in a later pass", async () => {
    await trial.createPod("worker", "b", performancePod);
    const operator = trial.start();
    await trial.pass(SOON);
    operator.written();
    await trial.finishPod("worker");
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(eco);
    expect(order(operator.written(), "b")).toEqual([
      "status eco cap 100",
      "labels draining=false",
      "spec eco cap 100",
      "status eco cap 60",
      "spec eco cap 60",
    ]);
    expect(await transitions(operator, "b")).toContain("DrainingPerformance ActiveEco applied 1");
  });

  it("X-22 a pod that is bound while a node's way down is being written stops it before the caps", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    operator.written();
    const heal = trial.api.faults.add({
      fault: { kind: "latency", length: milliseconds(4000) },
      when: ({ method, path }) => method === "PATCH" && path.includes("/nodetwins/a/status"),
    });
    await trial.label("b", dense);
    await trial.pass(3);
    await trial.createPod("late", "a", performancePod);
    await trial.pass(1);
    heal();
    await trial.pass(2 * TICK);
    expect(await trial.shown("a")).toEqual(draining);
    expect(order(operator.written(), "a").filter((line) => line.endsWith("cap 60"))).toEqual([]);
  });

  it("X-22 a pod that is bound before eco caps are written keeps them away", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    operator.written();
    const isLowering = (body: unknown) => String(body).includes('"cpuPct":60');
    const heal = trial.api.faults.add({
      fault: { kind: "latency", length: milliseconds(4000) },
      when: ({ path, body }) => path.includes("/nodetwins/a/status") && isLowering(body),
    });
    await trial.label("b", dense);
    await trial.pass(4);
    await trial.createPod("late", "a", performancePod);
    await trial.pass(1);
    heal();
    await trial.pass(2 * TICK);
    expect(await trial.shown("a")).toEqual({ ...eco, cap: 100 });
    expect(order(operator.written(), "a").filter((line) => line === "spec eco cap 60")).toEqual([]);
  });

  it("OPR-25 a draining node that is planned for performance again goes back", async () => {
    await trial.createPod("worker", "b", performancePod);
    const operator = trial.start();
    await trial.pass(SOON);
    await trial.label("b", dense);
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(performance);
    expect(await transitions(operator, "b")).toContain("DrainingPerformance ActivePerformance applied 1");
  });

  it("OPR-26 X-22 an eco node that is planned for performance gets its caps, then its class, then its labels", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    operator.written();
    await trial.label("b", dense);
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(performance);
    expect(order(operator.written(), "b")).toEqual([
      "spec performance cap 100",
      "status performance cap 100",
      "labels power-profile=performance",
    ]);
    expect(await transitions(operator, "b")).toContain("ActiveEco ActivePerformance applied 1");
  });

  it("X-22 on the way down class and labels are written before the spec, and eco caps only once they show", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    operator.written();
    await trial.label("b", dense);
    await trial.pass(SOON);
    expect(await trial.shown("a")).toEqual(eco);
    expect(order(operator.written(), "a")).toEqual([
      "status eco cap 100",
      "labels power-profile=eco",
      "spec eco cap 100",
      "status eco cap 60",
      "spec eco cap 60",
    ]);
  });

  it("OPR-27 a performance pod on an eco node moves nothing: it is told by an event and a metric, once", async () => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    await trial.createPod("stray", "b", performancePod);
    await trial.pass(2 * TICK);
    expect(await trial.shown("b")).toEqual(eco);
    expect(await operator.series("performance_pods_on_eco", 'node="b"')).toEqual([
      'joulie_operator_performance_pods_on_eco{node="b"} 1',
    ]);
    const told = (await trial.events()).filter(({ reason }) => reason === "PerformancePodOnEco");
    expect(told).toHaveLength(1);
    expect(told[0]).not.toHaveProperty("series");
    expect(await transitions(operator, "b")).toEqual(["ActivePerformance ActiveEco applied 1"]);
  });

  it("X-23 DRAINING_CAPS=eco lowers a draining node's caps", async () => {
    await trial.createPod("worker", "b", performancePod);
    trial.start({ DRAINING_CAPS: "eco" });
    await trial.pass(SOON + TICK);
    expect(await trial.shown("b")).toEqual({ ...draining, cap: 60 });
  });

  it("X-24 while pods cannot be read no node goes down, yet twins are published; then it goes on", async () => {
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    const operator = trial.start();
    await trial.pass(TICK);
    expect(await trial.shown("b")).toEqual(performance);
    expect(operator.logs.some((line) => JSON.stringify(line).includes("no node goes down"))).toBe(true);
    heal();
    await trial.pass(TICK);
    expect(await trial.shown("b")).toEqual(eco);
  });

  it("X-24 pods that were read once but are stale keep nodes from going down as well", async () => {
    trial.start();
    await trial.pass(SOON + 5);
    const heal = trial.api.faults.add({
      fault: { kind: "refused" },
      when: ({ path }) => path.startsWith("/api/v1/pods"),
    });
    trial.api.faults.dropWatches();
    await trial.pass(130);
    await trial.label("b", dense);
    await trial.pass(TICK);
    expect(await trial.shown("b")).toEqual(performance);
    expect(await trial.shown("a")).toEqual(performance);
    heal();
    await trial.pass(2 * TICK);
    expect(await trial.shown("a")).toEqual(eco);
  });

  it.each([
    ["unreachable", { kind: "refused" }],
    ["forbidden", { kind: "status", code: 403 }],
  ] as const)("X-24 a list of NodePowerProfiles that went %s keeps nodes from going down as well", async (_, fault) => {
    const operator = trial.start();
    await trial.pass(SOON + 5);
    const heal = trial.api.faults.add({ fault, when: ({ path }) => path.includes("/nodepowerprofiles") });
    trial.api.faults.dropWatches();
    await trial.pass(130);
    await trial.label("b", dense);
    await trial.pass(TICK);
    expect(await trial.shown("b")).toEqual(performance);
    expect(await trial.shown("a")).toEqual(performance);
    const logged = operator.logs
      .map((line) => JSON.stringify(line))
      .filter((line) => line.includes("no node goes down"));
    expect(logged.join()).toContain("profiles");
    expect(await operator.series("joulie_operator_pods_readable")).toEqual(["joulie_operator_pods_readable 0"]);
    heal();
    await trial.pass(2 * TICK);
    expect(await trial.shown("a")).toEqual(eco);
  });

  it("X-24 a list of NodePowerProfiles that was never readable keeps nodes from going down; then it goes on", async () => {
    await trial.pin("b", { profile: "performance" });
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.includes("/nodepowerprofiles"),
    });
    trial.start();
    await trial.pass(2 * TICK);
    expect(await trial.findTwin("b")).toBeUndefined();
    heal();
    await trial.pass(TICK);
    expect(await trial.shown("b")).toEqual(performance);
    expect(await trial.shown("a")).toEqual(eco);
  });

  it("X-25 OPR-10 pods that are bound but pending and pods that terminate hold a node; finished ones do not", async () => {
    await trial.createPod("pending", "b", performancePod);
    await trial.createPod("done", "b", performancePod);
    await trial.finishPod("done");
    trial.start();
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(draining);
    await trial.hand.delete(resources.pods, { name: "pending", namespace: "default" });
    await trial.pass(25);
    expect(await trial.shown("b")).toEqual(draining);
    await trial.pass(10);
    expect(await trial.shown("b")).toEqual(eco);
  });

  it("OPR-10 a pod that excludes eco by its affinity holds a node; one that is content with either does not", async () => {
    const required = (values: string[]) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "joulie.io/power-profile", operator: "In", values }] }],
          },
        },
      },
    });
    await trial.createPod("either", "b", { spec: required(["eco", "performance"]) });
    trial.start();
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(eco);
    await trial.createPod("picky", "a", { spec: required(["performance"]) });
    await trial.label("b", dense);
    await trial.pass(SOON);
    expect(await trial.shown("a")).toEqual(draining);
  });

  it("OPR-13 X-27 queue_aware_v1 counts pending pods that have no node yet", async () => {
    for (const name of ["c", "d"]) await trial.createNode(name);
    trial.start({
      POLICY_TYPE: "queue_aware_v1",
      QUEUE_HP_BASE_FRAC: "0",
      QUEUE_HP_MIN: "1",
      QUEUE_PERF_PER_HP_NODE: "1",
    });
    await trial.pass(SOON + 5);
    const performing = async () => {
      const shown = await Promise.all(["a", "b", "c", "d"].map(async (name) => trial.shown(name)));
      return shown.filter(({ spec }) => spec === "performance").length;
    };
    expect(await performing()).toBe(1);
    for (const name of ["x", "y", "z"]) await trial.createPod(name, undefined, performancePod);
    await trial.pass(SOON);
    expect(await performing()).toBe(3);
  });

  it("X-27 scheduling-gated pods do not raise P until their gates are removed", async () => {
    trial.start({
      POLICY_TYPE: "queue_aware_v1",
      QUEUE_HP_BASE_FRAC: "0",
      QUEUE_HP_MIN: "1",
      QUEUE_PERF_PER_HP_NODE: "1",
    });
    await trial.pass(SOON + 5);
    expect((await trial.shown("b")).spec).toBe("eco");
    const schedulingGates = [{ name: "example.com/quota" }];
    for (const name of ["x", "y", "z"])
      await trial.createPod(name, undefined, { ...performancePod, spec: { schedulingGates } });
    await trial.pass(TICK);
    expect((await trial.shown("b")).spec).toBe("eco");
    const ungated = { spec: { schedulingGates: [] } };
    for (const name of ["x", "y"]) await trial.hand.mergePatch(resources.pods, { name, namespace: "default" }, ungated);
    await trial.pass(SOON);
    expect((await trial.shown("b")).spec).toBe("performance");
  });

  it("OPR-20 OPR-28 after a restart a node goes on from where its NodeTwin says; no pod is ever touched", async () => {
    await trial.createPod("worker", "b", performancePod);
    const first = trial.start();
    await trial.pass(SOON);
    await first.stop();
    const second = trial.start();
    await trial.pass(SOON + TICK);
    expect(await trial.shown("b")).toEqual(draining);
    expect(await transitions(second, "b")).toEqual([]);
    expect([...first.writes, ...second.writes].filter(({ path }) => path.includes("/pods"))).toEqual([]);
  });

  it("X-46 X-90 a node cordoned while draining is still re-checked and released", async () => {
    await trial.createPod("worker", "b", performancePod);
    trial.start();
    await trial.pass(SOON);
    await trial.cordon("b");
    await trial.pass(SOON);
    expect(await trial.shown("b")).toEqual(draining);
    await trial.finishPod("worker");
    await trial.pass(SOON + 5);
    expect(await trial.shown("b")).toEqual(eco);
  });
});

/** A node's writes in the order in which they were sent, in short; a status that only moves figures is left out. */
function order(writes: readonly Write[], node: string): string[] {
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

function labelsIn(body: Write["body"]): string {
  const { labels } = (body as { metadata: { labels: Record<string, string> } }).metadata;
  const [[key, value] = []] = Object.entries(labels);
  return `labels ${key?.replace("joulie.io/", "")}=${value}`;
}

function targetIn(body: Write["body"]): string {
  const { spec, status } = body as {
    spec?: { profile: string; cpu?: { packagePowerCapPctOfMax?: number } };
    status?: { schedulableClass: string; effectiveCapState: { cpuPct: number } };
  };
  return status === undefined
    ? `spec ${spec?.profile} cap ${spec?.cpu?.packagePowerCapPctOfMax}`
    : `status ${status.schedulableClass} cap ${status.effectiveCapState.cpuPct}`;
}
