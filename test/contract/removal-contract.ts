import { expect, it } from "vitest";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { type Hand, ok } from "./hand.ts";
import { node, paths, pod, twin } from "./samples.ts";

export function removalContract(hand: () => Hand): void {
  const gone = async (path: string) =>
    eventually(async () => ((await hand().get(path)).status === 404 ? true : undefined));

  it("rejects a delete whose precondition on uid or resourceVersion fails with 409", async () => {
    const name = hand().unique("precondition");
    const path = `${paths.twins}/${name}`;
    const { metadata } = await hand().create(paths.twins, twin(name));
    const remove = async (preconditions: object) => hand().send("DELETE", path, { preconditions });
    expect((await remove({ uid: "00000000-0000-4000-8000-000000000000" })).status).toBe(409);
    expect((await remove({ resourceVersion: "1" })).status).toBe(409);
    expect((await remove({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })).status).toBe(200);
    expect((await hand().send("DELETE", path)).status).toBe(404);
  });

  it("keeps an object with finalizers until the last one is removed", async () => {
    const name = hand().unique("finalizer");
    const path = `${paths.twins}/${name}`;
    await hand().create(paths.twins, twin(name, {}, { finalizers: ["example.org/hold"] }));
    ok(await hand().send("DELETE", path));
    const held = ok(await hand().get(path));
    expect(held.metadata.deletionTimestamp).toMatch(/Z$/);
    ok(await hand().patch(path, { metadata: { finalizers: [] } }));
    expect((await hand().get(path)).status).toBe(404);
  });

  it("keeps a bound pod until its grace period has ended and its last finalizer is removed, in either order", async () => {
    const names = [hand().unique("grace"), hand().unique("grace")];
    const [ended, released] = names.map((name) => `${paths.pods}/${name}`) as [string, string];
    for (const name of names) {
      const bound = pod(name, {}, { nodeName: "somewhere" });
      await hand().create(paths.pods, { ...bound, metadata: { name, finalizers: ["example.org/hold"] } });
      ok(await hand().send("DELETE", `${paths.pods}/${name}`, { gracePeriodSeconds: 3600 }));
    }
    // A kubelet confirms the termination with a second delete.
    const end = async (path: string) => ok(await hand().send("DELETE", path, { gracePeriodSeconds: 0 }));
    const release = async (path: string) => ok(await hand().patch(path, { metadata: { finalizers: null } }));
    await end(ended);
    expect(ok(await hand().get(ended)).metadata.deletionGracePeriodSeconds).toBe(0);
    await release(ended);
    await release(released);
    expect(ok(await hand().get(released)).metadata.deletionGracePeriodSeconds).toBe(3600);
    await end(released);
    for (const path of [ended, released]) expect((await hand().get(path)).status).toBe(404);
  });

  it("deletes dependents when their last owner is deleted", async () => {
    const [first, second] = [hand().unique("owner"), hand().unique("owner")];
    const owners = await Promise.all([first, second].map(async (name) => hand().create(paths.nodes, node(name))));
    const references = owners.map(({ metadata }) => ({
      apiVersion: "v1",
      kind: "Node",
      name: metadata.name as string,
      uid: metadata.uid as string,
    }));
    await hand().create(paths.twins, twin(first, {}, { ownerReferences: references.slice(0, 1) }));
    await hand().create(paths.twins, twin(second, {}, { ownerReferences: references }));
    ok(await hand().send("DELETE", `${paths.nodes}/${first}`));
    await gone(`${paths.twins}/${first}`);
    expect((await hand().get(`${paths.twins}/${second}`)).status).toBe(200);
    ok(await hand().send("DELETE", `${paths.nodes}/${second}`));
    await gone(`${paths.twins}/${second}`);
  });

  it("removes an object whose owner was deleted before it was created", async () => {
    const name = hand().unique("orphan");
    const { metadata } = await hand().create(paths.nodes, node(name));
    ok(await hand().send("DELETE", `${paths.nodes}/${name}`));
    const owner = { apiVersion: "v1", kind: "Node", name, uid: metadata.uid as string };
    await hand().create(paths.twins, twin(name, {}, { ownerReferences: [owner] }));
    expect(await gone(`${paths.twins}/${name}`)).toBe(true);
  });

  it("deletes all objects of a selection in one request", async () => {
    const group = hand().unique("group");
    const names = [`${group}-a`, `${group}-b`, `${group}-c`];
    for (const [index, name] of names.entries()) {
      await hand().create(paths.twins, twin(name, {}, { labels: { group, first: String(index === 0) } }));
    }
    const selector = new URLSearchParams({ labelSelector: `group=${group},first=false` }).toString();
    ok(await hand().send("DELETE", `${paths.twins}?${selector}`));
    const { items } = ok(await hand().get(`${paths.twins}?labelSelector=group%3D${group}`));
    expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([names[0]]);
  });

  it("ignores one slash at the end of a path and responds with 404 for an empty path segment", async () => {
    const group = hand().unique("group");
    await hand().create(paths.twins, twin(group, {}, { labels: { group } }));
    expect(ok(await hand().get(`${paths.twins}/${group}/`)).metadata.name).toBe(group);
    expect((await hand().get(`${paths.twins}//${group}`)).status).toBe(404);
    expect((await hand().send("PUT", `${paths.nodes}/`, node(group))).status).toBe(405);
    // An empty name therefore addresses the whole collection, so a client must reject it.
    const { items } = ok(await hand().send("DELETE", `${paths.twins}/?labelSelector=group%3D${group}`));
    expect(items).toHaveLength(1);
    expect((await hand().get(`${paths.twins}/${group}`)).status).toBe(404);
  });

  it("assigns a new uid to an object that reuses a deleted name", async () => {
    const name = hand().unique("reborn");
    const first = await hand().create(paths.twins, twin(name));
    ok(await hand().send("DELETE", `${paths.twins}/${name}`));
    const second = await hand().create(paths.twins, twin(name));
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    const { uid } = first.metadata;
    const meant = { ...second, metadata: { ...second.metadata, uid } };
    expect((await hand().send("PUT", `${paths.twins}/${name}`, meant)).status).toBe(409);
    expect((await hand().patch(`${paths.twins}/${name}`, { metadata: { uid } })).status).toBe(422);
  });
}
