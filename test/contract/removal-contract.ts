import { expect, it } from "vitest";
import { eventually, type Hand, ok } from "./hand.ts";
import { node, paths, twin } from "./samples.ts";

export function removalContract(hand: () => Hand): void {
  const gone = async (path: string) =>
    eventually(async () => ((await hand().get(path)).status === 404 ? true : undefined));

  it("deletes only the object meant: a precondition on uid or resourceVersion that fails is 409", async () => {
    const name = hand().unique("precondition");
    const path = `${paths.twins}/${name}`;
    const { metadata } = await hand().create(paths.twins, twin(name));
    const remove = async (preconditions: object) => hand().send("DELETE", path, { preconditions });
    expect((await remove({ uid: "00000000-0000-4000-8000-000000000000" })).status).toBe(409);
    expect((await remove({ resourceVersion: "1" })).status).toBe(409);
    expect((await remove({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })).status).toBe(200);
    expect((await hand().send("DELETE", path)).status).toBe(404);
  });

  it("keeps an object with finalizers until the last is taken away", async () => {
    const name = hand().unique("finalizer");
    const path = `${paths.twins}/${name}`;
    await hand().create(paths.twins, twin(name, {}, { finalizers: ["example.org/hold"] }));
    ok(await hand().send("DELETE", path));
    const held = ok(await hand().get(path));
    expect(held.metadata.deletionTimestamp).toMatch(/Z$/);
    ok(await hand().patch(path, { metadata: { finalizers: [] } }));
    expect((await hand().get(path)).status).toBe(404);
  });

  it("takes along what the object owned, once no owner is left", async () => {
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

  it("removes an object whose owner was gone before it came", async () => {
    const name = hand().unique("orphan");
    const { metadata } = await hand().create(paths.nodes, node(name));
    ok(await hand().send("DELETE", `${paths.nodes}/${name}`));
    const owner = { apiVersion: "v1", kind: "Node", name, uid: metadata.uid as string };
    await hand().create(paths.twins, twin(name, {}, { ownerReferences: [owner] }));
    expect(await gone(`${paths.twins}/${name}`)).toBe(true);
  });

  it("leaves what it owned where orphans are asked for", async () => {
    const name = hand().unique("orphaned");
    const { metadata } = await hand().create(paths.nodes, node(name));
    const owner = { apiVersion: "v1", kind: "Node", name, uid: metadata.uid as string };
    await hand().create(paths.twins, twin(name, {}, { ownerReferences: [owner] }));
    ok(await hand().send("DELETE", `${paths.nodes}/${name}`, { propagationPolicy: "Orphan" }));
    await gone(`${paths.nodes}/${name}`);
    const left = ok(await hand().get(`${paths.twins}/${name}`));
    expect(left.metadata.ownerReferences ?? []).toEqual([]);
  });

  it("deletes a selection at once", async () => {
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

  it("gives a name that was deleted to another object: another uid", async () => {
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
