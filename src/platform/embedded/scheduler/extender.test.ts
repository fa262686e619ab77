import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import {
  cleanups,
  runCleanups,
  scheduledCondition,
  scheduledNode,
  schedulerHarness,
} from "../testing/scheduler-harness.ts";
import { ExtenderClient, type ExtenderClientConfig } from "./extender.ts";

afterEach(runCleanups);

interface Args {
  readonly Pod: KubeObject;
  readonly Nodes: { items: KubeObject[] } | null;
  readonly NodeNames: string[] | null;
}

/** An in-process extender: its recorded requests and its responses by verb. */
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

const extender = (config: ExtenderClientConfig) => new ExtenderClient(config);

describe("Extender", () => {
  it("uses the kube-scheduler wire format with node names: all three fields, unused ones null", async () => {
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
    const w = schedulerHarness(systemClock, [
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
    expect(await scheduledNode(w)("p")).toBe("c");
    const [filter, prioritize] = asked;
    expect(filter?.verb).toBe("filter");
    expect(Object.keys(filter?.body ?? {})).toEqual(["Pod", "Nodes", "NodeNames"]);
    expect(filter?.body.Nodes).toBeNull();
    expect(filter?.body.NodeNames?.toSorted()).toEqual(["a", "b", "c"]);
    expect(filter?.body.Pod).toMatchObject({ metadata: { name: "p" } });
    expect(filter?.body.Pod).not.toHaveProperty("kind");
    expect(prioritize?.body.NodeNames?.toSorted()).toEqual(["b", "c"]);
  });

  it("sends and receives whole nodes for an extender without a cache", async () => {
    const { asked, url } = await extenderServer({
      filter: ({ Nodes }: Args) => ({
        nodes: { items: Nodes?.items.filter(({ metadata }) => metadata.name === "b") },
        nodenames: null,
      }),
    });
    const w = schedulerHarness(systemClock, [extender({ urlPrefix: `${url}/`, filterVerb: "filter" })]);
    await Promise.all([w.node("a"), w.node("b")]);
    await w.pod("p");
    expect(await scheduledNode(w)("p")).toBe("b");
    const Nodes = asked[0]?.body.Nodes;
    expect(asked[0]?.body.NodeNames).toBeNull();
    expect(Nodes?.items[0]).toHaveProperty("status.allocatable.cpu", "4");
    expect(Nodes?.items[0]).not.toHaveProperty("kind");
    expect(Nodes?.items[0]).toHaveProperty("metadata.managedFields");
  });

  it("weighs an extender's score by weight x 10 against LeastAllocated", async () => {
    const { url } = await extenderServer({ prioritize: () => [{ Host: "full", Score: 1 }] });
    const place = async (weight: number) => {
      const w = schedulerHarness(systemClock, [
        extender({ urlPrefix: url, prioritizeVerb: "prioritize", weight, nodeCacheCapable: true }),
      ]);
      await Promise.all([w.node("empty"), w.node("full")]);
      await w.pod("filler", { cpu: "1", memory: "2Gi" }, { nodeName: "full" });
      await w.pod("p");
      return scheduledNode(w)("p");
    };
    // The fuller node is 25 points behind: 1 x 2 x 10 does not make up for it, 1 x 3 x 10 does.
    expect(await place(2)).toBe("empty");
    expect(await place(3)).toBe("full");
  });

  it("keeps a pod pending while an extender fails, and skips a failing ignorable extender", async () => {
    const { url } = await extenderServer({});
    const strict = schedulerHarness(systemClock, [
      extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true }),
    ]);
    await strict.node("a");
    await strict.pod("p");
    expect(await scheduledCondition(strict, "p")).toMatchObject({ reason: "SchedulerError" });
    const lenient = schedulerHarness(systemClock, [
      extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true, ignorable: true }),
    ]);
    await lenient.node("a");
    await lenient.pod("p");
    expect(await scheduledNode(lenient)("p")).toBe("a");
  });

  it("fails on a response that times out or names an unknown node", async () => {
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
    const node = {
      name: "a",
      labels: {},
      taints: [],
      unschedulable: false,
      allocatable: new Map(),
      scored: { milliCpu: 0, memory: 0 },
      object: undefined,
    };
    const silent = extender({
      urlPrefix: `http://127.0.0.1:${(slow.address() as AddressInfo).port}`,
      filterVerb: "filter",
      nodeCacheCapable: true,
      httpTimeout: milliseconds(20),
    });
    await expect(silent.filter(pod, [node], signal)).rejects.toThrow("no answer within 20 ms");
    const { url } = await extenderServer({ filter: () => ({ NodeNames: ["b"] }), error: () => ({ Error: "no twin" }) });
    const liar = extender({ urlPrefix: url, filterVerb: "filter", nodeCacheCapable: true });
    await expect(liar.filter(pod, [node], signal)).rejects.toThrow("returned node b, which was not in the request");
    const failing = extender({ urlPrefix: url, filterVerb: "error", nodeCacheCapable: true });
    await expect(failing.filter(pod, [node], signal)).rejects.toThrow("no twin");
  });
});
