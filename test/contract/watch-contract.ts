import { expect, it } from "vitest";
import { type Any, type Hand, ok } from "./hand.ts";
import { node, paths, pod, twin } from "./samples.ts";

const query = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();
const seen = (events: readonly { type: string; object: Any }[]) =>
  events.map(({ type, object }) => [type, object.metadata.name]);

export function watchContract(hand: () => Hand): void {
  it("sends every change after a list once, in order, with increasing resourceVersions", async () => {
    const name = hand().unique("watched");
    const { metadata } = ok(await hand().get(paths.twins));
    await hand().create(paths.twins, twin(name));
    const watch = await hand().watch(`${paths.twins}?${query({ resourceVersion: metadata.resourceVersion })}`);
    expect(watch.status).toBe(200);
    ok(await hand().patch(`${paths.twins}/${name}`, { spec: { profile: "performance" } }));
    ok(await hand().patch(`${paths.twins}/${name}/status`, { status: { schedulableClass: "eco" } }));
    ok(await hand().send("DELETE", `${paths.twins}/${name}`));
    const events = await watch.take(4);
    await watch.close();
    expect(seen(events)).toEqual(["ADDED", "MODIFIED", "MODIFIED", "DELETED"].map((type) => [type, name]));
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
    expect(Math.min(...versions)).toBeGreaterThan(Number(metadata.resourceVersion));
    expect(events[3]?.object).toMatchObject({
      kind: "NodeTwin",
      spec: { profile: "performance" },
      status: { schedulableClass: "eco" },
    });
  });

  it("starts with the existing objects if no resourceVersion is given", async () => {
    const group = hand().unique("group");
    for (const name of [`${group}-a`, `${group}-b`]) await hand().create(paths.nodes, node(name, { group }));
    const watch = await hand().watch(`${paths.nodes}?${query({ labelSelector: `group=${group}` })}`);
    const events = await watch.take(2);
    expect(seen(events)).toEqual(expect.arrayContaining([`${group}-a`, `${group}-b`].map((name) => ["ADDED", name])));
    expect(events[0]?.object).toMatchObject({ kind: "Node", apiVersion: "v1" });
    await hand().create(paths.nodes, node(`${group}-c`, { group }));
    expect(seen(await watch.take(1))).toEqual([["ADDED", `${group}-c`]]);
    await watch.close();
  });

  it("sends the initial events first and marks their end if requested", async () => {
    const group = hand().unique("group");
    await hand().create(paths.nodes, node(group, { group }));
    const watch = await hand().watch(
      `${paths.nodes}?${query({
        labelSelector: `group=${group}`,
        sendInitialEvents: "true",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
      })}`,
    );
    const first = await watch.any();
    expect([first?.type, first?.object.metadata.name]).toEqual(["ADDED", group]);
    const mark = await watch.any();
    expect(mark?.type).toBe("BOOKMARK");
    expect(mark?.object.kind).toBe("Node");
    expect(mark?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
    expect(Number(mark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(first?.object.metadata.resourceVersion),
    );
    await watch.close();
  });

  it("sends ADDED for an object that enters a selection, and DELETED with its last state for one that leaves", async () => {
    const group = hand().unique("group");
    await hand().create(paths.nodes, node(group, { group }));
    const { metadata } = ok(await hand().get(paths.nodes));
    const selector = { labelSelector: `group=${group},chosen=yes`, resourceVersion: metadata.resourceVersion };
    const watch = await hand().watch(`${paths.nodes}?${query(selector)}`);
    const label = async (chosen: string | null, other = "") =>
      ok(await hand().patch(`${paths.nodes}/${group}`, { metadata: { labels: { chosen, other } } }));
    await label("no");
    await label("yes");
    await label("yes", "x");
    const left = await label(null, "y");
    const events = await watch.take(3);
    await watch.close();
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    expect(events[2]?.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
    expect(events[2]?.object.metadata.labels).toMatchObject({ chosen: "yes", other: "x" });
  });

  it("sends pods that are bound to the node of a field selector", async () => {
    const name = hand().unique("pod");
    const target = hand().unique("node");
    const { metadata } = ok(await hand().get(paths.pods));
    await hand().create(paths.pods, pod(name));
    const fields = { fieldSelector: `spec.nodeName=${target}`, resourceVersion: metadata.resourceVersion };
    const watch = await hand().watch(`/api/v1/pods?${query(fields)}`);
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: target } };
    ok(await hand().send("POST", `${paths.pods}/${name}/binding`, binding));
    const [event] = await watch.take(1);
    await watch.close();
    expect([event?.type, event?.object.spec.nodeName]).toEqual(["ADDED", target]);
  });

  it("sends events of the watched namespace only", async () => {
    const other = hand().unique("namespace");
    await hand().create(paths.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: other } });
    const name = hand().unique("pod");
    const { metadata } = ok(await hand().get("/api/v1/pods"));
    await hand().create(paths.pods, pod(name));
    await hand().create(`/api/v1/namespaces/${other}/pods`, pod(name));
    const watch = await hand().watch(
      `/api/v1/namespaces/${other}/pods?${query({ resourceVersion: metadata.resourceVersion })}`,
    );
    const [event] = await watch.take(1);
    await watch.close();
    expect(event?.object.metadata.namespace).toBe(other);
  });

  it("ends after timeoutSeconds", async () => {
    const { metadata } = ok(await hand().get(paths.hardwares));
    const watch = await hand().watch(
      `${paths.hardwares}?${query({ resourceVersion: metadata.resourceVersion, timeoutSeconds: "1" })}`,
    );
    expect(await watch.next()).toBeUndefined();
  });

  it("does not end with timeoutSeconds=0", async () => {
    const { metadata } = ok(await hand().get(paths.twins));
    const watch = await hand().watch(
      `${paths.twins}?${query({ resourceVersion: metadata.resourceVersion, timeoutSeconds: "0" })}`,
    );
    const names = [hand().unique("later"), hand().unique("later")];
    for (const name of names) await hand().create(paths.twins, twin(name));
    expect(seen(await watch.take(2))).toEqual(names.map((name) => ["ADDED", name]));
    await watch.close();
  });

  it("responds with 410 Expired if the history after a resourceVersion is gone", async () => {
    const watch = await hand().watch(`${paths.twins}?resourceVersion=1`);
    const event = await watch.next();
    await watch.close();
    expect(watch.status).toBe(200);
    expect(event?.type).toBe("ERROR");
    expect(event?.object).toMatchObject({ kind: "Status", status: "Failure", reason: "Expired", code: 410 });
  });

  it("sends the same events to many watches of one kind", async () => {
    const { metadata } = ok(await hand().get(paths.twins));
    const path = `${paths.twins}?${query({ resourceVersion: metadata.resourceVersion })}`;
    const watches = await Promise.all(Array.from({ length: 5 }, async () => hand().watch(path)));
    const names = Array.from({ length: 20 }, () => hand().unique("many"));
    await Promise.all(names.map(async (name) => hand().create(paths.twins, twin(name))));
    const all = await Promise.all(watches.map(async (watch) => seen(await watch.take(names.length))));
    await Promise.all(watches.map(async (watch) => watch.close()));
    expect(all[0]?.map(([, name]) => name).toSorted()).toEqual(names.toSorted());
    for (const one of all) expect(one).toEqual(all[0]);
  });
}
