import { expect, it } from "vitest";
import { apiGroup, apiVersionName } from "../../src/core/api/index.ts";
import { type Any, type Hand, ok } from "./hand.ts";
import { node, paths, pod, telemetryProfile, twin } from "./samples.ts";

const namesOf = (list: Any): string[] => list.items.map((item: Any) => item.metadata.name);
const query = (values: Readonly<Record<string, string>>): string => new URLSearchParams(values).toString();

export function listContract(hand: () => Hand): void {
  /** Nodes of one test, with a label that no other node has. */
  async function labelledNodes(labels: readonly Readonly<Record<string, string>>[]) {
    const group = hand().unique("group");
    const names = await Promise.all(
      labels.map(async (one, index) => {
        const { metadata } = await hand().create(paths.nodes, node(`${group}-${index}`, { group, ...one }));
        return metadata.name as string;
      }),
    );
    return { group, names };
  }

  const selectors: [selector: string, expected: readonly number[]][] = [
    ["tier=a", [0]],
    ["tier==a", [0]],
    ["tier!=a", [1, 2]],
    ["tier in (a,b)", [0, 1]],
    ["tier notin (a,b)", [2]],
    ["tier", [0, 1]],
    ["!tier", [2]],
    ["tier=a,big=yes", [0]],
    ["tier=b,big=yes", []],
  ];
  it.each(selectors)("selects by labels: %s", async (selector, expected) => {
    const { group, names } = await labelledNodes([{ tier: "a", big: "yes" }, { tier: "b" }, {}]);
    const { status, body } = await hand().get(
      `${paths.nodes}?${query({ labelSelector: `group=${group},${selector}` })}`,
    );
    expect(status).toBe(200);
    expect(namesOf(body)).toEqual(expected.map((index) => names[index]));
  });

  it("selects by name and rejects an unsupported field selector with 400", async () => {
    const { names } = await labelledNodes([{}, {}]);
    const found = ok(await hand().get(`${paths.nodes}?${query({ fieldSelector: `metadata.name=${names[1]}` })}`));
    expect(namesOf(found)).toEqual([names[1]]);
    expect((await hand().get(`${paths.nodes}?fieldSelector=spec.colour%3Dred`)).status).toBe(400);
    expect((await hand().get(`${paths.nodes}?labelSelector=a%20in%20b`)).status).toBe(400);
  });

  it("selects pods by node and phase", async () => {
    const group = hand().unique("group");
    const free = hand().unique("pod");
    const bound = hand().unique("pod");
    await hand().create(paths.pods, pod(free, { group }));
    await hand().create(paths.pods, pod(bound, { group }, { nodeName: `${group}-node` }));
    const find = async (fieldSelector: string) =>
      namesOf(ok(await hand().get(`/api/v1/pods?${query({ fieldSelector, labelSelector: `group=${group}` })}`)));
    expect(await find(`spec.nodeName=${group}-node`)).toEqual([bound]);
    expect(await find("spec.nodeName=")).toEqual([free]);
    expect(await find("status.phase=Pending,spec.nodeName!=")).toEqual([bound]);
    expect(await find("status.phase!=Pending")).toEqual([]);
    expect(await find(`metadata.namespace=default,metadata.name=${free}`)).toEqual([free]);
  });

  it("selects TelemetryProfiles by the selectable fields of their CRD", async () => {
    const [one, other, all] = [hand().unique("tp"), hand().unique("tp"), hand().unique("tp")];
    const target = hand().unique("node");
    await hand().create(paths.telemetryProfiles, telemetryProfile(one, { scope: "node", nodeName: target }));
    await hand().create(paths.telemetryProfiles, telemetryProfile(other, { scope: "node", nodeName: `${target}x` }));
    await hand().create(paths.telemetryProfiles, telemetryProfile(all, { scope: "cluster" }));
    const find = async (fieldSelector: string) =>
      namesOf(ok(await hand().get(`${paths.telemetryProfiles}?${query({ fieldSelector })}`)));
    expect(await find(`spec.target.nodeName=${target}`)).toEqual([one]);
    expect(await find("spec.target.scope=cluster")).toContain(all);
    expect(await find("spec.target.scope=cluster")).not.toContain(one);
  });

  it("lists in pages with the resourceVersion of the first one", async () => {
    const { group, names } = await labelledNodes([{}, {}, {}, {}, {}]);
    const labelSelector = `group=${group}`;
    const first = ok(await hand().get(`${paths.nodes}?${query({ labelSelector, limit: "2" })}`));
    expect(namesOf(first)).toEqual(names.slice(0, 2));
    const next = async (page: Any) =>
      ok(await hand().get(`${paths.nodes}?${query({ labelSelector, limit: "2", continue: page.metadata.continue })}`));
    const second = await next(first);
    const third = await next(second);
    expect([...namesOf(second), ...namesOf(third)]).toEqual(names.slice(2));
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    expect(third.metadata.continue ?? "").toBe("");
    expect((await hand().get(`${paths.nodes}?limit=1&continue=nonsense`)).status).toBe(400);
  });

  it("omits the kind in items of built-in lists and includes it in custom objects", async () => {
    const name = hand().unique("kinds");
    await hand().create(paths.nodes, node(name));
    await hand().create(paths.twins, twin(name));
    const nodes = ok(await hand().get(paths.nodes));
    const twins = ok(await hand().get(paths.twins));
    expect([nodes.kind, nodes.apiVersion, nodes.items[0].kind]).toEqual(["NodeList", "v1", undefined]);
    expect([twins.kind, twins.items[0].kind]).toEqual(["NodeTwinList", "NodeTwin"]);
    expect(Number(nodes.metadata.resourceVersion)).toBeGreaterThan(0);
  });

  it("serves discovery: versions, groups, and kinds with short names and subresources", async () => {
    expect(ok(await hand().get("/version"))).toMatchObject({ major: "1" });
    const { groups } = ok(await hand().get("/apis"));
    expect(groups.map((group: Any) => group.name)).toEqual(
      expect.arrayContaining(["coordination.k8s.io", "events.k8s.io", "apiextensions.k8s.io", apiGroup]),
    );
    const { resources } = ok(await hand().get(`/apis/${apiGroup}/${apiVersionName}`));
    const byName = new Map(resources.map((resource: Any) => [resource.name, resource]));
    expect(byName.get("nodetwins")).toMatchObject({ kind: "NodeTwin", namespaced: false, shortNames: ["nt"] });
    expect([...byName.keys()]).toContain("nodetwins/status");
    expect([...byName.keys()]).not.toContain("nodepowerprofiles/status");
    const core = ok(await hand().get("/api/v1"));
    expect(core.resources.map((resource: Any) => resource.name)).toEqual(
      expect.arrayContaining(["nodes", "nodes/status", "pods", "pods/status", "pods/binding", "namespaces", "events"]),
    );
    const eviction = core.resources.find((resource: Any) => resource.name === "pods/eviction");
    expect(eviction).toMatchObject({ kind: "Eviction", group: "policy", version: "v1", verbs: ["create"] });
    expect(ok(await hand().get("/readyz"))).toBe("ok");
  });

  it("prints tables with the columns of the CRD", async () => {
    const name = hand().unique("table");
    await hand().create(paths.twins, twin(name, { cpu: { packagePowerCapPctOfMax: 60 } }));
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const { body } = await hand().send("GET", `${paths.twins}/${name}`, undefined, { accept });
    expect(body.kind).toBe("Table");
    const row = Object.fromEntries(
      body.columnDefinitions.map(({ name: column }: Any, index: number) => [column, body.rows[0].cells[index]]),
    );
    expect(row).toMatchObject({ Name: name, Profile: "eco", "CPU-Cap": 60, Class: null });
    expect(row.Age).toMatch(/^\d+s$/);
    expect(body.rows[0].object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name } });
  });
}
