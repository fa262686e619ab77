import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ApiResponse, resources } from "../../platform/kube/index.ts";
import { isLowering, performancePod, Trial } from "./trial.ts";

const SOON = 5;
const eco = { spec: "eco", class: "eco", labels: "eco false", cap: 60 };

describe("what must not happen, through the API", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
    await trial.createNode("n");
  });
  afterEach(async () => trial.end());

  it("X-22 eco caps that were refused are not sent again over a pod that was bound since", async () => {
    let first = true;
    let sent = 0;
    trial.between(async (request, go) => {
      if (isLowering(request)) {
        sent++;
        if (first) {
          first = false;
          await trial.createPod("p", "n", performancePod);
          trial.api.faults.add({
            fault: { kind: "status", code: 503, retryAfterSeconds: 5 },
            times: 1,
            when: isLowering,
          });
        }
      }
      return go();
    });
    trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(300);
    expect(sent).toBe(1);
    expect(await trial.shown("n")).toEqual({ ...eco, cap: 100 });
  });

  it("X-22 X-24 nothing is lowered over a pod that a silent watch has not shown", async () => {
    const held = Promise.withResolvers<void>();
    let holding = false;
    let asked = 0;
    trial.between(async ({ path }, go) => {
      const answer = await go();
      if (/pods\?.*fieldSelector=spec.nodeName/.test(path)) asked++;
      if (!/pods\?.*watch=1/.test(path)) return answer;
      return { ...answer, body: heldWhile(answer.body, async () => (holding ? held.promise : undefined)) };
    });
    await trial.pin("n", { profile: "performance" });
    trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(SOON);
    holding = true;
    await trial.createPod("p", "n", performancePod);
    await trial.hand.delete(resources.nodePowerProfiles, { name: "n" });
    await trial.pass(40);
    expect((await trial.shown("n")).cap).toBe(100);
    expect(asked).toBeGreaterThan(0);
    await trial.finishPod("p");
    held.resolve();
    holding = false;
    await trial.pass(20);
    expect(await trial.shown("n")).toEqual(eco);
    asked = 0;
    await trial.pass(300);
    expect(asked).toBe(0);
  });

  it("X-22 a cap that somebody adds to a target is removed, and then nothing more is written", async () => {
    const operator = trial.start({ STATIC_HP_FRAC: "1" });
    await trial.pass(20);
    const { spec } = await trial.twin("n");
    operator.written();
    const gpu = { powerCap: { capPctOfMax: 50 } };
    await trial.hand.mergePatch(
      resources.nodeTwins,
      { name: "n" },
      { spec: { cpu: { packagePowerCapWatts: 50 }, gpu } },
    );
    await trial.pass(SOON);
    expect((await trial.twin("n")).spec).toEqual(spec);
    operator.written();
    await trial.pass(60);
    expect(operator.written().filter(({ body }) => body["spec"] !== undefined)).toEqual([]);
  });

  it.each(["refused", "done in vain"])("X-22 a cap whose removal is %s is told of", async (how) => {
    trial.between(async (request, go) => {
      const { method, path, headers } = request;
      const removes = path.includes("/nodetwins/n?") && headers?.["content-type"]?.includes("merge") === true;
      if (method !== "PATCH" || !removes) return go();
      return how === "refused"
        ? answer(403, {})
        : answer(200, await trial.hand.get(resources.nodeTwins, { name: "n" }));
    });
    trial.start({ STATIC_HP_FRAC: "1" });
    await trial.pass(20);
    await trial.hand.mergePatch(resources.nodeTwins, { name: "n" }, { spec: { cpu: { packagePowerCapWatts: 50 } } });
    await trial.pass(60);
    expect((await trial.events()).filter(({ reason }) => reason === "WriteFailed")).toHaveLength(1);
    expect((await trial.twin("n")).status?.conditions).toMatchObject([{ type: "Published", status: "False" }]);
  });

  it.each([
    ["another Node", "draining", { spec: "eco draining", class: "draining", labels: "eco true", cap: 100 }],
    ["no Node", "eco", eco],
  ])("OPR-20 a twin that belongs to %s: the node is %s", async (owner, _, shown) => {
    await trial.createNode("other", { "joulie.io/managed": "false" });
    const uid = (await trial.find(resources.nodes, "other"))?.metadata.uid ?? "";
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n", uid }];
    const spec = {
      nodeName: "n",
      profile: "eco",
      cpu: { packagePowerCapPctOfMax: 60 },
      scheduling: { draining: false },
    };
    const metadata = { name: "n", ...(owner === "another Node" && { ownerReferences }) };
    await trial.hand.create(resources.nodeTwins, { metadata, spec });
    await trial.createPod("p", "n", performancePod);
    trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(20);
    expect(await trial.shown("n")).toEqual(shown);
  });

  it("X-55 a rival that keeps setting our label is told of once, and written against less and less often", async () => {
    let fights = true;
    trial.between(async (request, go) => {
      const done = await go();
      if (fights && request.method === "PATCH" && request.path.includes("/nodes/n?"))
        void trial.label("n", { "joulie.io/power-profile": "eco" });
      return done;
    });
    const operator = trial.start({ STATIC_HP_FRAC: "1" });
    await trial.pass(20);
    operator.written();
    await trial.pass(120);
    expect(operator.written().filter(({ path }) => path.endsWith("/nodes/n")).length).toBeLessThan(5);
    expect((await trial.events()).filter(({ reason }) => reason === "LabelContested")).toHaveLength(1);
    fights = false;
    await trial.pass(300);
    expect((await trial.shown("n")).labels).toBe("performance false");
  });

  it("X-24 after a restart no node goes down before hardware was read", async () => {
    await trial.createNode("m");
    await trial.discovered("n", { cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192 } });
    const first = trial.start();
    await trial.pass(20);
    expect([await trial.shown("m"), await trial.shown("n")]).toMatchObject([{ spec: "eco" }, { spec: "performance" }]);
    await first.stop();
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ method, path }) => method === "GET" && path.includes("/nodehardwares"),
    });
    const second = trial.start({ PROFILE_MIN_DWELL: "0s" });
    await trial.pass(60);
    expect((await trial.shown("n")).spec).toBe("performance");
    heal();
    await trial.pass(90);
    expect([await trial.shown("m"), await trial.shown("n")]).toMatchObject([{ spec: "eco" }, { spec: "performance" }]);
    expect(await second.series("state_transitions_total", 'node="n"')).toEqual([]);
  });

  it("X-41 what a person changes on a Node just before our own write is news, though the answer tells it first", async () => {
    const held = Promise.withResolvers<void>();
    let armed = false;
    let holding = false;
    trial.between(async ({ method, path }, go) => {
      if (armed && method === "PATCH" && path.includes("/nodes/n?")) {
        armed = false;
        holding = true;
        await trial.label("n", { "joulie.io/managed": null });
      }
      const done = await go();
      if (!/\/nodes\?.*watch=1/.test(path)) return done;
      return { ...done, body: heldWhile(done.body, async () => (holding ? held.promise : undefined)) };
    });
    trial.start({ STATIC_HP_FRAC: "1", RECONCILE_INTERVAL: "10m" });
    await trial.pass(20);
    armed = true;
    await trial.label("n", { "joulie.io/power-profile": "eco" });
    await trial.pass(3);
    expect(holding).toBe(true);
    holding = false;
    held.resolve();
    await trial.pass(10);
    expect(await trial.findTwin("n")).toBeUndefined();
  });

  it("X-22 what somebody does to a target just before our own write is undone soon, though the answer tells it first", async () => {
    const held = Promise.withResolvers<void>();
    let armed = false;
    let holding = false;
    trial.between(async ({ method, path }, go) => {
      if (armed && method === "PATCH" && path.includes("/nodetwins/n/status")) {
        armed = false;
        holding = true;
        await trial.hand.mergePatch(resources.nodeTwins, { name: "n" }, { spec: { profile: "eco" } });
      }
      const done = await go();
      if (!/nodetwins\?.*watch=1/.test(path)) return done;
      return { ...done, body: heldWhile(done.body, async () => (holding ? held.promise : undefined)) };
    });
    trial.start({ STATIC_HP_FRAC: "1", RECONCILE_INTERVAL: "10m", TWIN_HEARTBEAT: "20s" });
    await trial.pass(5);
    armed = true;
    await trial.pass(20);
    expect(holding).toBe(true);
    holding = false;
    held.resolve();
    await trial.pass(5);
    expect((await trial.shown("n")).spec).toBe("performance");
  });

  it("X-55 a target that is refused is tried less and less often", async () => {
    let tries = 0;
    let refuse = false;
    trial.between(async (request, go) => {
      if (!refuse || request.method !== "PATCH" || !request.path.includes("/nodetwins/n?")) return go();
      tries++;
      return answer(403, {});
    });
    trial.start({ STATIC_HP_FRAC: "0", RECONCILE_INTERVAL: "5s" });
    await trial.pass(20);
    refuse = true;
    await trial.pin("n", { profile: "performance" });
    await trial.pass(600);
    expect(tries).toBeGreaterThan(5);
    tries = 0;
    await trial.pass(300);
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(12);
    refuse = false;
    await trial.pass(100);
    expect((await trial.shown("n")).spec).toBe("performance");
  });

  it("X-22 a refused lowering that a pod overtook comes back once the pod has gone", async () => {
    let refuse = true;
    trial.between(async (request, go) => (refuse && isLowering(request) ? answer(403, {}) : go()));
    trial.start({ STATIC_HP_FRAC: "0", TWIN_HEARTBEAT: "1h" });
    await trial.pass(20);
    await trial.createPod("p", "n", performancePod);
    await trial.pass(120);
    refuse = false;
    await trial.finishPod("p");
    await trial.pass(20);
    expect(await trial.shown("n")).toEqual(eco);
  });

  it("X-55 profiles with equal caps cost no more passes than others", async () => {
    const operator = trial.start({ STATIC_HP_FRAC: "0", CPU_ECO_CAP_PCT_OF_MAX: "100", TWIN_HEARTBEAT: "10s" });
    await trial.pass(20);
    const passes = async () => Number((await operator.series("pass_duration_seconds_count"))[0]?.split(" ").at(-1));
    const before = await passes();
    await trial.pass(600);
    expect((await passes()) - before).toBeLessThanOrEqual(12);
  });

  it("X-22 X-24 nothing is lowered while the server does not say which pods are there", async () => {
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 500 },
      when: ({ path }) => /pods\?.*fieldSelector=spec.nodeName/.test(path),
    });
    const operator = trial.start({ STATIC_HP_FRAC: "0" });
    await trial.pass(30);
    expect(operator.writes.filter(({ body }) => JSON.stringify(body).includes('"packagePowerCapPctOfMax":60'))).toEqual(
      [],
    );
    heal();
    await trial.pass(60);
    expect(await trial.shown("n")).toEqual(eco);
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
