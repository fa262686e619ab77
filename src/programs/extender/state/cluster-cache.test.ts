import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, monotonicInstant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { resources, type Transport } from "../../../platform/kube/index.ts";
import { extenderPermissions } from "../permissions.ts";
import { calmTwinStatus, ExtenderHarness, type FilterResult, podOfClass } from "../testing/extender-harness.ts";

const standard = podOfClass("standard");
let harness: ExtenderHarness;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

describe("ClusterCache", () => {
  it("SCH-10 follows twins, hardware and labels; a request makes no API call", async () => {
    await harness.createNode("n");
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    let calls = 0;
    harness.api.faults.add({ fault: { kind: "refused" }, when: () => ++calls < 0 });
    const eco = (await extender.scores(standard, ["n"]))["n"] ?? 0;
    expect((await extender.filter(podOfClass("performance"), ["n"])).NodeNames).toEqual([]);
    expect(calls).toBe(0);
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "draining" });
    await harness.until(async () => (await extender.scores(standard, ["n"]))["n"] === eco - 30);
    await harness.hardware("n", {
      cpu: { totalCores: 4, capRange: { type: "watts", maxWattsPerSocket: 600 }, sockets: 1 },
    });
    // 0.7 × 2 of 4 cores × 600 W of a budget of 600 W: 35 % of headroom, of which 0.7 counts.
    const asking = podOfClass("standard", { cpu: "2" });
    await harness.until(async () => (await extender.scores(asking, ["n"]))["n"] === Math.round(eco - 30 - 0.7 * 35));
    await harness.hardware("n", {
      cpu: { totalCores: 8, capRange: { type: "watts", maxWattsPerSocket: 600 }, sockets: 1 },
    });
    await harness.until(async () => (await extender.scores(asking, ["n"]))["n"] === Math.round(eco - 30 - 0.7 * 17.5));
    // Without a class in the twin the label decides, and label changes are followed.
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "unknown" });
    const passes = async () => (await extender.filter(podOfClass("performance"), ["n"])).NodeNames?.length === 1;
    await harness.until(passes);
    const label = async (profile: string) =>
      harness.client.apply(
        resources.nodes,
        { name: "n" },
        { metadata: { labels: { "joulie.io/power-profile": profile } } },
      );
    await label("eco");
    await harness.until(async () => !(await passes()));
    await label("performance");
    await harness.until(passes);
  });

  it("is not ready before all listed objects are applied", async () => {
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    for (const name of names) {
      await harness.createNode(name);
      await harness.twin(name, { ...calmTwinStatus, schedulableClass: "eco" });
    }
    const { clock } = harness;
    let looks = 0;
    // Every check of the clock ends the slice, and the next slice is delayed.
    const ioClock: Clock = {
      now: () => clock.now(),
      monotonic: () => monotonicInstant(clock.monotonic() + ++looks),
      after: (length, callback) => clock.after(length, callback),
      sleep: async (length, signal) => clock.sleep(milliseconds(Math.max(5, length)), signal),
    };
    const extender = await harness.start({}, { ioClock, synced: false });
    const answers = new Set<string>();
    await harness.until(async () => {
      const { status, body } = await extender.post<FilterResult>("/filter", {
        Pod: podOfClass("performance"),
        NodeNames: names,
      });
      answers.add(
        status === 200 ? `${status} ${body.NodeNames?.length}` : (body as unknown as { error: string }).error,
      );
      return status === 200;
    });
    expect([...answers].slice(-2)).toEqual(["not synced yet: the last changes", "200 0"]);
  });

  it("SCH-10 detects a dead watch within CACHE_TTL", async () => {
    await harness.createNode("n");
    await harness.twin("n", calmTwinStatus);
    const transport = harness.api.transport();
    let dead = false;
    const request: Transport["request"] = async (asked) => {
      const answer = await transport.request(asked);
      return asked.longLived === true && !dead
        ? { ...answer, body: silenced(answer.body, () => dead, asked.signal) }
        : answer;
    };
    const extender = await harness.start({}, { transport: { ...transport, request } });
    dead = true;
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    await harness.advance(2);
    const left = async () => (await extender.filter(podOfClass("performance"), ["n"])).NodeNames;
    expect(await left()).toEqual(["n"]);
    await harness.advance(30);
    expect(await left()).toEqual([]);
  });

  it("X-58 without the API it stays ready and uses the last state, until stale twins score 50", async () => {
    await harness.createNode("n");
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    const score = (await extender.scores(standard, ["n"]))["n"];
    harness.api.faults.add({ fault: { kind: "refused" } });
    harness.api.faults.dropWatches();
    await harness.advance(240);
    expect((await extender.get("/readyz")).status).toBe(200);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: score });
    expect(await extender.series("api_silence_seconds")).toEqual([expect.stringMatching(/ 2[0-9]{2}/)]);
    await harness.advance(61);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
    // The class is trusted at any age.
    expect((await extender.filter(podOfClass("performance"), ["n"])).NodeNames).toEqual([]);
    expect((await extender.get("/readyz")).status).toBe(200);
    harness.api.faults.clear();
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "performance" });
    await harness.advance(60);
    expect((await extender.filter(podOfClass("performance"), ["n"])).NodeNames).toEqual(["n"]);
  });

  it("answers 503 before the first lists are complete", async () => {
    await harness.createNode("n");
    const held = harness.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ path }) => path.includes("nodehardwares"),
    });
    const extender = await harness.start({}, { synced: false });
    await harness.until(async () => (await extender.get("/readyz")).text.includes("not synced yet: hardware"));
    expect((await extender.get("/readyz")).status).toBe(503);
    const answer = await extender.post("/filter", { Pod: podOfClass("performance"), NodeNames: ["n"] });
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "1" }, body: { error: /hardware/ } });
    expect((await extender.get("/healthz")).status).toBe(200);
    held();
    await harness.until(async () => (await extender.get("/readyz")).status === 200);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
  });

  it("a deleted Node loses its twin, and a new Node of the same name starts without it", async () => {
    await harness.createNode("n");
    await harness.createNode("other");
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    const passes = async () => (await extender.filter(podOfClass("performance"), ["n"])).NodeNames?.length === 1;
    expect(await passes()).toBe(false);
    await harness.client.delete(resources.nodes, { name: "n" });
    await harness.until(passes);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
    // Another node takes the free slot.
    await harness.createNode("third");
    await harness.twin("third", { ...calmTwinStatus, schedulableClass: "draining" });
    await harness.until(
      async () => (await extender.filter(podOfClass("performance"), ["third"])).NodeNames?.length === 0,
    );
    expect(await extender.scores(standard, ["n", "other"])).toEqual({ n: 50, other: 50 });
    // The twin has no owner reference, so it counts for the new Node.
    await harness.createNode("n");
    await harness.until(async () => !(await passes()));
  });

  it("ignores a twin that belongs to an earlier Node of the same name", async () => {
    await harness.createNode("n");
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n", uid: "another" }];
    const former = (twins: Item[]) =>
      twins.map((twin) => ({ ...twin, metadata: { ...twin.metadata, ownerReferences } }));
    const extender = await harness.start({}, { transport: withTwins(former) });
    expect((await extender.filter(podOfClass("performance"), ["n"])).NodeNames).toEqual(["n"]);
    expect(await extender.scores(standard, ["n"])).toEqual({ n: 50 });
  });

  it("an unreadable object does not affect the others", async () => {
    await harness.createNode("bad");
    await harness.createNode("good");
    await harness.twin("good", { ...calmTwinStatus, schedulableClass: "eco" });
    const bad = { kind: "Pod", metadata: { name: "bad", uid: "b", resourceVersion: "1" } };
    const extender = await harness.start({}, { transport: withTwins((twins) => [bad, ...twins]) });
    expect((await extender.filter(podOfClass("performance"), ["bad", "good"])).NodeNames).toEqual(["bad"]);
    expect(extender.logs.filter(({ level }) => level === "warn")).toMatchObject([{ object: "bad" }]);
  });
});

it("uses exactly the permissions that it is granted", async () => {
  await harness.createNode("n");
  const used = new Set<string>();
  harness.api.faults.add({
    fault: { kind: "refused" },
    when: ({ method, path }) => {
      const { pathname, searchParams } = new URL(path, "http://api");
      used.add(`${method} ${pathname.split("/").at(-1)} ${searchParams.has("watch") ? "watch" : "list"}`);
      return false;
    },
  });
  const extender = await harness.start();
  await extender.filter(standard, ["n"]);
  await harness.advance(60);
  // debug-pages.test.ts covers the token reviews.
  const granted = extenderPermissions
    .filter(({ verbs: [verb] }) => verb !== "create")
    .flatMap(({ resources: [resource], verbs }) => verbs.map((verb) => `GET ${resource} ${verb}`));
  expect(used).toEqual(new Set(granted));
});

/** A connection that delivers nothing any more without being closed. */
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

/** An API whose list of twins differs from its store. */
function withTwins(change: (twins: Item[]) => Item[]): Transport {
  const transport = harness.api.transport();
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
