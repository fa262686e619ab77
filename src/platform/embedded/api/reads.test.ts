import { describe, expect, it } from "vitest";
import { apiHarness, minimalPod } from "../testing/api-harness.ts";

const nodes = "/api/v1/nodes";

describe("a page", () => {
  it("follows the one before by key, whatever was written meanwhile, and has its resourceVersion", async () => {
    const { send } = apiHarness();
    for (const name of ["a", "b", "d"]) await send("POST", nodes, { metadata: { name } });
    const first = (await send("GET", `${nodes}?limit=1`)).body;
    await send("DELETE", `${nodes}/a`);
    await send("POST", nodes, { metadata: { name: "c" } });
    const next = (await send("GET", `${nodes}?limit=5&continue=${String(first.metadata["continue"])}`)).body;
    expect(next.items.map(({ metadata }) => metadata.name)).toEqual(["b", "c", "d"]);
    expect(next.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
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
    await send("DELETE", `${path}/z`, { gracePeriodSeconds: 0 });
    expect(await on("a")).toEqual(["p"]);
    expect(await on("c")).toEqual([]);
  });
});
