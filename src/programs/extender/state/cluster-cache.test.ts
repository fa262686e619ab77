import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { resources, type Transport } from "../../../platform/kube/index.ts";
import { extenderPermissions } from "../permissions.ts";
import { calmTwinStatus, ExtenderHarness, type FilterResult, pod } from "../testing/extender-harness.ts";

const standard = pod("standard");
let trial: ExtenderHarness;
beforeEach(() => {
  trial = new ExtenderHarness();
});
afterEach(async () => trial.end());

describe("what is known", () => {
  it("SCH-10 follows twins, hardware and labels; a request asks the API nothing", async () => {
    await trial.createNode("n");
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await trial.start();
    let calls = 0;
    trial.api.faults.add({ fault: { kind: "refused" }, when: () => ++calls < 0 });
    const eco = (await extender.scores(standard, ["n"]))["n"] ?? 0;
    expect((await extender.filter(pod("performance"), ["n"])).NodeNames).toEqual([]);
    expect(calls).toBe(0);
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "draining" });
    await trial.until(async () => (await extender.scores(standard, ["n"]))["n"] === eco - 30);
    await trial.hardware("n", {
      cpu: { totalCores: 4, capRange: { type: "watts", maxWattsPerSocket: 600 }, sockets: 1 },
    });
    // 0.7 × 2 of 4 cores × 600 W of a budget of 600 W: 35 % of headroom, of which 0.7 counts.
    const asking = pod("standard", { cpu: "2" });
    await trial.until(async () => (await extender.scores(asking, ["n"]))["n"] === Math.round(eco - 30 - 0.7 * 35));
    await trial.hardware("n", {
      cpu: { totalCores: 8, capRange: { type: "watts", maxWattsPerSocket: 600 }, sockets: 1 },
    });
    await trial.until(async () => (await extender.scores(asking, ["n"]))["n"] === Math.round(eco - 30 - 0.7 * 17.5));
    // Without a class of its twin the label decides, and the label is followed.
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "unknown" });
    const passes = async () => (await extender.filter(pod("performance"), ["n"])).NodeNames?.length === 1;
    await trial.until(passes);
    const label = async (profile: string) =>
      trial.client.apply(
        resources.nodes,
        { name: "n" },
        { metadata: { labels: { "joulie.io/power-profile": profile } } },
      );
    await label("eco");
    await trial.until(async () => !(await passes()));
    await label("performance");
    await trial.until(passes);
  });

  it("is not ready before all that was listed is taken over, however many turns that takes", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    for (const name of names) {
      await trial.createNode(name);
      await trial.twin(name, { ...calmTwinStatus, schedulableClass: "eco" });
    }
    const { clock } = trial;
    let looks = 0;
    // Each look at the time finds that a turn is over, and the next turn does not come at once.
    const ioClock: Clock = {
      now: () => clock.now(),
      monotonic: () => monotonicInstant(clock.monotonic() + ++looks),
      after: (length, callback) => clock.after(length, callback),
      sleep: async (length, signal) => clock.sleep(milliseconds(Math.max(5, length)), signal),
    };
    const extender = await trial.start({}, { ioClock, synced: false });
    const answers = new Set<string>();
    await trial.until(async () => {
      const { status, body } = await extender.post<FilterResult>("/filter", {
        Pod: pod("performance"),
        NodeNames: names,
      });
      answers.add(
        status === 200 ? `${status} ${body.NodeNames?.length}` : (body as unknown as { error: string }).error,
      );
      return status === 200;
    });
    expect([...answers].slice(-2)).toEqual(["not read yet: the rest of the lists", "200 0"]);
  });

  it("SCH-10 a watch that died unnoticed is found out within CACHE_TTL", async () => {
    await trial.createNode("n");
    await trial.twin("n", calmTwinStatus);
    const transport = trial.api.transport();
    let dead = false;
    const request: Transport["request"] = async (asked) => {
      const answer = await transport.request(asked);
      return asked.longLived === true && !dead
        ? { ...answer, body: silenced(answer.body, () => dead, asked.signal) }
        : answer;
    };
    const extender = await trial.start({}, { transport: { ...transport, request } });
    dead = true;
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    await trial.advance(2);
    const left = async () => (await extender.filter(pod("performance"), ["n"])).NodeNames;
    expect(await left()).toEqual(["n"]);
    await trial.advance(30);
    expect(await left()).toEqual([]);
  });

  it("X-58 without the API the last state serves and it stays ready, until the twins' own age says 50", async () => {
    await trial.createNode("n");
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await trial.start();
    const score = (await extender.scores(standard, ["n"]))["n"];
    trial.api.faults.add({ fault: { kind: "refused" } });
    trial.api.faults.dropWatches();
    await trial.advance(240);
    expect((await extender.get("/readyz")).status).toBe(200);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: score });
    expect(await extender.series("api_silence_seconds")).toEqual([expect.stringMatching(/ 2[0-9]{2}/)]);
    await trial.advance(61);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
    // The class is trusted at any age.
    expect((await extender.filter(pod("performance"), ["n"])).NodeNames).toEqual([]);
    expect((await extender.get("/readyz")).status).toBe(200);
    trial.api.faults.clear();
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "performance" });
    await trial.advance(60);
    expect((await extender.filter(pod("performance"), ["n"])).NodeNames).toEqual(["n"]);
  });

  it("X-13 warns once when twins are refreshed more slowly than they go stale, but not after one late refresh", async () => {
    await trial.createNode("n");
    await trial.twin("n", calmTwinStatus);
    const extender = await trial.start({ TWIN_STALENESS_THRESHOLD: "1m" });
    const warnings = () => extender.logs.filter(({ msg }) => msg.includes("refreshed more slowly"));
    const refreshAfter = async (seconds: number) => {
      await trial.advance(seconds);
      await trial.twin("n", calmTwinStatus);
      await trial.advance(1);
    };
    for (const seconds of [120, 50, 120, 59]) await refreshAfter(seconds);
    expect(warnings()).toEqual([]);
    for (const seconds of [119, 119, 119]) await refreshAfter(seconds);
    expect(warnings()).toMatchObject([{ level: "warn", refreshedEvery: "2m", TWIN_STALENESS_THRESHOLD: "1m" }]);
  });

  it("before the first lists it answers 503, which kube-scheduler passes over where the extender is ignorable", async () => {
    await trial.createNode("n");
    const held = trial.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ path }) => path.includes("nodehardwares"),
    });
    const extender = await trial.start({}, { synced: false });
    await trial.until(async () => (await extender.get("/readyz")).text.includes("not read yet: hardware"));
    expect((await extender.get("/readyz")).status).toBe(503);
    const answer = await extender.post("/filter", { Pod: pod("performance"), NodeNames: ["n"] });
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "1" }, body: { error: /hardware/ } });
    expect((await extender.get("/healthz")).status).toBe(200);
    held();
    await trial.until(async () => (await extender.get("/readyz")).status === 200);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
  });

  it("a Node that is gone takes its twin with it, and one that comes under its name begins anew", async () => {
    await trial.createNode("n");
    await trial.createNode("other");
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await trial.start();
    const passes = async () => (await extender.filter(pod("performance"), ["n"])).NodeNames?.length === 1;
    expect(await passes()).toBe(false);
    await trial.client.delete(resources.nodes, { name: "n" });
    await trial.until(passes);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
    // Another takes the slot that became free.
    await trial.createNode("third");
    await trial.twin("third", { ...calmTwinStatus, schedulableClass: "draining" });
    await trial.until(async () => (await extender.filter(pod("performance"), ["third"])).NodeNames?.length === 0);
    expect(await extender.scores(standard, ["n", "other"])).toEqual({ n: 50, other: 50 });
    // The twin belongs to nobody in particular, so it is that of the new Node.
    await trial.createNode("n");
    await trial.until(async () => !(await passes()));
  });

  it("a twin of a former Node of that name says nothing of the new one", async () => {
    await trial.createNode("n");
    await trial.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n", uid: "another" }];
    const former = (twins: Item[]) =>
      twins.map((twin) => ({ ...twin, metadata: { ...twin.metadata, ownerReferences } }));
    const extender = await trial.start({}, { transport: withTwins(former) });
    expect((await extender.filter(pod("performance"), ["n"])).NodeNames).toEqual(["n"]);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
  });

  it("an object that cannot be read costs only itself", async () => {
    await trial.createNode("bad");
    await trial.createNode("good");
    await trial.twin("good", { ...calmTwinStatus, schedulableClass: "eco" });
    const bad = { kind: "Pod", metadata: { name: "bad", uid: "b", resourceVersion: "1" } };
    const extender = await trial.start({}, { transport: withTwins((twins) => [bad, ...twins]) });
    expect((await extender.filter(pod("performance"), ["bad", "good"])).NodeNames).toEqual(["bad"]);
    expect(extender.logs.filter(({ level }) => level === "warn")).toMatchObject([{ object: "bad" }]);
  });
});

it("the verbs it is granted are the verbs it uses", async () => {
  await trial.createNode("n");
  const used = new Set<string>();
  trial.api.faults.add({
    fault: { kind: "refused" },
    when: ({ method, path }) => {
      const { pathname, searchParams } = new URL(path, "http://api");
      used.add(`${method} ${pathname.split("/").at(-1)} ${searchParams.has("watch") ? "watch" : "list"}`);
      return false;
    },
  });
  const extender = await trial.start();
  await extender.filter(standard, ["n"]);
  await trial.advance(60);
  // The reviews of tokens are asked for in debug-pages.test.ts.
  const granted = extenderPermissions
    .filter(({ verbs: [verb] }) => verb !== "create")
    .flatMap(({ resources: [resource], verbs }) => verbs.map((verb) => `GET ${resource} ${verb}`));
  expect(used).toEqual(new Set(granted));
});

/** A connection over which nothing comes any more, while the other side believes it stands. */
async function* silenced(body: AsyncIterable<Uint8Array>, dead: () => boolean, signal: AbortSignal) {
  for await (const chunk of body) {
    if (dead())
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    yield chunk;
  }
}

interface Item {
  readonly metadata: object;
}

/** An API that lists other twins than it has. */
function withTwins(change: (twins: Item[]) => Item[]): Transport {
  const transport = trial.api.transport();
  return {
    ...transport,
    request: async (asked) => {
      const answer = await transport.request(asked);
      const isList = asked.path.includes("nodetwins?") && asked.longLived !== true;
      return isList ? { ...answer, body: changed(answer.body, change) } : answer;
    },
  };
}

async function* changed(body: AsyncIterable<Uint8Array>, change: (twins: Item[]) => Item[]) {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const list = JSON.parse(Buffer.concat(chunks).toString()) as { items: Item[] };
  yield Buffer.from(JSON.stringify({ ...list, items: change(list.items) }));
}
