import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { type ApiRequest, type ApiResponse, resources } from "../../../platform/kube/index.ts";
import { bringsEcoCaps, type Operator, OperatorTestHarness, performancePod } from "../testing/test-harness.ts";

const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };
/** Eco, but for the caps: a performance pod was there before them. */
const held = { ...eco, cap: 100 };

describe("pending writes", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    await harness.createNode("n");
  });
  afterEach(async () => harness.end());

  it("X-22 withdraws eco caps if a pod arrived while they were being written", async () => {
    let first = true;
    harness.intercept(async (request, go) => {
      if (first && bringsEcoCaps(request)) {
        first = false;
        await harness.createPod("p", "n", performancePod);
        // Long enough for the watch to tell, too short for a pass.
        await harness.clock.sleep(milliseconds(300));
      }
      return go();
    });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(60);
    expect(first).toBe(false);
    expect(await harness.shown("n")).toEqual(held);
  });

  it("X-22 OPR-29 removes another writer's cap later if the first attempt fails, and reports the transition", async () => {
    let [adds, refusals] = [false, 0];
    harness.intercept(async (request, go) => {
      if (adds && isSpecOfN(request)) {
        const merges = request.headers?.["content-type"]?.includes("merge") === true;
        if (merges && refusals++ === 0) return { status: 403, headers: {}, body: nothing() };
        if (!merges && refusals === 0) await harness.user.mergePatch(resources.nodeTwins, { name: "n" }, rivalsCap);
      }
      return go();
    });
    await harness.pin("n", { profile: "performance" });
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(20);
    adds = true;
    await harness.user.delete(resources.nodePowerProfiles, { name: "n" });
    await harness.advance(60);
    expect(refusals).toBeGreaterThan(0);
    expect(await harness.shown("n")).toEqual(eco);
    expect((await harness.twin("n")).spec.cpu).toEqual({ packagePowerCapPctOfMax: 60 });
    expect(await counted(operator)).toEqual(["ActivePerformance ActiveEco 1"]);
  });

  it("X-22 withdraws eco caps whose response was lost when a pod arrives", async () => {
    let first = true;
    harness.intercept(async (request, go) => {
      if (!first || !bringsEcoCaps(request)) return go();
      first = false;
      await go();
      await harness.createPod("p", "n", performancePod);
      throw new Error("socket hang up");
    });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(60);
    expect(await harness.shown("n")).toEqual(held);
  });

  it("X-22 withdraws eco caps that the server executed after the sender's term ended", async () => {
    let [first, frozen] = [true, false];
    harness.intercept(async (request, go) => {
      if (first && bringsEcoCaps(request)) [first, frozen] = [false, true];
      if (frozen && request.method !== "GET") throw new Error("no answer");
      return go();
    });
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(60);
    expect(operator.logs.filter(({ msg }) => msg === "lost leadership")).toHaveLength(1);
    await harness.createPod("p", "n", performancePod);
    await harness.user.mergePatch(
      resources.nodeTwins,
      { name: "n" },
      { spec: { cpu: { packagePowerCapPctOfMax: 60 }, caps: { profile: "eco" } } },
    );
    frozen = false;
    await harness.advance(60);
    expect(await harness.shown("n")).toEqual(held);
  });

  it("OPR-29 X-16 counts and reports a transition whose response was lost as soon as it is observed", async () => {
    let lose = false;
    harness.intercept(async (request, go) => {
      const done = await go();
      if (lose && request.method === "PATCH" && request.path.includes("/nodetwins/n?"))
        throw new Error("socket hang up");
      return done;
    });
    await harness.createPod("p", "n", performancePod);
    await harness.pin("n", { profile: "performance" });
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(20);
    lose = true;
    await harness.user.delete(resources.nodePowerProfiles, { name: "n" });
    await harness.advance(20);
    lose = false;
    await harness.advance(100);
    expect((await harness.shown("n")).spec).toBe("eco draining");
    expect((await harness.events()).filter(({ reason }) => reason === "DowngradeDeferred")).toHaveLength(1);
    expect((await operator.series("state_transitions_total")).map((line) => line.split(" ").at(-1))).toEqual(["1"]);
  });

  /** The first lowering gets no answer, and a pod is there before its sender notices. The server may take it in later. */
  const lose = () => {
    let late: (() => Promise<ApiResponse>) | undefined;
    harness.intercept(async (request, go) => {
      if (late !== undefined || !bringsEcoCaps(request)) return go();
      late = async () => go(new AbortController().signal);
      await harness.createPod("p", "n", performancePod);
      await harness.clock.sleep(milliseconds(300));
      throw new Error("no answer");
    });
    return { isSent: () => late !== undefined, takeIn: async () => (await late?.())?.status };
  };

  it("X-22 the server rejects delayed eco caps after the node was found without them", async () => {
    const lost = lose();
    const operator = harness.start({ STATIC_HP_FRAC: "0", TWIN_HEARTBEAT: "1h" });
    await harness.advance(20);
    expect(await lost.takeIn()).toBe(409);
    operator.written();
    await harness.advance(300);
    expect(await harness.shown("n")).toEqual(held);
    // The pod's power, and that it rises no more.
    expect(operator.written().map(({ path }) => path.split("/").at(-1))).toEqual(["status", "status"]);
  });

  it("X-22 withdraws delayed eco caps at once, even on a node whose writes fail", async () => {
    const lost = lose();
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.includes("/nodetwins/n/status") && isRefusing,
    });
    let isRefusing = false;
    harness.start({ STATIC_HP_FRAC: "0", RECONCILE_INTERVAL: "10m" });
    await harness.until(lost.isSent);
    isRefusing = true;
    await harness.advance(600);
    expect(await lost.takeIn()).toBe(200);
    expect((await harness.shown("n")).cap).toBe(60);
    await harness.advance(3);
    expect((await harness.shown("n")).cap).toBe(100);
    heal();
    await harness.advance(120);
    expect(await harness.shown("n")).toEqual(held);
  });

  it("X-22 X-57 eco caps sent by a former leader do not take effect over a pod", async () => {
    const lost = lose();
    const first = harness.start({ STATIC_HP_FRAC: "0", TWIN_HEARTBEAT: "1h" });
    await harness.until(lost.isSent);
    await first.stop();
    harness.start({ STATIC_HP_FRAC: "0", TWIN_HEARTBEAT: "1h" });
    await harness.advance(40);
    expect(await lost.takeIn()).toBe(409);
    await harness.advance(60);
    expect(await harness.shown("n")).toEqual(held);
  });

  it("X-22 keeps eco caps whose response was lost if no pod was affected; a later pod counts as an intruder", async () => {
    let isLost = false;
    harness.intercept(async (request, go) => {
      const done = await go();
      if (isLost || !bringsEcoCaps(request)) return done;
      isLost = true;
      throw new Error("socket hang up");
    });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(60);
    await harness.createPod("p", "n", performancePod);
    await harness.advance(20);
    expect(isLost).toBe(true);
    expect(await harness.shown("n")).toEqual(eco);
    expect((await harness.events()).map(({ reason }) => reason)).toContain("PerformancePodOnEco");
  });

  it.each([
    ["once", 1, []],
    ["five times in a row", 5, []],
    ["again and again", 20, ["WriteFailed"]],
  ] as const)(
    "X-22 X-55 eco caps that others overtake %s by a write of their own come later",
    async (_, times, reported) => {
      let overtaken = 0;
      harness.intercept(async (request, go) => {
        // Before the watch can tell.
        if (bringsEcoCaps(request) && overtaken < times) await harness.observed("n", 100 + overtaken++);
        return go();
      });
      harness.start({ STATIC_HP_FRAC: "0" });
      await harness.advance(900);
      expect(overtaken).toBe(times);
      expect(await harness.shown("n")).toEqual(eco);
      expect((await harness.events()).map(({ reason }) => reason).filter((reason) => reason === "WriteFailed")).toEqual(
        reported,
      );
    },
  );

  it("OPR-29 reports a promotion that happens while eco caps are withdrawn", async () => {
    let isLost = false;
    harness.intercept(async (request, go) => {
      const done = await go();
      if (isLost || !bringsEcoCaps(request)) return done;
      isLost = true;
      await harness.createPod("p", "n", performancePod);
      await harness.pin("n", { profile: "performance" });
      // Long enough for the next plan.
      return { status: 503, headers: { "retry-after": "5" }, body: nothing() };
    });
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(60);
    expect((await harness.shown("n")).spec).toBe("performance");
    expect(await counted(operator)).toContain("ActiveEco ActivePerformance 1");
  });

  it("OPR-29 X-57 reports in the next term a transition whose response was lost with the lease", async () => {
    let isLost = true;
    harness.intercept(async (request, go) => {
      if (isLost || !isSpecOfN(request)) return go();
      isLost = true;
      const renewTime = new Date(harness.clock.now()).toISOString().replace("Z", "000Z");
      const lease = { name: "joulie-operator", namespace: "joulie-system" };
      await harness.user.mergePatch(resources.leases, lease, { spec: { holderIdentity: "thief", renewTime } });
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      return go(new AbortController().signal);
    });
    const operator = harness.start({ STATIC_HP_FRAC: "1" });
    await harness.advance(20);
    isLost = false;
    await harness.createPod("p", "n", performancePod);
    await harness.pin("n", { profile: "eco" });
    await harness.advance(60);
    expect(isLost).toBe(true);
    expect(operator.logs.filter(({ msg }) => msg === "lost leadership")).toHaveLength(1);
    expect(await counted(operator)).toEqual(["ActivePerformance DrainingPerformance 1"]);
    expect((await harness.events()).filter(({ reason }) => reason === "DowngradeDeferred")).toHaveLength(1);
  });

  it("OPR-20 treats a node that was removed and added again as new, without pending eco caps", async () => {
    harness.intercept(async (request, go) => {
      if (bringsEcoCaps(request)) throw new Error("no answer");
      return go();
    });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(20);
    await harness.label("n", { "joulie.io/managed": "false" });
    await harness.advance(60);
    expect(await harness.findTwin("n")).toBeUndefined();
    const spec = { nodeName: "n", profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } };
    await harness.createPod("p", "n", performancePod);
    await harness.user.create(resources.nodeTwins, { metadata: { name: "n" }, spec });
    await harness.label("n", { "joulie.io/managed": "true" });
    await harness.advance(20);
    expect((await harness.twin("n")).spec.cpu).toEqual(spec.cpu);
  });
});

const rivalsCap = { spec: { cpu: { packagePowerCapWatts: 50 } } };
const isSpecOfN = ({ method, path }: ApiRequest): boolean => method === "PATCH" && path.includes("/nodetwins/n?");

/** Changes of state as they were counted: from, to, how often. */
const counted = async (operator: Operator): Promise<string[]> =>
  (await operator.series("state_transitions_total")).map(
    (line) => /from_state="(\w+)",to_state="(\w+)",.*} (\d+)/.exec(line)?.slice(1).join(" ") ?? line,
  );

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("{}");
}
