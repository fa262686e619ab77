import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, resources } from "../../../platform/kube/index.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass, type RunningExtender } from "../testing/extender-harness.ts";

let harness: ExtenderHarness;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

const epyc = { cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192 } };

async function node(name: string, hardware: Readonly<Record<string, unknown>> | undefined = epyc): Promise<void> {
  await harness.createNode(name, {}, { cpu: "384" });
  if (hardware !== undefined) await harness.hardware(name, hardware);
  await harness.twin(name, calmTwinStatus);
}

const unknown = async (name: string): Promise<void> => {
  await harness.createNode(name, {}, { cpu: "384" });
  await harness.twin(name, calmTwinStatus);
};

/** No kubelet confirms a deletion here. */
const AT_ONCE = { terminationGracePeriodSeconds: 0 };

const place = async (name: string, nodeName: string, cpu: string, more: object = {}): Promise<KubeObject> =>
  harness.client.create(
    resources.pods,
    {
      metadata: { name, namespace: "default", ...more },
      spec: { containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }], nodeName, ...AT_ONCE },
    },
    { namespace: "default" },
  );
const setPhase = async (name: string, phase: string): Promise<unknown> =>
  harness.client.apply(
    resources.pods,
    { name, namespace: "default" },
    { status: { phase } },
    { subresource: "status" },
  );

interface Decisions {
  readonly decisions: readonly {
    readonly scoring?: string;
    readonly fallback?: string;
    readonly durationProblem?: string;
    readonly expectedDurationSeconds?: number;
    readonly nodesScoredByHeadroom?: number;
    readonly nodesOverCap?: number;
    readonly best: readonly {
      readonly node: string;
      readonly fallback?: string;
      readonly breakdown: Readonly<Record<string, unknown>>;
    }[];
  }[];
}
async function lastDecision(extender: RunningExtender): Promise<Decisions["decisions"][number]> {
  const [last] = (await extender.get<Decisions>("/debug/decisions")).body.decisions;
  if (last === undefined) throw new Error("no decision");
  return last;
}

/** Waits until the extender counts this many pods. */
async function counted(extender: RunningExtender, count: number): Promise<void> {
  await harness.until(async () => (await extender.series("joulie_scheduler_pods "))[0]?.endsWith(` ${count}`) === true);
}

const energy = { SCORING: "energy" };
const small = (name: string) => podOfClass("standard", { cpu: "4", name });

/** Whether the pods that the extender counts make `fuller` the cheaper of two equal nodes. */
async function winner(extender: RunningExtender, names: readonly string[], name = "asked"): Promise<string[]> {
  const scores = await extender.scores(small(name), names);
  return names.filter((one) => scores[one] === 100);
}

describe("SCORING=energy", () => {
  it("prefers the node on which the pod adds fewer joules, and explains it", async () => {
    await node("empty");
    await node("busy");
    await place("p", "busy", "200");
    const extender = await harness.start(energy);
    await counted(extender, 1);
    expect(await extender.scores(small("asked"), ["empty", "busy"])).toEqual({ empty: 1, busy: 100 });
    const { scoring, best, expectedDurationSeconds } = await lastDecision(extender);
    expect(scoring).toBe("energy");
    expect(expectedDurationSeconds).toBe(1800);
    expect(best[0]).toMatchObject({ node: "busy", breakdown: { usedCpus: 200, exceedsCap: false } });
    expect(best[0]?.breakdown["joules"]).toBeLessThan(Number(best[1]?.breakdown["joules"]));
  });

  it("is off by default: no pod is read, and the score is headroom's", async () => {
    await node("empty");
    await node("busy");
    await place("p", "busy", "200");
    const extender = await harness.start();
    const scores = await extender.scores(small("asked"), ["empty", "busy"]);
    expect(scores["empty"]).toBe(scores["busy"]);
    expect(await extender.series("joulie_scheduler_pods ")).toEqual([]);
    expect(await lastDecision(extender)).not.toHaveProperty("scoring");
  });

  it("counts a pod on the node ranked first until two seconds have passed", async () => {
    await node("a");
    await node("b");
    const extender = await harness.start(energy);
    await harness.until(async () => (await winner(extender, ["a", "b"], "first")).length > 0);
    await harness.advance(3);
    const first = await winner(extender, ["a", "b"], "first");
    expect(first).toEqual(["a", "b"]);
    // The first pod counts on a, so that the second one differs.
    expect(await winner(extender, ["a", "b"], "second")).toHaveLength(1);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 2"]);
    await harness.advance(3);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 0"]);
    expect(await winner(extender, ["a", "b"], "third")).toEqual(["a", "b"]);
  });

  it("does not count a pod against itself when kube-scheduler asks again", async () => {
    await node("a");
    await node("b");
    const extender = await harness.start(energy);
    await harness.until(async () => (await lastOf(extender, "again")) === "energy");
    const scores = await extender.scores(small("again"), ["a", "b"]);
    expect(await extender.scores(small("again"), ["a", "b"])).toEqual(scores);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 1"]);
  });

  it("counts a pod where it was bound, also if that is another node", async () => {
    await node("a");
    await node("b");
    const extender = await harness.start(energy);
    await harness.until(async () => (await lastOf(extender, "warm")) === "energy");
    await harness.advance(3);
    const uid = "11111111-2222-4333-8444-555555555555";
    const asked = { ...small("moved"), metadata: { ...small("moved").metadata, uid } };
    await extender.scores(asked, ["a", "b"]);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 1"]);
    await place("moved", "b", "200", { uid });
    const stored = await harness.client.get<KubeObject>(resources.pods, { name: "moved", namespace: "default" });
    if (stored.metadata.uid !== uid) await harness.advance(3);
    await counted(extender, 1);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 0"]);
    expect(await winner(extender, ["a", "b"])).toEqual(["b"]);
  });

  it("forgets a pod that ended or was deleted", async () => {
    await node("n");
    for (const name of ["done", "failed", "deleted", "stays"]) await place(name, "n", "10");
    const extender = await harness.start(energy);
    await counted(extender, 4);
    await setPhase("done", "Succeeded");
    await setPhase("failed", "Failed");
    await harness.client.delete(resources.pods, { name: "deleted", namespace: "default" });
    await counted(extender, 1);
    await extender.scores(small("asked"), ["n"]);
    expect((await lastDecision(extender)).best[0]?.breakdown).toMatchObject({ usedCpus: 10 });
  });

  it("does not count pods without a node", async () => {
    await node("n");
    await place("bound", "n", "1");
    await harness.client.create(
      resources.pods,
      { metadata: { name: "pending" }, spec: { containers: [{ name: "main", image: "none" }] } },
      { namespace: "default" },
    );
    const extender = await harness.start(energy);
    await counted(extender, 1);
    expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 0"]);
  });

  it("scores a node with unknown hardware by headroom and says so", async () => {
    await node("known");
    await unknown("unknown");
    const headroom = await (await harness.start()).scores(small("asked"), ["unknown"]);
    const extender = await harness.start(energy);
    await counted(extender, 0);
    const scores = await extender.scores(small("asked"), ["known", "unknown"]);
    expect(scores).toEqual({ known: 100, ...headroom });
    const { nodesScoredByHeadroom, best } = await lastDecision(extender);
    expect(nodesScoredByHeadroom).toBe(1);
    const record = best.find((one) => one.node === "unknown");
    expect(record?.fallback).toMatch(/headroom: neither the catalogue nor the agent knows/);
    expect(record?.breakdown).toHaveProperty("headroomScore");
    expect(await extender.series("joulie_scheduler_energy_unknown_nodes_total")).toEqual([
      "joulie_scheduler_energy_unknown_nodes_total 1",
    ]);
  });

  it("ranks a node last whose cap the pod would exceed", async () => {
    for (const name of ["free", "dear", "full"]) await node(name);
    const powerMeasurement = { measuredNodePowerW: 599, nodeCappedPowerW: 600, nodeTdpW: 800, powerTrendWPerMin: 0 };
    await harness.twin("full", { ...calmTwinStatus, powerMeasurement });
    // Without the cap it would be the cheapest.
    await place("p", "full", "300");
    await place("q", "free", "100");
    const extender = await harness.start(energy);
    await counted(extender, 2);
    expect(await extender.scores(small("asked"), ["dear", "full", "free"])).toEqual({ free: 100, dear: 1, full: 0 });
    expect((await lastDecision(extender)).nodesOverCap).toBe(1);
  });

  it("filters as headroom does", async () => {
    await node("fast");
    await node("slow");
    await harness.twin("slow", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start(energy);
    await harness.until(
      async () => (await extender.filter(podOfClass("performance"), ["fast", "slow"])).NodeNames?.length === 1,
    );
    expect((await extender.filter(podOfClass("performance"), ["fast", "slow"])).NodeNames).toEqual(["fast"]);
  });

  it.each(["soon", "-1m", "0s", "1e9h", "9".repeat(100_000)])(
    "ignores the expected duration %.10s and says so",
    async (text) => {
      await node("n");
      const extender = await harness.start(energy);
      const asked = small("asked");
      const annotations = { "joulie.io/expected-duration": text };
      await extender.scores({ ...asked, metadata: { ...asked.metadata, annotations } }, ["n"]);
      const { durationProblem, expectedDurationSeconds } = await lastDecision(extender);
      expect(durationProblem).toMatch(/^joulie.io\/expected-duration is ignored/);
      expect(expectedDurationSeconds).toBe(1800);
    },
  );

  it("uses a declared duration", async () => {
    await node("n");
    const extender = await harness.start(energy);
    const asked = small("asked");
    const annotations = { "joulie.io/expected-duration": "2h" };
    await extender.scores({ ...asked, metadata: { ...asked.metadata, annotations } }, ["n"]);
    const { durationProblem, expectedDurationSeconds } = await lastDecision(extender);
    expect(durationProblem).toBeUndefined();
    expect(expectedDurationSeconds).toBe(7200);
  });

  describe("without the pods of the cluster", () => {
    const arePods = ({ path }: { readonly path: string }) => new URL(path, "http://api").pathname.endsWith("/pods");

    it("is ready and scores by headroom if it may not list pods, and by energy once it may", async () => {
      await node("empty");
      await node("busy");
      await place("p", "busy", "200");
      const lift = harness.api.faults.add({ fault: { kind: "status", code: 403 }, when: arePods });
      const extender = await harness.start(energy);
      const scores = await extender.scores(small("asked"), ["empty", "busy"]);
      expect(scores["empty"]).toBe(scores["busy"]);
      await harness.until(async () => (await lastOf(extender, "asked", ["empty", "busy"])) === "headroom");
      await harness.advance(2);
      await extender.scores(small("asked"), ["empty", "busy"]);
      expect(await lastDecision(extender)).toMatchObject({
        scoring: "headroom",
        fallback: "the extender may not list and watch pods",
      });
      expect(extender.logs.map(({ msg }) => msg)).toContainEqual(
        expect.stringContaining("permission to list and watch pods"),
      );
      expect(await extender.series("joulie_scheduler_assumed_pods")).toEqual(["joulie_scheduler_assumed_pods 0"]);
      lift();
      await harness.advance(60);
      expect(await winner(extender, ["empty", "busy"])).toEqual(["busy"]);
      expect(await extender.series("energy_requests_total", 'scoring="energy"')).toHaveLength(1);
    });

    it("scores by headroom when the pods are stale", async () => {
      await node("n");
      const extender = await harness.start({ ...energy, TWIN_STALENESS_THRESHOLD: "1m" });
      await counted(extender, 0);
      await harness.until(async () => (await lastOf(extender, "warm")) === "energy");
      harness.api.faults.add({ fault: { kind: "refused" }, when: arePods });
      harness.api.faults.dropWatches();
      await harness.advance(50);
      expect(await lastOf(extender, "asked")).toBe("energy");
      await harness.advance(30);
      expect(await lastOf(extender, "asked")).toBe("headroom");
      expect((await lastDecision(extender)).fallback).toMatch(/^no contact with the pod watch for 1m/);
    });
  });
});

/** Asks, and returns the formula that answered. */
async function lastOf(extender: RunningExtender, name: string, nodes = ["n", "a", "b"]): Promise<string | undefined> {
  await extender.scores(small(name), nodes);
  return (await lastDecision(extender)).scoring;
}
