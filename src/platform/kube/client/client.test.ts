import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { seededRandom } from "../../random/index.ts";
import { FakeApi, type FakeApiFault } from "../testing/fake-api.ts";
import { KubeClient, type KubeClientOptions } from "./client.ts";
import type { ApiError } from "./errors.ts";
import { resources } from "./resources.ts";
import type { ApiRequest } from "./transport.ts";

const ms = milliseconds;

function make(more: Partial<KubeClientOptions> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi(clock);
  const client = new KubeClient({
    transport: api,
    clock,
    random: seededRandom(1),
    fieldManager: "joulie-test",
    ...more,
  });
  return { clock, api, client };
}

/** Advances the clock through all waits of the call and returns its outcome. */
async function outcome<Value>(clock: VirtualClock, call: Promise<Value>): Promise<Value> {
  call.catch(() => undefined);
  await clock.advanceAsync(ms(200_000));
  return call;
}

/** Each request gets the next fault; requests after the last fault succeed. */
const inTurn = (api: FakeApi, ...faults: readonly FakeApiFault[]) => {
  const rest = [...faults];
  api.fault = () => rest.shift();
};

const sent = (api: FakeApi): (Pick<ApiRequest, "method" | "path"> & { type?: string; body?: unknown })[] =>
  api.requests.map(({ method, path, headers, body }) => ({
    method,
    path,
    ...(headers?.["content-type"] !== undefined && { type: headers["content-type"] }),
    ...(body !== undefined && { body: JSON.parse(body) as unknown }),
  }));

const twin = { name: "a.b" };
const TWIN = "/apis/joulie.io/v1alpha1/nodetwins/a.b";
const pod = { namespace: "ns", name: "p" };
const POD = "/api/v1/namespaces/ns/pods/p";

describe("a merge patch whose response is lost", () => {
  it("is retried unless it has a resourceVersion, because its own success would then cause a conflict", async () => {
    const { clock, api, client } = make();
    const { resourceVersion } = api.put(TWIN, {}).metadata;
    inTurn(api, "done, then silence");
    await outcome(clock, client.mergePatch(resources.nodeTwins, twin, { metadata: { labels: { a: "b" } } }));
    expect(api.requests).toHaveLength(2);
    inTurn(api, "done, then silence");
    const pinned = { metadata: { resourceVersion: String(Number(resourceVersion) + 2) }, spec: {} };
    await expect(outcome(clock, client.mergePatch(resources.nodeTwins, twin, pinned))).rejects.toMatchObject({
      kind: "timeout",
    });
    expect(api.requests).toHaveLength(3);
  });
});

describe("the verbs of KubeClient on the wire", () => {
  it("X-02 gets an object under its node's name, dots kept", async () => {
    const { api, client } = make({ userAgent: "joulie/1 (operator)" });
    api.put(TWIN, {});
    expect((await client.get(resources.nodeTwins, twin)).metadata.name).toBe("a.b");
    expect(api.requests[0]).toMatchObject({
      method: "GET",
      path: TWIN,
      headers: { accept: "application/json", "user-agent": "joulie/1 (operator)" },
    });
  });

  it("X-05 applies server-side under its field manager, with force only when asked", async () => {
    const { api, client } = make();
    api.put(TWIN, {});
    const body = {
      apiVersion: "joulie.io/v1alpha1",
      kind: "NodeTwin",
      metadata: { name: "a.b" },
      spec: { nodeName: "a.b" },
    };
    await client.apply(resources.nodeTwins, twin, { spec: { nodeName: "a.b" } });
    await client
      .apply(resources.nodeTwins, twin, { status: {} }, { force: true, fieldManager: "x" })
      .catch(() => undefined);
    expect(sent(api)).toMatchObject([
      { method: "PATCH", path: `${TWIN}?fieldManager=joulie-test`, type: "application/apply-patch+yaml", body },
      { path: `${TWIN}?fieldManager=x&force=true` },
    ]);
  });

  it("patches the object or its status by merge", async () => {
    const { api, client } = make();
    api.put(TWIN, {});
    api.put(`${TWIN}/status`, {});
    await client.mergePatch(resources.nodeTwins, twin, { metadata: { labels: { a: null } } });
    await client.mergePatch(resources.nodeTwins, twin, { status: null }, { subresource: "status" });
    expect(sent(api)).toEqual([
      {
        method: "PATCH",
        path: `${TWIN}?fieldManager=joulie-test`,
        type: "application/merge-patch+json",
        body: { metadata: { labels: { a: null } } },
      },
      {
        method: "PATCH",
        path: `${TWIN}/status?fieldManager=joulie-test`,
        type: "application/merge-patch+json",
        body: { status: null },
      },
    ]);
  });

  it("creates, binds, and deletes with preconditions", async () => {
    const { api, client } = make();
    await client.create(resources.pods, { metadata: { name: "p" }, spec: {} }, { namespace: "ns" });
    await client.bind({ ...pod, uid: "u" }, "node-1").catch(() => undefined);
    await client.delete(resources.pods, pod, { preconditions: { uid: "u", resourceVersion: "7" } });
    expect(sent(api)).toEqual([
      {
        method: "POST",
        path: "/api/v1/namespaces/ns/pods?fieldManager=joulie-test",
        type: "application/json",
        body: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: {} },
      },
      {
        method: "POST",
        path: `${POD}/binding`,
        type: "application/json",
        body: {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { namespace: "ns", name: "p", uid: "u" },
          target: { apiVersion: "v1", kind: "Node", name: "node-1" },
        },
      },
      {
        method: "DELETE",
        path: POD,
        type: "application/json",
        body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: "u", resourceVersion: "7" } },
      },
    ]);
  });

  it.each(["", ".", ".."])(
    "sends no request for an object named %j, which would address the collection",
    async (name) => {
      const { api, client } = make();
      await expect(client.delete(resources.nodes, { name })).rejects.toThrow(TypeError);
      await expect(client.get(resources.pods, { name: "p", namespace: name })).rejects.toThrow(
        /is not a valid object namespace/,
      );
      await expect(client.list(resources.pods, { namespace: name })).rejects.toThrow(TypeError);
      expect(api.requests).toHaveLength(0);
    },
  );

  it("lists one page with selectors, and all pages of one resourceVersion", async () => {
    const { api, client } = make();
    for (let index = 0; index < 5; index++) api.put(`/api/v1/namespaces/ns/pods/p${index}`, {});
    const page = await client.list(resources.pods, {
      namespace: "ns",
      limit: 2,
      labelSelector: "a=b,c in (d, e)",
      fieldSelector: "spec.nodeName=n",
    });
    expect(page.items).toHaveLength(2);
    expect(page.next).toBeDefined();
    expect(api.requests[0]?.path).toBe(
      "/api/v1/namespaces/ns/pods?labelSelector=a%3Db%2Cc+in+%28d%2C+e%29&fieldSelector=spec.nodeName%3Dn&limit=2",
    );
    const all = await client.listAll(resources.pods, {}, { pageSize: 2 });
    expect(all.items.map(({ metadata }) => metadata.name)).toEqual(["p0", "p1", "p2", "p3", "p4"]);
    expect(all.resourceVersion).toBe(String(api.version));
    expect(api.requests.filter(({ path }) => path.includes("continue="))).toHaveLength(2);
  });

  it("restarts a list when a page has expired, and reads it in one page after repeated expiry", async () => {
    const { api, client } = make();
    for (let index = 0; index < 5; index++) api.put(`/api/v1/nodes/n${index}`, {});
    let gone = 1;
    api.fault = ({ path }) => (path.includes("continue=") && gone-- > 0 ? { answer: 410 } : undefined);
    expect((await client.listAll(resources.nodes, {}, { pageSize: 2 })).items).toHaveLength(5);
    gone = Infinity;
    expect((await client.listAll(resources.nodes, {}, { pageSize: 2 })).items).toHaveLength(5);
    expect(api.requests.at(-1)?.path).toBe("/api/v1/nodes");
  });

  it("requests smaller pages when a page is too large", async () => {
    const { api, client } = make({ maxBody: 1000 });
    for (let index = 0; index < 9; index++) api.put(`/api/v1/nodes/n${index}`, { padding: "x".repeat(150) });
    expect((await client.listAll(resources.nodes, {}, { pageSize: 500 })).items).toHaveLength(9);
    await expect(client.list(resources.nodes)).rejects.toMatchObject({ kind: "tooLarge" });
  });

  it("rejects a response that is not a list or an object", async () => {
    const { api, client } = make({ retries: 0 });
    api.fault = () => ({ answer: 200, message: "a Status" });
    await expect(client.list(resources.nodes)).rejects.toMatchObject({ kind: "garbled" });
    await expect(client.get(resources.nodes, { name: "n" })).rejects.toMatchObject({ kind: "garbled" });
  });

  it("reads any path", async () => {
    const { api, client } = make();
    api.put("/apis/metrics.k8s.io/v1beta1/nodes/n1", { usage: { cpu: "1" } });
    expect(await client.raw("/apis/metrics.k8s.io/v1beta1/nodes/n1")).toMatchObject({ usage: { cpu: "1" } });
  });

  it("watches: resolves when open, yields events, throws errors from the server", async () => {
    const { clock, api, client } = make();
    const abort = new AbortController();
    const query = { resourceVersion: "1000", labelSelector: "a", serverTimeout: ms(299_500) };
    const events = await client.watch(resources.nodes, query, { signal: abort.signal });
    expect(api.requests[0]).toMatchObject({
      path: "/api/v1/nodes?labelSelector=a&watch=1&allowWatchBookmarks=true&resourceVersion=1000&timeoutSeconds=300",
      longLived: true,
    });
    api.put("/api/v1/nodes/n1", {});
    expect((await events.next()).value).toMatchObject([{ type: "ADDED", object: { metadata: { name: "n1" } } }]);
    // An open watch has no time limit.
    await clock.advanceAsync(ms(3_600_000));
    api.bookmark();
    expect((await events.next()).value).toMatchObject([{ type: "BOOKMARK" }]);
    const error = JSON.stringify({ type: "ERROR", object: { kind: "Status", code: 410, message: "too old" } });
    for (const watcher of api.watchers) watcher.send(`${error}\n`);
    await expect(events.next()).rejects.toMatchObject({ kind: "gone", message: expect.stringContaining("too old") });
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });

  it.each([
    "not json",
    "{}",
    "7",
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":{"metadata":{}}}',
    '{"type":"STRANGE","object":{"metadata":{"name":"x","resourceVersion":"1"}}}',
  ])("ends a watch that sends %s", async (line) => {
    const { api, client } = make();
    const events = await client.watch(
      resources.nodes,
      { resourceVersion: "1000" },
      { signal: new AbortController().signal },
    );
    for (const watcher of api.watchers) watcher.send(`${line}\n`);
    await expect(events.next()).rejects.toMatchObject({ kind: "garbled" });
  });
});

describe("time limits, retries and rate limits of KubeClient", () => {
  const nodes = async (client: KubeClient) => client.list(resources.nodes);

  it("times out every call, also one that stalls in the middle of the response", async () => {
    const { clock, api, client } = make({ timeout: ms(5000), retries: 0 });
    api.fault = () => "silence";
    const call = nodes(client);
    call.catch(() => undefined);
    await clock.advanceAsync(ms(5000));
    await expect(call).rejects.toMatchObject({
      kind: "timeout",
      message: "GET /api/v1/nodes: no response within 5000 ms",
    });
    const watch = client.watch(resources.nodes, { resourceVersion: "1" }, { signal: new AbortController().signal });
    await expect(outcome(clock, watch)).rejects.toMatchObject({ kind: "timeout" });
    expect(clock.waiting).toBe(0);
  });

  it("calls beforeSending right before each attempt and sends nothing if it throws", async () => {
    const { api, client, clock } = make({ limit: { perSecond: 1, burst: 1, queue: 9 } });
    await client.get(resources.nodes, { name: "x" }).catch(() => undefined);
    const asked: number[] = [];
    inTurn(api, { answer: 503 });
    const beforeSending = () => {
      asked.push(clock.monotonic());
      if (asked.length === 2) throw new Error("not any more");
    };
    const before = api.requests.length;
    const call = client.mergePatch(resources.nodes, { name: "x" }, {}, { beforeSending });
    await expect(outcome(clock, call)).rejects.toThrow("not any more");
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBeGreaterThanOrEqual(1000);
    expect(api.requests.length - before).toBe(1);
  });

  it("limits the queue time of a call to its time limit and does not queue urgent calls", async () => {
    const limit = { perSecond: 1, burst: 1, queue: 100 };
    const { clock, api, client } = make({ timeout: ms(2500), limit });
    const calls = Array.from({ length: 5 }, async () => nodes(client));
    const { signal } = new AbortController();
    const watch = client.watch(resources.nodes, { resourceVersion: "1000" }, { signal, timeout: ms(500) });
    const settled = Promise.allSettled([...calls, watch]);
    await client.get(resources.nodes, { name: "x" }, { urgent: true }).catch(() => undefined);
    expect(api.requests).toHaveLength(2);
    await clock.advanceAsync(ms(3000));
    const kinds = (await settled).map((one) => (one.status === "rejected" ? (one.reason as ApiError).kind : "done"));
    expect(kinds).toEqual(["done", "done", "done", "busy", "busy", "busy"]);
    expect(clock.waiting).toBe(0);
  });

  it("does not wait for a transport that ignores the abort", async () => {
    const clock = new VirtualClock();
    const hanging = { request: async () => new Promise<never>(() => undefined), close: async () => undefined };
    const { client } = make({ transport: hanging, clock, retries: 0, timeout: ms(5000) });
    await expect(outcome(clock, nodes(client))).rejects.toMatchObject({ kind: "timeout" });
    const abort = new AbortController();
    const call = client.list(resources.nodes, {}, { signal: abort.signal });
    const watch = client.watch(resources.nodes, { resourceVersion: "1" }, { signal: abort.signal });
    const ends = [call, watch].map(async (one) => expect(one).rejects.toThrow("enough"));
    abort.abort(new Error("enough"));
    await Promise.all(ends);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
    expect(clock.waiting).toBe(0);
  });

  it("rejects with the caller's abort reason and leaves no listener on the signal", async () => {
    const { clock, api, client } = make();
    const abort = new AbortController();
    api.fault = () => "silence";
    const call = client.list(resources.nodes, {}, { signal: abort.signal });
    await clock.advanceAsync(ms(1));
    abort.abort(new Error("shutting down"));
    await expect(call).rejects.toThrow("shutting down");
    await expect(client.list(resources.nodes, {}, { signal: abort.signal })).rejects.toThrow("shutting down");
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
    expect(clock.waiting).toBe(0);
  });

  it.each<FakeApiFault>([{ answer: 429 }, { answer: 500 }, { answer: 503 }, "no connection", "torn", "silence"])(
    "retries a read after %j",
    async (fault) => {
      const { clock, api, client } = make();
      inTurn(api, fault, fault);
      expect((await outcome(clock, nodes(client))).items).toEqual([]);
      expect(api.requests).toHaveLength(3);
    },
  );

  it.each([400, 403, 404, 409, 410, 422])("does not retry after %d", async (answer) => {
    const { clock, api, client } = make();
    inTurn(api, { answer });
    await expect(outcome(clock, nodes(client))).rejects.toMatchObject({ status: answer });
    expect(api.requests).toHaveLength(1);
  });

  it("gives up after its retries", async () => {
    const { clock, api, client } = make({ retries: 2 });
    api.fault = () => ({ answer: 503 });
    await expect(outcome(clock, nodes(client))).rejects.toMatchObject({ kind: "unavailable" });
    expect(api.requests).toHaveLength(3);
  });

  it("never creates twice: retries after a refusal, but not after a lost response", async () => {
    const create = async (client: KubeClient) =>
      client.create(resources.pods, { metadata: { name: "p" } }, { namespace: "ns" });
    for (const fault of ["done, then silence", "torn", { answer: 503 }] as const) {
      const { clock, api, client } = make();
      inTurn(api, fault);
      await expect(outcome(clock, create(client))).rejects.toMatchObject({ name: "ApiError" });
      expect(api.requests).toHaveLength(1);
    }
    for (const fault of ["no connection", { answer: 429 }] as const) {
      const { clock, api, client } = make();
      inTurn(api, fault);
      await outcome(clock, create(client));
      expect(api.objects.size).toBe(1);
    }
  });

  it("retries a delete only with a UID precondition", async () => {
    const { clock, api, client } = make();
    inTurn(api, { answer: 500 });
    await expect(outcome(clock, client.delete(resources.pods, pod))).rejects.toMatchObject({ kind: "internal" });
    inTurn(api, { answer: 500 });
    const precise = client.delete(resources.pods, pod, { preconditions: { uid: "u" } });
    await expect(outcome(clock, precise)).rejects.toMatchObject({ kind: "notFound" });
  });

  it("honours Retry-After, but does not wait an hour", async () => {
    const { clock, api, client } = make();
    inTurn(api, { answer: 429, headers: { "retry-after": "20" } });
    const call = nodes(client);
    await clock.advanceAsync(ms(19_999));
    expect(api.requests).toHaveLength(1);
    await clock.advanceAsync(ms(3000));
    expect(api.requests).toHaveLength(2);
    await call;
    inTurn(api, { answer: 429, headers: { "retry-after": "3600" } });
    await expect(nodes(client)).rejects.toMatchObject({ kind: "tooMany", retryAfter: 3_600_000 });
  });

  it("retries exactly once after a 401, because tokens are rotated", async () => {
    const { clock, api, client } = make();
    inTurn(api, { answer: 401 });
    expect((await outcome(clock, nodes(client))).items).toEqual([]);
    api.fault = () => ({ answer: 401 });
    await expect(outcome(clock, nodes(client))).rejects.toMatchObject({ kind: "unauthorized" });
    expect(api.requests).toHaveLength(4);
  });

  it("enforces its rate limit except for urgent calls", async () => {
    const { clock, api, client } = make({ limit: { perSecond: 1, burst: 2, queue: 3 } });
    const calls = Array.from({ length: 5 }, async () => nodes(client));
    await clock.advanceAsync(ms(0));
    expect(api.requests).toHaveLength(2);
    await expect(nodes(client)).rejects.toMatchObject({ kind: "busy" });
    await client.list(resources.nodes, {}, { urgent: true });
    expect(api.requests).toHaveLength(3);
    await clock.advanceAsync(ms(3000));
    await Promise.all(calls);
    expect(api.requests).toHaveLength(6);
  });
});
