import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { apiHarness, crdPath, minimalPod, podsPath, twin, twinsPath } from "../testing/api-harness.ts";

const merge = { "content-type": "application/merge-patch+json" };
const held = (name: string, spec: object = { nodeName: "n" }) => ({
  ...minimalPod(name, spec),
  metadata: { name, finalizers: ["example.org/hold"] },
});
const letGo = { metadata: { finalizers: null } };

describe("a bound pod with a finalizer", () => {
  it("is deleted when the finalizer is removed after the grace period", async () => {
    const { clock, send, watch } = apiHarness();
    await send("POST", podsPath, held("p"));
    const seen = await watch(`${podsPath}?watch=1`);
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 5 });
    await clock.advanceAsync(milliseconds(4999));
    expect((await send("GET", `${podsPath}/p`)).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 });
    await clock.advanceAsync(milliseconds(1));
    expect((await send("GET", `${podsPath}/p`)).body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    await send("PATCH", `${podsPath}/p`, letGo, merge);
    expect((await send("GET", `${podsPath}/p`)).status).toBe(404);
    expect(seen.events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "MODIFIED", "DELETED"]);
  });

  it("stays until the end of its grace period if the finalizer is removed earlier, and is written once", async () => {
    const { clock, send, watch } = apiHarness();
    for (const name of ["early", "twice"]) await send("POST", podsPath, held(name));
    await send("DELETE", `${podsPath}/early`, { gracePeriodSeconds: 5 });
    await send("PATCH", `${podsPath}/early`, letGo, merge);
    expect((await send("GET", `${podsPath}/early`)).status).toBe(200);
    for (const gracePeriodSeconds of [20, 5]) await send("DELETE", `${podsPath}/twice`, { gracePeriodSeconds });
    const seen = await watch(`${podsPath}?watch=1`);
    await clock.advanceAsync(milliseconds(5000));
    expect((await send("GET", `${podsPath}/early`)).status).toBe(404);
    await clock.advanceAsync(milliseconds(20_000));
    expect(seen.events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "DELETED", "MODIFIED"]);
  });

  it("is not affected by the timer of an earlier pod of the same name", async () => {
    const { clock, send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 5 });
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 0 });
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds: 60 });
    await clock.advanceAsync(milliseconds(5000));
    expect((await send("GET", `${podsPath}/p`)).status).toBe(200);
  });

  it("keeps its grace period when it orphans its dependents", async () => {
    const { clock, send } = apiHarness();
    const { body: owner } = await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    const reference = { apiVersion: "v1", kind: "Pod", name: "p", uid: owner.metadata["uid"] };
    await send("POST", podsPath, { ...minimalPod("q"), metadata: { name: "q", ownerReferences: [reference] } });
    await send("DELETE", `${podsPath}/p`, { propagationPolicy: "Orphan" });
    expect((await send("GET", `${podsPath}/p`)).status).toBe(200);
    await clock.advanceAsync(milliseconds(30_000));
    expect((await send("GET", podsPath)).body.items.map(({ metadata }) => metadata.name)).toEqual(["q"]);
  });
});

describe("a second deletion", () => {
  it("may still request orphaning, and changes nothing without a new option", async () => {
    const { send } = apiHarness();
    const nodes = "/api/v1/nodes";
    const { body } = await send("POST", nodes, { metadata: { name: "n", finalizers: ["example.org/hold"] } });
    const reference = { apiVersion: "v1", kind: "Node", name: "n", uid: body.metadata["uid"] };
    await send("POST", podsPath, { ...minimalPod("p"), metadata: { name: "p", ownerReferences: [reference] } });
    const first = await send("DELETE", `${nodes}/n`);
    const again = await send("DELETE", `${nodes}/n`);
    expect(again.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    await send("DELETE", `${nodes}/n`, { propagationPolicy: "Orphan" });
    await send("PATCH", `${nodes}/n`, letGo, merge);
    expect((await send("GET", `${nodes}/n`)).status).toBe(404);
    expect((await send("GET", `${podsPath}/p`)).body.metadata["ownerReferences"]).toEqual([]);
  });
});

describe("a grace period", () => {
  it.each([
    [1e18, "9999-12-31T23:59:59Z", 1e18],
    [9_223_372_036_854_774_784, "9999-12-31T23:59:59Z", 9_223_372_036_854_774_784],
    [-1, "2030-01-01T00:00:01Z", 1],
  ])("of %d s ends at %s", async (gracePeriodSeconds, deletionTimestamp, stored) => {
    const { send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    const { status, body } = await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds });
    expect(status).toBe(200);
    expect(body.metadata).toMatchObject({ deletionTimestamp, deletionGracePeriodSeconds: stored });
  });

  it.each([1.5, "5", "x", true, {}, 2 ** 63, -(2 ** 63)])("rejects %j: 400", async (gracePeriodSeconds) => {
    const { send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    expect((await send("DELETE", `${podsPath}/p`, { gracePeriodSeconds })).status).toBe(400);
    expect((await send("GET", `${podsPath}/p`)).body.metadata["deletionTimestamp"]).toBeUndefined();
  });

  it("may be set in the query as a whole number", async () => {
    const { send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n" }));
    for (const bad of ["", "x", "1.5", "1e3", "99999999999999999999"]) {
      expect((await send("DELETE", `${podsPath}/p?gracePeriodSeconds=${bad}`)).status).toBe(400);
    }
    const { body } = await send("DELETE", `${podsPath}/p?gracePeriodSeconds=7`);
    expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 7 });
    expect((await send("DELETE", `${podsPath}/p?gracePeriodSeconds=0`)).status).toBe(200);
    expect((await send("GET", `${podsPath}/p`)).status).toBe(404);
  });

  it.each([
    ["nonsense", 30],
    [1.5, 30],
    [-5, 1],
    [0, undefined],
  ])("preset as %j in the pod is %j s", async (terminationGracePeriodSeconds, seconds) => {
    const { send } = apiHarness();
    await send("POST", podsPath, minimalPod("p", { nodeName: "n", terminationGracePeriodSeconds }));
    await send("DELETE", `${podsPath}/p`);
    expect((await send("GET", `${podsPath}/p`)).body.metadata["deletionGracePeriodSeconds"]).toBe(seconds);
  });
});

describe("metadata that would confuse a deletion", () => {
  it.each([
    { finalizers: "example.org/hold" },
    { finalizers: {} },
    { finalizers: [1] },
    { finalizers: ["not good"] },
    { ownerReferences: {} },
    { ownerReferences: "abc" },
    { ownerReferences: [null] },
  ])("is rejected: %j", async (metadata) => {
    const { send } = apiHarness();
    const { status } = await send("POST", "/api/v1/nodes", { metadata: { name: "n", ...metadata } });
    expect(status).toBe(422);
    expect((await send("GET", "/api/v1/nodes")).body.items).toEqual([]);
  });

  it("treats null as absent", async () => {
    const { send } = apiHarness();
    const metadata = { name: "n", finalizers: null, ownerReferences: null };
    expect((await send("POST", "/api/v1/nodes", { metadata })).status).toBe(201);
    expect((await send("DELETE", "/api/v1/nodes/n")).status).toBe(200);
  });
});

describe("a CRD", () => {
  const crd = (group: string, plural: string, kind: string) => ({
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  });

  it.each([
    ["coordination.k8s.io", "leases", "Lease"],
    ["events.k8s.io", "events", "Event"],
    ["apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"],
  ])("cannot take the place of a built-in kind: %s %s", async (group, plural, kind) => {
    const { send } = apiHarness();
    const { status, body } = await send("POST", crdPath, crd(group, plural, kind));
    expect(status).toBe(422);
    expect(body).toHaveProperty("details.causes.0.field", "spec.group");
    expect((await send("DELETE", `${crdPath}/${plural}.${group}`)).status).toBe(404);
    expect((await send("GET", `/apis/${group}/v1/${plural}`)).status).toBe(200);
  });

  it("may use any kind name in its own group", async () => {
    const { send } = apiHarness();
    expect((await send("POST", crdPath, crd("gateway.networking.k8s.io", "leases", "Lease"))).status).toBe(201);
    await send("POST", twinsPath, twin("a"));
    expect((await send("GET", twinsPath)).body.items).toHaveLength(1);
  });
});
