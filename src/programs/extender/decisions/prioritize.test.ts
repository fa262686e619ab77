import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  calmTwinStatus,
  ExtenderHarness,
  type HostScores,
  podOfClass,
  type RunningExtender,
} from "../testing/extender-harness.ts";

const big = {
  cpu: { sockets: 2, coresPerSocket: 64, totalCores: 128, capRange: { type: "watts", maxWattsPerSocket: 350 } },
  gpu: { present: true, count: 8, vendor: "nvidia", capRangePerGpu: { minWatts: 100, maxWatts: 400 } },
};
const power = calmTwinStatus["powerMeasurement"] as object;
const measured = (own: object) => ({ ...calmTwinStatus, powerMeasurement: { ...power, ...own } });

describe("/prioritize", () => {
  const harness = new ExtenderHarness();
  let extender: RunningExtender;

  beforeAll(async () => {
    for (const name of ["fast", "eco", "draining", "old", "undated", "twinless", "odd"]) await harness.createNode(name);
    await harness.hardware("fast", big);
    await harness.hardware("eco", big);
    await harness.twin("fast", measured({ measuredNodePowerW: 0, nodeCappedPowerW: 1000 }));
    await harness.twin("eco", { ...measured({ measuredNodePowerW: 0 }), schedulableClass: "eco" });
    await harness.twin("draining", { ...measured({ measuredNodePowerW: 0 }), schedulableClass: "draining" });
    await harness.twin("old", { ...calmTwinStatus, lastUpdated: "2029-12-31T23:54:59Z" });
    await harness.twin("undated", { ...calmTwinStatus, lastUpdated: undefined });
    await harness.twin("odd", { ...calmTwinStatus, schedulableClass: "unknown" });
    extender = await harness.start();
  });
  afterAll(async () => harness.end());

  it("SCH-02 X-21 returns an integer for each given node, in order, and for no other", async () => {
    const asked = { Pod: podOfClass("standard"), Nodes: null, NodeNames: ["twinless", "fast", "absent", "fast"] };
    const { body } = await extender.post<HostScores>("/prioritize", asked);
    expect(body.map(({ Host }) => Host)).toEqual(asked.NodeNames);
    expect(body.every(({ Score }) => Number.isInteger(Score))).toBe(true);
  });

  it.each([
    ["too many kinds of GPUs", Array.from({ length: 17 }, (_, i) => `nvidia.com/mig-1g.${i + 1}gb`), /17 kinds/],
    ["one with an endless name", [`nvidia.com/mig-1g.5gb${".me".repeat(100)}`], /name of \d+ characters/],
  ])("X-62 rejects a pod with %s: it would multiply the work per node", async (_, kinds, message) => {
    const limits = Object.fromEntries(kinds.map((kind) => [kind, "1"]));
    const asked = { Pod: { spec: { containers: [{ resources: { limits } }] } }, NodeNames: ["fast"] };
    for (const verb of ["/prioritize", "/filter"]) {
      const refused = await extender.post<{ error: string }>(verb, asked);
      expect(refused.status).toBe(400);
      expect(refused.body.error).toMatch(message);
    }
    const [, ...fewer] = kinds;
    const allowed = Object.fromEntries(fewer.map((kind) => [kind, "1"]));
    const spec = { containers: [{ resources: { limits: allowed } }] };
    expect((await extender.post("/prioritize", { ...asked, Pod: { spec } })).status).toBe(200);
  });

  it("SCH-02 whole Nodes get the same scores as their names", async () => {
    const names = ["fast", "eco", "draining", "old", "twinless"];
    const Nodes = { items: names.map((name) => ({ metadata: { name, labels: { a: "b" } }, spec: {} })) };
    const asked = { Pod: podOfClass("standard", { cpu: "8" }), Nodes, NodeNames: null };
    const { body } = await extender.post<HostScores>("/prioritize", asked);
    const scores = Object.fromEntries(body.map(({ Host, Score }) => [Host, Score]));
    expect(scores).toEqual(await extender.scores(asked.Pod, names));
  });

  it("SCH-15 SCH-16 SCH-17 SCH-18 SCH-24 the pod's own cores and GPUs lower the score of the node", async () => {
    // 1000 W free; 16 cores of 128 at 700 W: 61.25 W; a GPU of 8 at 3200 W: 340 W for performance pods.
    const scores = async (given: object) => (await extender.scores(podOfClass("performance", given), ["fast"]))["fast"];
    const cooling = 0.15 * 80;
    expect(await scores({})).toBe(Math.round(70 + cooling));
    expect(await scores({ cpu: "16" })).toBe(Math.round(0.7 * (100 - 6.125) + cooling));
    expect(await scores({ gpu: "1" })).toBe(Math.round(0.7 * (100 - 34) + cooling));
    expect(await scores({ cpu: "16", gpu: "1" })).toBe(Math.round(0.7 * (100 - 40.125) + cooling));
  });

  it("SCH-02 scores the names that filter accepted as it scores them on their own", async () => {
    const asked = podOfClass("performance", { cpu: "8" });
    const names = ["eco", "fast", "draining", "absent", "twinless", "old"];
    const { NodeNames } = await extender.filter(asked, names);
    expect(NodeNames).toEqual(["fast", "absent", "twinless", "old"]);
    const afterFilter = await extender.scores(asked, NodeNames ?? []);
    const others = await extender.scores(asked, (NodeNames ?? []).toReversed());
    expect(afterFilter).toEqual(others);
    expect(afterFilter["fast"]).not.toBe(afterFilter["old"]);
  });

  it("SCH-02 scores a node that came after the filter reply by its own twin", async () => {
    const asked = podOfClass("standard", { cpu: "8" });
    const names = ["twinless", "late"];
    await extender.filter(asked, names);
    const before = await extender.scores(asked, names);
    await harness.createNode("late");
    await harness.hardware("late", big);
    await harness.twin("late", { ...measured({ measuredNodePowerW: 0, nodeCappedPowerW: 4000 }) });
    await harness.until(async () => (await extender.scores(asked, names))["late"] !== before["late"]);
    expect(await extender.scores(asked, ["late"])).toEqual({ late: (await extender.scores(asked, names))["late"] });
  });

  it("SCH-31 SCH-57 standard pods prefer eco nodes and avoid draining ones", async () => {
    const standard = await extender.scores(podOfClass("standard"), ["eco", "draining"]);
    expect(standard).toEqual({ eco: 92, draining: 62 });
    expect(await extender.scores(podOfClass("performance"), ["eco", "draining"])).toEqual({ eco: 82, draining: 82 });
  });

  it("SCH-37 SCH-38 SCH-39 X-69 old, undated, twinless, classless and unknown nodes get 50", async () => {
    const names = ["old", "undated", "twinless", "odd", "absent"];
    const scores = await extender.scores(podOfClass("standard", { cpu: "8" }), names);
    expect(scores).toEqual(Object.fromEntries(names.map((name) => [name, 50])));
  });

  it("accepts any JSON object as the pod", async () => {
    const odd = [
      {},
      { metadata: null, spec: null },
      { metadata: 1, spec: "x" },
      { metadata: { annotations: { "joulie.io/workload-class": 7 } }, spec: { containers: 5, initContainers: {} } },
      { spec: { containers: [null, 1, "x", [], { resources: "x" }, { resources: { limits: [1], requests: "cpu" } }] } },
      { spec: { containers: [{ resources: { requests: { cpu: {} }, limits: { "nvidia.com/gpu": "1e999" } } }] } },
      { spec: { containers: [{ resources: { requests: { cpu: "-3" }, limits: { "nvidia.com/gpu": -1 } } }] } },
    ];
    for (const one of odd) {
      const asked = { Pod: one, NodeNames: ["fast", "absent"] };
      expect(await extender.post("/prioritize", asked)).toMatchObject({ status: 200 });
      expect(await extender.post("/filter", asked)).toMatchObject({ status: 200 });
    }
    expect((await extender.get("/debug/decisions")).status).toBe(200);
  });
});

describe("settings", () => {
  it("SCH-20 SCH-21 SCH-22 SCH-57 X-21 variables change the scores", async () => {
    const harness = new ExtenderHarness();
    for (const name of ["fast", "draining"]) {
      await harness.createNode(name);
      await harness.hardware(name, big);
    }
    await harness.twin("fast", measured({ measuredNodePowerW: 0, nodeCappedPowerW: 1000 }));
    await harness.twin("draining", { ...measured({ measuredNodePowerW: 0 }), schedulableClass: "draining" });
    const extender = await harness.start({
      MARGINAL_CPU_UTIL_COEFF: "1",
      MARGINAL_GPU_UTIL_COEFF_STANDARD: "0.5",
      MARGINAL_GPU_UTIL_COEFF_PERFORMANCE: "1",
      DRAINING_SCORE_PENALTY: "50",
      SCORE_MAX: "10",
    });
    const score = async (workloadClass: string, given: object, node = "fast") =>
      (await extender.scores(podOfClass(workloadClass, given), [node]))[node];
    // 16 of 128 cores at 700 W: 87.5 W; a GPU: 200 or 400 W; a tenth of the points.
    expect(await score("performance", { cpu: "16" })).toBe(Math.round((0.7 * 91.25 + 12) / 10));
    expect(await score("performance", { gpu: "1" })).toBe(Math.round((0.7 * 60 + 12) / 10));
    expect(await score("standard", { gpu: "1" })).toBe(Math.round((0.7 * 80 + 12) / 10));
    expect(await score("standard", {}, "draining")).toBe(Math.round((82 - 50) / 10));
    expect(await score("standard", {}, "absent")).toBe(5);
    await harness.end();
  });

  it("SCH-40 SCH-42 uses the PUE only with facility metrics enabled", async () => {
    const harness = new ExtenderHarness();
    await harness.createNode("n");
    await harness.hardware("n", big);
    await harness.twin("n", { ...measured({ measuredNodePowerW: 0, nodeCappedPowerW: 1000 }), estimatedPUE: 2 });
    const asked = podOfClass("performance", { gpu: "1" });
    const plain = await harness.start();
    const weighted = await harness.start({ ENABLE_FACILITY_METRICS: "true" });
    expect(await plain.scores(asked, ["n"])).toEqual({ n: Math.round(0.7 * 66 + 12) });
    expect(await weighted.scores(asked, ["n"])).toEqual({ n: Math.round(0.7 * 32 + 12) });
    await harness.end();
  });

  it("SCH-33 X-74 computes pressure and trend over the whole cluster, independent of the candidates", async () => {
    const harness = new ExtenderHarness();
    for (const name of ["asked", "busy", "rising"]) await harness.createNode(name);
    await harness.twin("asked", measured({ measuredNodePowerW: 0, powerTrendWPerMin: 12 }));
    const extender = await harness.start();
    const score = async () => (await extender.scores(podOfClass("standard"), ["asked"]))["asked"];
    expect(await score()).toBe(70 + 12 - 2);
    await harness.twin("busy", measured({ measuredNodePowerW: 600 }));
    // The other performance node is full: half of 30 points go.
    await harness.until(async () => (await score()) === 65);
    await harness.twin("rising", { ...measured({ powerTrendWPerMin: 600 }), schedulableClass: "eco" });
    await harness.until(async () => (await score()) === 61);
    await harness.end();
  });
});
