import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { apiHarness, minimalPod } from "../testing/api-harness.ts";

const nodes = "/api/v1/nodes";

describe("a continue token", () => {
  const MINUTES = milliseconds(5 * 60_000);

  async function paged() {
    const made = apiHarness();
    for (const name of ["a", "b", "c"]) await made.send("POST", nodes, { metadata: { name, labels: { l: "1" } } });
    for (const name of ["p", "q"]) await made.send("POST", "/api/v1/namespaces/default/pods", minimalPod(name));
    for (const name of ["d", "e"]) {
      await made.send("POST", "/api/v1/namespaces/default/events", { metadata: { name } });
    }
    const token = async (path: string) =>
      String((await made.send("GET", `${path}${path.includes("?") ? "&" : "?"}limit=1`)).body.metadata["continue"]);
    const next = async (path: string, text: string) => {
      const { status, body } = await made.send("GET", `${path}${path.includes("?") ? "&" : "?"}continue=${text}`);
      return [status, body.reason ?? body.items.map(({ metadata }) => metadata.name)];
    };
    return { ...made, token, next };
  }

  it.each([
    ["another kind", nodes, "/api/v1/namespaces"],
    ["another face of its objects", "/api/v1/events", "/apis/events.k8s.io/v1/events"],
    ["another namespace", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/kube-system/pods"],
    ["all namespaces", "/api/v1/namespaces/default/pods", "/api/v1/pods"],
    ["another label selector", `${nodes}?labelSelector=l%3D1`, nodes],
    ["another field selector", nodes, `${nodes}?fieldSelector=metadata.name%3Da`],
  ])("is rejected for %s: 400", async (_what, from, to) => {
    const { token, next } = await paged();
    const text = await token(from);
    expect(await next(to, text)).toEqual([400, "BadRequest"]);
    expect((await next(from, text))[0]).toBe(200);
  });

  it("is accepted for its own list, with empty selectors ignored", async () => {
    const { token, next } = await paged();
    expect(await next(`${nodes}?labelSelector=&fieldSelector=`, await token(nodes))).toEqual([200, ["b", "c"]]);
    const text = await token(`${nodes}?labelSelector=l%3D1`);
    expect(await next(`${nodes}?labelSelector=l%3D1`, text)).toEqual([200, ["b", "c"]]);
  });

  it("expires after five minutes with 410 and frees its snapshot", async () => {
    const { clock, token, next } = await paged();
    const text = await token(nodes);
    await clock.advanceAsync(milliseconds(MINUTES - 1));
    expect((await next(nodes, text))[0]).toBe(200);
    await clock.advanceAsync(milliseconds(1));
    expect(await next(nodes, text)).toEqual([410, "Expired"]);
    // The two Events, which are kept for an hour.
    expect(clock.waiting).toBe(2);
  });

  it("holds one timer per unfinished list, and none for abandoned or compacted lists", async () => {
    const { api, clock, token } = await paged();
    for (let count = 0; count < 70; count++) await token(nodes);
    expect(clock.waiting).toBe(2 + 64);
    api.faults.expire();
    expect(clock.waiting).toBe(2);
  });

  it("cannot be combined with a resourceVersion: 400", async () => {
    const { token, next } = await paged();
    const text = await token(nodes);
    expect(await next(`${nodes}?resourceVersion=1`, text)).toEqual([400, "BadRequest"]);
    expect((await next(`${nodes}?resourceVersion=0`, text))[0]).toBe(200);
  });
});

describe("a path", () => {
  it.each([
    ["/api/v1/nodes/", 200],
    ["/api/v1/nodes/a/", 200],
    ["/api/v1/nodes/a/status/", 200],
    ["/api/", 200],
    ["/apis/", 200],
    ["//api/v1/nodes", 404],
    ["/api/v1//nodes", 404],
    ["/api/v1/nodes//", 404],
    ["/api/v1/nodes//a", 404],
    ["/api/v1/nodes/a//status", 404],
    ["/api/v1/namespaces/default//pods", 404],
    ["/api/v1/namespaces//pods", 404],
    ["/", 404],
    ["", 404],
  ])("%j is %d", async (path, expected) => {
    const { send } = apiHarness();
    await send("POST", nodes, { metadata: { name: "a" } });
    expect((await send("GET", path)).status).toBe(expected);
  });

  it("with an empty segment deletes nothing", async () => {
    const { send } = apiHarness();
    await send("POST", nodes, { metadata: { name: "a" } });
    for (const path of ["/api/v1//nodes", "/api/v1/nodes//", "/api/v1/nodes//status"]) {
      expect((await send("DELETE", path)).status).toBe(404);
    }
    expect((await send("GET", nodes)).body.items).toHaveLength(1);
  });
});

describe("a list with a field selector", () => {
  it("always contains exactly the objects with the selected value", async () => {
    const { send } = apiHarness();
    const path = "/api/v1/namespaces/default/pods";
    const on = async (node: string, more = "", where = "/api/v1/pods") => {
      const selector = encodeURIComponent(`spec.nodeName=${node}${more}`);
      const { body } = await send("GET", `${where}?fieldSelector=${selector}`);
      return body.items.map(({ metadata }) => metadata.name);
    };
    const bind = async (name: string, node: string) =>
      send("POST", `${path}/${name}/binding`, { metadata: { name }, target: { kind: "Node", name: node } });
    for (const name of ["a", "b"]) await send("POST", nodes, { metadata: { name } });
    for (const name of ["z", "q", "p"]) await send("POST", path, minimalPod(name));
    expect(await on("a")).toEqual([]);
    for (const name of ["z", "p"]) await bind(name, "a");
    await bind("q", "b");
    expect([await on("a"), await on("b")]).toEqual([["p", "z"], ["q"]]);
    const ended = { status: { phase: "Succeeded" } };
    await send("PATCH", `${path}/p/status`, ended, { "content-type": "application/merge-patch+json" });
    expect(await on("a")).toEqual(["p", "z"]);
    expect(await on("a", ",status.phase!=Succeeded")).toEqual(["z"]);
    expect(await on("a", "", "/api/v1/namespaces/kube-system/pods")).toEqual([]);
    await send("DELETE", `${path}/z?gracePeriodSeconds=0`);
    expect(await on("a")).toEqual(["p"]);
    expect(await on("c")).toEqual([]);
  });
});
