import { describe, expect, it } from "vitest";
import { crdOf, nodeTwinKind } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { apiHarness, crdPath, minimalPod, podsPath, twin, twinsPath } from "./testing/api-harness.ts";

const HOUR = milliseconds(3_600_000);

describe("EmbeddedApi", () => {
  it("is deterministic for a seed: uids, names, times", async () => {
    const made = async () => {
      const { send } = apiHarness();
      await send("POST", twinsPath, twin("a"));
      const { body } = await send("POST", "/api/v1/nodes", { metadata: { generateName: "n-" } });
      return [body, (await send("GET", `${twinsPath}/a`)).body];
    };
    expect(await made()).toEqual(await made());
  });

  it("sends a bookmark per minute if requested, and one before the watch ends", async () => {
    const { clock, watch } = apiHarness();
    const marked = await watch("/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=130");
    const bare = await watch("/api/v1/nodes?watch=1&timeoutSeconds=130");
    await clock.advanceAsync(milliseconds(125_000));
    expect(marked.events.map(({ type }) => type)).toEqual(["BOOKMARK", "BOOKMARK"]);
    await clock.advanceAsync(milliseconds(5000));
    await Promise.all([marked.done, bare.done]);
    expect(marked.events).toHaveLength(3);
    expect(bare.events).toEqual([]);
    expect([marked.state.ended, bare.state.ended]).toEqual([true, true]);
    expect(clock.waiting).toBe(0);
  });

  it("drops changes beyond its history limit: a watch from there gets 410", async () => {
    const { send, watch } = apiHarness({ historyLimit: 10 });
    const { body } = await send("GET", "/api/v1/nodes");
    const from = body.metadata.resourceVersion;
    for (let index = 0; index < 10; index++) await send("POST", "/api/v1/nodes", { metadata: { name: `n${index}` } });
    const whole = await watch(`/api/v1/nodes?watch=1&resourceVersion=${from}`);
    await send("POST", "/api/v1/nodes", { metadata: { name: "last" } });
    const late = await watch(`/api/v1/nodes?watch=1&resourceVersion=${from}`);
    await late.done;
    expect(late.events).toEqual([{ type: "ERROR", object: expect.objectContaining({ code: 410, reason: "Expired" }) }]);
    expect(whole.events).toHaveLength(11);
    const future = await watch("/api/v1/nodes?watch=1&resourceVersion=999999");
    await future.done;
    expect(future.events[0]?.object).toMatchObject({ code: 410 });
  });

  it("removes a bound pod after its grace period, which a second delete may shorten", async () => {
    const { clock, send } = apiHarness();
    for (const name of ["slow", "hurried"]) await send("POST", podsPath, minimalPod(name, { nodeName: "n" }));
    for (const name of ["slow", "hurried"]) await send("DELETE", `${podsPath}/${name}`);
    await send("DELETE", `${podsPath}/hurried`, { gracePeriodSeconds: 5 });
    await send("DELETE", `${podsPath}/hurried`, { gracePeriodSeconds: 20 });
    await clock.advanceAsync(milliseconds(5000));
    expect((await send("GET", `${podsPath}/hurried`)).status).toBe(404);
    await clock.advanceAsync(milliseconds(24_999));
    expect((await send("GET", `${podsPath}/slow`)).status).toBe(200);
    await clock.advanceAsync(milliseconds(1));
    expect((await send("GET", `${podsPath}/slow`)).status).toBe(404);
  });

  it("deletes the objects in a deleted namespace, and those with finalizers once they are released", async () => {
    const { send } = apiHarness();
    await send("POST", "/api/v1/namespaces", { metadata: { name: "gone" } });
    await send("POST", "/api/v1/namespaces/gone/pods", minimalPod("a"));
    await send("POST", "/api/v1/namespaces/gone/pods", {
      ...minimalPod("b"),
      metadata: { name: "b", finalizers: ["example.org/x"] },
    });
    await send("DELETE", "/api/v1/namespaces/gone");
    const left = (await send("GET", "/api/v1/pods")).body.items;
    expect(left.map(({ metadata }) => metadata.name)).toEqual(["b"]);
    expect(left[0]?.metadata).toHaveProperty("deletionTimestamp");
  });

  it("deletes an Event an hour after its last write", async () => {
    const { clock, send } = apiHarness();
    const events = "/apis/events.k8s.io/v1/namespaces/default/events";
    for (const name of ["once", "again"]) await send("POST", events, { metadata: { name } });
    await clock.advanceAsync(milliseconds(HOUR - 1));
    const headers = { "content-type": "application/merge-patch+json" };
    await send("PATCH", `${events}/again`, { series: { count: 2 } }, headers);
    await clock.advanceAsync(milliseconds(1));
    expect((await send("GET", events)).body.items.map(({ metadata }) => metadata.name)).toEqual(["again"]);
    await clock.advanceAsync(HOUR);
    expect((await send("GET", events)).body.items).toEqual([]);
  });
});

describe("CRDs of the embedded API", () => {
  const crd = crdOf(nodeTwinKind);
  const name = crd.metadata.name;

  it("are created and deleted through the API, together with their objects", async () => {
    const { send } = apiHarness({ crds: [] });
    expect((await send("GET", twinsPath)).status).toBe(404);
    const { body } = await send("POST", crdPath, crd);
    expect(body.status).toMatchObject({
      conditions: expect.arrayContaining([expect.objectContaining({ type: "Established", status: "True" })]),
    });
    expect((await send("POST", twinsPath, twin("a"))).status).toBe(201);
    await send("DELETE", `${crdPath}/${name}`);
    expect((await send("GET", twinsPath)).status).toBe(404);
    await send("POST", crdPath, crd);
    expect((await send("GET", twinsPath)).body.items).toEqual([]);
  });

  it("apply a changed schema at once", async () => {
    const { send } = apiHarness();
    await send("POST", twinsPath, twin("a"));
    const changed = JSON.stringify(crd).replace('"performance","eco"', '"performance","eco","turbo"');
    expect((await send("PUT", `${crdPath}/${name}`, changed)).status).toBe(200);
    const turbo = { ...twin("b"), spec: { nodeName: "b", profile: "turbo" } };
    expect((await send("POST", twinsPath, turbo)).status).toBe(201);
  });

  it.each([
    ["POST", `${twinsPath}?dryRun=All`, twin("b")],
    ["DELETE", `${twinsPath}/a?dryRun=All`, undefined],
    ["DELETE", `${twinsPath}/a`, { dryRun: ["All"] }],
    ["DELETE", `${twinsPath}/a`, { propagationPolicy: "Orphan" }],
    ["DELETE", twinsPath, { dryRun: ["All"] }],
  ] as const)("rejects what it would carry out although it should not: %s %s %j", async (method, path, body) => {
    const { send } = apiHarness();
    await send("POST", twinsPath, twin("a"));
    expect((await send(method, path, body)).status).toBe(400);
    expect((await send("GET", twinsPath)).body.items.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  });
});
