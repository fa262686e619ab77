import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock, VirtualClock } from "../../clock/index.ts";
import { KubeClient, type KubeObject, resources } from "../../kube/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { EmbeddedApi } from "../embedded-api.ts";
import { Extender, type ExtenderConfig } from "./extender.ts";
import { Scheduler } from "./scheduler.ts";

const log = createLogger({ program: "test", level: "silent", format: "json" });
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface PodObject extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  };
}

function world(clock: Clock = systemClock, extenders: readonly Extender[] = []) {
  const random = seededRandom(1);
  const api = new EmbeddedApi({ clock, random });
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const client = new KubeClient({ transport: api.transport(), clock, random, fieldManager: "test", limit });
  const scheduler = new Scheduler({ client, clock, random, log, extenders });
  scheduler.start();
  cleanups.push(
    async () => api.close(),
    async () => scheduler.stop(),
  );
  const at = (name: string) => ({ name, namespace: "default" });
  return {
    api,
    client,
    scheduler,
    node: async (name: string, allocatable: object = { cpu: "4", memory: "8Gi", pods: "10" }, more: object = {}) =>
      client.create(resources.nodes, {
        metadata: { name, labels: { "kubernetes.io/hostname": name } },
        status: { allocatable },
        ...more,
      }),
    pod: async (name: string, requests: object = {}, spec: object = {}) =>
      client.create(
        resources.pods,
        {
          metadata: { name },
          spec: { containers: [{ name: "c", image: "i", resources: { requests } }], ...spec },
        },
        { namespace: "default" },
      ),
    get: async (name: string) => client.get<PodObject>(resources.pods, at(name)),
    at,
  };
}

/** Looks again until it is so; the test's own limit bounds it. */
async function eventually<Value>(
  look: () => Promise<Value | undefined>,
  pass = async () => systemClock.sleep(milliseconds(2)),
) {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await pass();
  }
}

const nodeOf = (w: ReturnType<typeof world>) => async (name: string) =>
  eventually(async () => (await w.get(name)).spec.nodeName);
const scheduledCondition = async (w: ReturnType<typeof world>, name: string) =>
  eventually(async () => (await w.get(name)).status.conditions?.find(({ status }) => status === "False"));

describe("Scheduler", () => {
  it("spreads pods over the emptier nodes and never beyond what a node has", async () => {
    const w = world();
    await Promise.all([w.node("a"), w.node("b")]);
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    for (const name of names) await w.pod(name, { cpu: "1" });
    const placed = await Promise.all(names.map(nodeOf(w)));
    expect(placed.filter((node) => node === "a")).toHaveLength(4);
    await w.pod("ninth", { cpu: "1" });
    expect(await scheduledCondition(w, "ninth")).toMatchObject({
      type: "PodScheduled",
      reason: "Unschedulable",
      message: "0/2 nodes are available: 2 Insufficient cpu.",
    });
  });

  it("says why, in the condition and in an event, and places the pod when a node comes that fits", async () => {
    const w = world();
    await w.node("tainted", undefined, { spec: { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] } });
    await w.node("cordoned", undefined, { spec: { unschedulable: true } });
    await w.node("plain");
    await w.pod("picky", {}, { nodeSelector: { disk: "ssd" } });
    const { message } = await scheduledCondition(w, "picky");
    expect(message).toBe(
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable.",
    );
    const events = await eventually(async () => {
      const { items } = await w.client.listAll<KubeObject & { reason?: string; note?: string }>(resources.events, {});
      return items.some(({ reason, note }) => reason === "FailedScheduling" && note === message) ? items : undefined;
    });
    expect(events.length).toBeGreaterThan(0);
    await w.node("ssd");
    await w.client.mergePatch(resources.nodes, { name: "ssd" }, { metadata: { labels: { disk: "ssd" } } });
    expect(await nodeOf(w)("picky")).toBe("ssd");
  });

  it("counts GPUs and other extended resources, and the number of pods", async () => {
    const w = world();
    await w.node("gpu", { cpu: "8", memory: "8Gi", pods: "3", "nvidia.com/gpu": "2" });
    await w.pod("two", { "nvidia.com/gpu": "2" });
    expect(await nodeOf(w)("two")).toBe("gpu");
    await w.pod("third", { "nvidia.com/gpu": "1" });
    expect((await scheduledCondition(w, "third")).message).toContain("1 Insufficient nvidia.com/gpu");
    await w.client.delete(resources.pods, w.at("third"));
    await Promise.all([w.pod("x"), w.pod("y")]);
    await Promise.all(["x", "y"].map(nodeOf(w)));
    await w.pod("z");
    expect((await scheduledCondition(w, "z")).message).toContain("1 Too many pods");
  });

  it("waits out its backoff, on the injected clock, before it tries again", async () => {
    const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
    const w = world(clock);
    const pass = async () => clock.advanceAsync(milliseconds(0));
    await clock.advanceAsync(milliseconds(10));
    const full = w.pod("p", { cpu: "1" });
    await pass();
    await full;
    await eventually(async () => (await w.get("p")).status.conditions, pass);
    const made = w.node("late");
    await pass();
    await made;
    await clock.advanceAsync(milliseconds(900));
    expect((await w.get("p")).spec.nodeName).toBeUndefined();
    await clock.advanceAsync(milliseconds(200));
    expect((await w.get("p")).spec.nodeName).toBe("late");
  });

  it("takes room back from pods that end or go, and leaves alone what is not its own", async () => {
    const w = world();
    await w.node("one", { cpu: "1", memory: "1Gi", pods: "10" });
    await w.pod("first", { cpu: "1" });
    expect(await nodeOf(w)("first")).toBe("one");
    await w.pod("second", { cpu: "1" });
    await scheduledCondition(w, "second");
    await w.client.mergePatch(
      resources.pods,
      w.at("first"),
      { status: { phase: "Succeeded" } },
      { subresource: "status" },
    );
    expect(await nodeOf(w)("second")).toBe("one");
    await w.pod("foreign", {}, { schedulerName: "other" });
    await w.pod("gated", {}, { schedulingGates: [{ name: "example.org/wait" }] });
    await w.pod("free");
    await nodeOf(w)("free");
    expect((await w.get("foreign")).spec.nodeName).toBeUndefined();
    expect((await w.get("gated")).spec.nodeName).toBeUndefined();
  });
});

interface Args {
  readonly Pod: KubeObject;
  readonly Nodes: { items: KubeObject[] } | null;
  readonly NodeNames: string[] | null;
}

/** An extender in this process; what it was asked, and answers by verb. */
async function extenderServer(answers: Readonly<Record<string, (body: Args) => unknown>>) {
  const asked: { verb: string; body: Args }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const verb = (request.url ?? "").slice(1);
      const body = JSON.parse(Buffer.concat(parts).toString()) as Args;
      asked.push({ verb, body });
      const answer = answers[verb]?.(body);
      if (answer === undefined) response.writeHead(500).end();
      else response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const extender = (config: ExtenderConfig) => new Extender(config);

describe("Extender", () => {
  it("speaks kube-scheduler's wire with names: all three fields, the unused null", async () => {
    const { asked, url } = await extenderServer({
      filter: ({ NodeNames }: Args) => ({
        NodeNames: NodeNames?.filter((name) => name !== "a"),
        FailedNodes: { a: "too hot" },
        Error: "",
      }),
      prioritize: () => [
        { Host: "b", Score: 1 },
        { Host: "c", Score: 5 },
      ],
    });
    const w = world(systemClock, [
      extender({
        urlPrefix: url,
        filterVerb: "filter",
        prioritizeVerb: "prioritize",
        weight: 2,
        nodeCacheCapable: true,
      }),
    ]);
    // b is empty and c almost full: LeastAllocated prefers b by less than (5 - 1) x 2 x 10.
    await Promise.all([w.node("a"), w.node("b"), w.node("c")]);
    await w.pod("filler", { cpu: "2", memory: "4Gi" }, { nodeName: "c" });
    await w.pod("p");
    expect(await nodeOf(w)("p")).toBe("c");
    const [filter, prioritize] = asked;
    expect(filter?.verb).toBe("filter");
    expect(Object.keys(filter?.body ?? {})).toEqual(["Pod", "Nodes", "NodeNames"]);
    expect(filter?.body.Nodes).toBeNull();
    expect(filter?.body.NodeNames?.toSorted()).toEqual(["a", "b", "c"]);
    expect(filter?.body.Pod).toMatchObject({ metadata: { name: "p" } });
    expect(filter?.body.Pod).not.toHaveProperty("kind");
    expect(prioritize?.body.NodeNames?.toSorted()).toEqual(["b", "c"]);
  });

  it("sends whole nodes to an extender without a cache, and takes them back", async () => {
    const { asked, url } = await extenderServer({
      filter: ({ Nodes }: Args) => ({
        nodes: { items: Nodes?.items.filter(({ metadata }) => metadata.name === "b") },
        nodenames: null,
      }),
    });
    const w = world(systemClock, [extender({ urlPrefix: `${url}/`, filterVerb: "filter" })]);
    await Promise.all([w.node("a"), w.node("b")]);
    await w.pod("p");
    expect(await nodeOf(w)("p")).toBe("b");
    const Nodes = asked[0]?.body.Nodes;
    expect(asked[0]?.body.NodeNames).toBeNull();
    expect(Nodes?.items[0]).toHaveProperty("status.allocatable.cpu", "4");
    expect(Nodes?.items[0]).not.toHaveProperty("kind");
    expect(Nodes?.items[0]).toHaveProperty("metadata.managedFields");
  });

  it("weighs an extender's score by weight x 10 against LeastAllocated", async () => {
    const { url } = await extenderServer({ prioritize: () => [{ Host: "full", Score: 1 }] });
    const place = async (weight: number) => {
      const w = world(systemClock, [
        extender({ urlPrefix: url, prioritizeVerb: "prioritize", weight, nodeCacheCapable: true }),
      ]);
      await Promise.all([w.node("empty"), w.node("full")]);
      await w.pod("filler", { cpu: "1", memory: "2Gi" }, { nodeName: "full" });
      await w.pod("p");
      return nodeOf(w)("p");
    };
    // The fuller node is 25 points behind: 1 x 2 x 10 does not make up for it, 1 x 3 x 10 does.
    expect(await place(2)).toBe("empty");
    expect(await place(3)).toBe("full");
  });

  it("keeps a pod waiting while an extender fails, and goes on without one that may be ignored", async () => {
    const { url } = await extenderServer({});
    const strict = world(systemClock, [extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true })]);
    await strict.node("a");
    await strict.pod("p");
    expect(await scheduledCondition(strict, "p")).toMatchObject({ reason: "SchedulerError" });
    const lenient = world(systemClock, [
      extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true, ignorable: true }),
    ]);
    await lenient.node("a");
    await lenient.pod("p");
    expect(await nodeOf(lenient)("p")).toBe("a");
  });

  it("gives up on an answer that does not come, or names a node it was not asked about", async () => {
    const slow = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      slow.listen(0, "127.0.0.1", resolve);
    });
    cleanups.push(async () => {
      slow.closeAllConnections();
      slow.close();
    });
    const { signal } = new AbortController();
    const pod = { metadata: { name: "p" } };
    const node = { name: "a", labels: {}, taints: [], unschedulable: false, allocatable: new Map(), object: undefined };
    const silent = extender({
      urlPrefix: `http://127.0.0.1:${(slow.address() as AddressInfo).port}`,
      filterVerb: "filter",
      nodeCacheCapable: true,
      httpTimeout: milliseconds(20),
    });
    await expect(silent.filter(pod, [node], signal)).rejects.toThrow("no answer within 20 ms");
    const { url } = await extenderServer({ filter: () => ({ NodeNames: ["b"] }), error: () => ({ Error: "no twin" }) });
    const liar = extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true });
    await expect(liar.filter(pod, [node], signal)).rejects.toThrow("left b, which it was not asked about");
    const failing = extender({ urlPrefix: url, filterVerb: "error", nodeCacheCapable: true });
    await expect(failing.filter(pod, [node], signal)).rejects.toThrow("no twin");
  });
});
