import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ApiResponse, resources } from "../../../platform/kube/index.ts";
import { bringsEcoCaps, OperatorTestHarness, performancePod } from "../testing/test-harness.ts";

const SOON = 5;
const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };

describe("safety of the write path, end to end", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    await harness.createNode("n");
  });
  afterEach(async () => harness.end());

  it("X-22 does not resend rejected eco caps over a pod that was bound meanwhile", async () => {
    let first = true;
    let sent = 0;
    harness.intercept(async (request, go) => {
      if (bringsEcoCaps(request)) {
        sent++;
        if (first) {
          first = false;
          await harness.createPod("p", "n", performancePod);
          harness.api.faults.add({
            fault: { kind: "status", code: 503, retryAfterSeconds: 5 },
            times: 1,
            when: bringsEcoCaps,
          });
        }
      }
      return go();
    });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(300);
    expect(sent).toBe(1);
    expect(await harness.shown("n")).toEqual({ ...eco, cap: 100 });
  });

  it("X-22 X-24 sets no eco caps over a pod that a silent watch has not delivered", async () => {
    const held = Promise.withResolvers<void>();
    let holding = false;
    let asked = 0;
    harness.intercept(async ({ path }, go) => {
      const answer = await go();
      if (/pods\?.*fieldSelector=spec.nodeName/.test(path)) asked++;
      if (!/pods\?.*watch=1/.test(path)) return answer;
      return { ...answer, body: heldWhile(answer.body, async () => (holding ? held.promise : undefined)) };
    });
    await harness.pin("n", { profile: "performance" });
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(SOON);
    holding = true;
    await harness.createPod("p", "n", performancePod);
    await harness.user.delete(resources.nodePowerProfiles, { name: "n" });
    await harness.advance(40);
    expect((await harness.shown("n")).cap).toBe(100);
    expect(asked).toBeGreaterThan(0);
    await harness.finishPod("p");
    held.resolve();
    holding = false;
    await harness.advance(20);
    expect(await harness.shown("n")).toEqual(eco);
    asked = 0;
    await harness.advance(300);
    expect(asked).toBe(0);
  });

  it("X-22 removes a cap that another writer adds to a target, and then writes nothing more", async () => {
    const operator = harness.start({ STATIC_HP_FRAC: "1" });
    await harness.advance(20);
    const { spec } = await harness.twin("n");
    operator.written();
    const gpu = { powerCap: { capPctOfMax: 50 } };
    await harness.user.mergePatch(
      resources.nodeTwins,
      { name: "n" },
      { spec: { cpu: { packagePowerCapWatts: 50 }, gpu } },
    );
    await harness.advance(SOON);
    expect((await harness.twin("n")).spec).toEqual(spec);
    operator.written();
    await harness.advance(60);
    expect(operator.written().filter(({ body }) => body["spec"] !== undefined)).toEqual([]);
  });

  it.each(["refused", "undone again"])("X-22 reports a cap whose removal is %s", async (how) => {
    harness.intercept(async (request, go) => {
      const { method, path, headers } = request;
      const removes = path.includes("/nodetwins/n?") && headers?.["content-type"]?.includes("merge") === true;
      if (method !== "PATCH" || !removes) return go();
      return how === "refused"
        ? answer(403, {})
        : answer(200, await harness.user.get(resources.nodeTwins, { name: "n" }));
    });
    harness.start({ STATIC_HP_FRAC: "1" });
    await harness.advance(20);
    await harness.user.mergePatch(resources.nodeTwins, { name: "n" }, { spec: { cpu: { packagePowerCapWatts: 50 } } });
    await harness.advance(60);
    expect((await harness.events()).filter(({ reason }) => reason === "WriteFailed")).toHaveLength(1);
    expect((await harness.twin("n")).status?.conditions).toMatchObject([{ type: "Published", status: "False" }]);
  });

  it.each([
    ["another Node", "draining", { spec: "eco draining", class: "draining", labels: "eco true", cap: 100 }],
    ["no Node", "eco", eco],
  ])("OPR-20 a twin that belongs to %s: the node is %s", async (owner, _, shown) => {
    await harness.createNode("other", { "joulie.io/managed": "false" });
    const uid = (await harness.find(resources.nodes, "other"))?.metadata.uid ?? "";
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n", uid }];
    const spec = {
      nodeName: "n",
      profile: "eco",
      cpu: { packagePowerCapPctOfMax: 60 },
      scheduling: { draining: false },
    };
    const metadata = { name: "n", ...(owner === "another Node" && { ownerReferences }) };
    await harness.user.create(resources.nodeTwins, { metadata, spec });
    await harness.createPod("p", "n", performancePod);
    harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(20);
    expect(await harness.shown("n")).toEqual(shown);
  });

  it("X-55 reports a writer that keeps changing Joulie's label once, and restores the label with backoff", async () => {
    let fights = true;
    harness.intercept(async (request, go) => {
      const done = await go();
      if (fights && request.method === "PATCH" && request.path.includes("/nodes/n?"))
        void harness.label("n", { "joulie.io/power-profile": "eco" });
      return done;
    });
    const operator = harness.start({ STATIC_HP_FRAC: "1" });
    await harness.advance(20);
    operator.written();
    await harness.advance(120);
    expect(operator.written().filter(({ path }) => path.endsWith("/nodes/n")).length).toBeLessThan(5);
    expect((await harness.events()).filter(({ reason }) => reason === "LabelContested")).toHaveLength(1);
    fights = false;
    await harness.advance(300);
    expect((await harness.shown("n")).labels).toBe("performance false");
  });

  it("X-24 downgrades no node after a restart before NodeHardware was read", async () => {
    await harness.createNode("m");
    await harness.discovered("n", { cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192 } });
    const first = harness.start();
    await harness.advance(20);
    expect([await harness.shown("m"), await harness.shown("n")]).toMatchObject([
      { spec: "eco" },
      { spec: "performance" },
    ]);
    await first.stop();
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ method, path }) => method === "GET" && path.includes("/nodehardwares"),
    });
    const second = harness.start({ PROFILE_MIN_DWELL: "0s" });
    await harness.advance(60);
    expect((await harness.shown("n")).spec).toBe("performance");
    heal();
    await harness.advance(90);
    expect([await harness.shown("m"), await harness.shown("n")]).toMatchObject([
      { spec: "eco" },
      { spec: "performance" },
    ]);
    expect(await second.series("state_transitions_total", 'node="n"')).toEqual([]);
  });

  it("X-41 notices a user's change of a Node that first appears in the response to a write", async () => {
    const held = Promise.withResolvers<void>();
    let armed = false;
    let holding = false;
    harness.intercept(async ({ method, path }, go) => {
      if (armed && method === "PATCH" && path.includes("/nodes/n?")) {
        armed = false;
        holding = true;
        await harness.label("n", { "joulie.io/managed": null });
      }
      const done = await go();
      if (!/\/nodes\?.*watch=1/.test(path)) return done;
      return { ...done, body: heldWhile(done.body, async () => (holding ? held.promise : undefined)) };
    });
    harness.start({ STATIC_HP_FRAC: "1", RECONCILE_INTERVAL: "10m" });
    await harness.advance(20);
    armed = true;
    await harness.label("n", { "joulie.io/power-profile": "eco" });
    await harness.advance(3);
    expect(holding).toBe(true);
    holding = false;
    held.resolve();
    await harness.advance(10);
    expect(await harness.findTwin("n")).toBeUndefined();
  });

  it("X-22 reverts another writer's change of a target that first appears in the response to a write", async () => {
    const held = Promise.withResolvers<void>();
    let armed = false;
    let holding = false;
    harness.intercept(async ({ method, path }, go) => {
      if (armed && method === "PATCH" && path.includes("/nodetwins/n/status")) {
        armed = false;
        holding = true;
        await harness.user.mergePatch(resources.nodeTwins, { name: "n" }, { spec: { profile: "eco" } });
      }
      const done = await go();
      if (!/nodetwins\?.*watch=1/.test(path)) return done;
      return { ...done, body: heldWhile(done.body, async () => (holding ? held.promise : undefined)) };
    });
    harness.start({ STATIC_HP_FRAC: "1", RECONCILE_INTERVAL: "10m", TWIN_HEARTBEAT: "20s" });
    await harness.advance(5);
    armed = true;
    await harness.advance(20);
    expect(holding).toBe(true);
    holding = false;
    held.resolve();
    await harness.advance(5);
    expect((await harness.shown("n")).spec).toBe("performance");
  });

  it("X-55 retries a rejected target with backoff", async () => {
    let tries = 0;
    let refuse = false;
    harness.intercept(async (request, go) => {
      if (!refuse || request.method !== "PATCH" || !request.path.includes("/nodetwins/n?")) return go();
      tries++;
      return answer(403, {});
    });
    harness.start({ STATIC_HP_FRAC: "0", RECONCILE_INTERVAL: "5s" });
    await harness.advance(20);
    refuse = true;
    await harness.pin("n", { profile: "performance" });
    await harness.advance(600);
    expect(tries).toBeGreaterThan(5);
    tries = 0;
    await harness.advance(300);
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(12);
    refuse = false;
    await harness.advance(100);
    expect((await harness.shown("n")).spec).toBe("performance");
  });

  it("X-22 retries rejected eco caps after the pod that blocked them has ended", async () => {
    let refuse = true;
    harness.intercept(async (request, go) => (refuse && bringsEcoCaps(request) ? answer(403, {}) : go()));
    harness.start({ STATIC_HP_FRAC: "0", TWIN_HEARTBEAT: "1h" });
    await harness.advance(20);
    await harness.createPod("p", "n", performancePod);
    await harness.advance(120);
    refuse = false;
    await harness.finishPod("p");
    await harness.advance(20);
    expect(await harness.shown("n")).toEqual(eco);
  });

  it("X-55 profiles with equal caps need no additional passes", async () => {
    const operator = harness.start({ STATIC_HP_FRAC: "0", CPU_ECO_CAP_PCT_OF_MAX: "100", TWIN_HEARTBEAT: "10s" });
    await harness.advance(20);
    const passes = async () => Number((await operator.series("pass_duration_seconds_count"))[0]?.split(" ").at(-1));
    const before = await passes();
    await harness.advance(600);
    expect((await passes()) - before).toBeLessThanOrEqual(12);
  });

  it("X-22 X-24 sets no eco caps while the server does not list the pods", async () => {
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 500 },
      when: ({ path }) => /pods\?.*fieldSelector=spec.nodeName/.test(path),
    });
    const operator = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(30);
    expect(operator.writes.filter(({ body }) => JSON.stringify(body).includes('"packagePowerCapPctOfMax":60'))).toEqual(
      [],
    );
    heal();
    await harness.advance(60);
    expect(await harness.shown("n")).toEqual(eco);
  });
});

async function* heldWhile(body: AsyncIterable<Uint8Array>, hold: () => Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    await hold();
    yield chunk;
  }
}

const answer = (status: number, body: unknown): ApiResponse => ({ status, headers: {}, body: chunks(body) });

async function* chunks(body: unknown): AsyncGenerator<Uint8Array> {
  yield Buffer.from(JSON.stringify(body));
}
