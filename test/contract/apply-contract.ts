import { expect, it } from "vitest";
import { fieldManagers } from "../../src/core/api/index.ts";
import { type Any, type Hand, ok } from "./hand.ts";
import { condition, node, paths, twin, twinStatus } from "./samples.ts";

const { operator, agent } = fieldManagers;

export function applyContract(hand: () => Hand): void {
  it("X-05 never lets agent and operator erase each other's NodeTwin fields", async () => {
    const name = hand().unique("x05");
    const path = `${paths.twins}/${name}`;
    const spec = { cpu: { packagePowerCapPctOfMax: 60 }, policy: { name: "static_partition" } };
    const report = { cpu: { backend: "rapl", result: "applied", observedPowerWatts: 90 } };
    ok(await hand().apply(path, twin(name, spec), operator));
    ok(
      await hand().apply(`${path}/status`, twinStatus(name, { schedulableClass: "eco", estimatedPUE: 1.2 }), operator),
    );
    ok(await hand().apply(`${path}/status`, twinStatus(name, { controlStatus: report }), agent));

    // Each manager adds a field, then removes one. Neither changes the other's fields.
    const changed = { cpu: { backend: "dvfs", result: "blocked" }, gpu: { result: "none" } };
    ok(await hand().apply(`${path}/status`, twinStatus(name, { schedulableClass: "draining" }), operator));
    ok(await hand().apply(`${path}/status`, twinStatus(name, { controlStatus: changed }), agent));
    ok(await hand().apply(path, twin(name, { policy: { name: "queue_aware_v1" } }), operator));
    expect(ok(await hand().get(path))).toMatchObject({
      spec: { nodeName: name, profile: "eco", policy: { name: "queue_aware_v1" } },
      status: { schedulableClass: "draining", controlStatus: changed },
    });
    const { spec: left, status } = ok(await hand().get(path));
    expect(left.cpu).toBeUndefined();
    expect(status).toEqual({ schedulableClass: "draining", controlStatus: changed });

    ok(await hand().apply(`${path}/status`, twinStatus(name, {}), operator));
    expect(ok(await hand().get(path)).status).toEqual({ controlStatus: changed });
    ok(await hand().apply(`${path}/status`, twinStatus(name, { schedulableClass: "eco" }), operator));
    ok(await hand().apply(`${path}/status`, twinStatus(name, {}), agent));
    expect(ok(await hand().get(path)).status).toEqual({ schedulableClass: "eco" });
  });

  it("creates a missing object (201) and changes an existing one (200)", async () => {
    const name = hand().unique("apply");
    const first = await hand().apply(`${paths.twins}/${name}`, twin(name), "one");
    expect([first.status, first.body.metadata.generation]).toEqual([201, 1]);
    const second = await hand().apply(`${paths.twins}/${name}`, twin(name, { profile: "performance" }), "one");
    expect([second.status, second.body.metadata.generation, second.body.spec.profile]).toEqual([200, 2, "performance"]);
  });

  it("writes nothing when an apply repeats the previous one", async () => {
    const name = hand().unique("again");
    const path = `${paths.twins}/${name}`;
    const before = ok(await hand().apply(path, twin(name, { policy: { name: "p" } }), "one"));
    const after = ok(await hand().apply(path, twin(name, { policy: { name: "p" } }), "one"));
    expect(after.metadata).toEqual(before.metadata);
  });

  it("rejects a field that another manager owns with another value and names both; force takes it over", async () => {
    const name = hand().unique("conflict");
    const path = `${paths.twins}/${name}`;
    ok(await hand().apply(path, twin(name, { profile: "eco" }), "one"));
    const refused = await hand().apply(path, twin(name, { profile: "performance" }), "two");
    expect(refused.status).toBe(409);
    expect(refused.body.reason).toBe("Conflict");
    expect(refused.body.details.causes).toEqual([
      { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".spec.profile" },
    ]);
    expect(refused.body.message).toBe('Apply failed with 1 conflict: conflict with "one": .spec.profile');
    expect(ok(await hand().get(path)).spec.profile).toBe("eco");
    expect(ok(await hand().apply(path, twin(name, { profile: "performance" }), "two", true)).spec.profile).toBe(
      "performance",
    );
    // Now the first manager gets the conflict.
    expect((await hand().apply(path, twin(name, { profile: "eco" }), "one")).status).toBe(409);
  });

  it("lets managers share a value and removes it when the last manager omits it", async () => {
    const name = hand().unique("shared");
    const path = `${paths.twins}/${name}`;
    const draining = { scheduling: { draining: true } };
    ok(await hand().apply(path, twin(name, draining), "one"));
    ok(await hand().apply(path, twin(name, draining), "two"));
    expect(ok(await hand().apply(path, twin(name), "one")).spec.scheduling).toEqual({ draining: true });
    expect(ok(await hand().apply(path, twin(name), "two")).spec.scheduling).toBeUndefined();
  });

  it("reports a conflict when an apply changes a value that a plain patch set", async () => {
    const name = hand().unique("updated");
    const path = `${paths.twins}/${name}`;
    ok(await hand().apply(path, twin(name, { policy: { name: "mine" } }), "one"));
    ok(await hand().patch(`${path}?fieldManager=person`, { spec: { policy: { name: "theirs" } } }));
    const { status, body } = await hand().apply(path, twin(name, { policy: { name: "mine" } }), "one");
    expect(status).toBe(409);
    expect(body.details.causes).toHaveLength(1);
    expect(body.details.causes[0].field).toBe(".spec.policy.name");
    expect(body.details.causes[0].message).toContain('conflict with "person"');
  });

  it("tracks ownership of list items by key", async () => {
    const name = hand().unique("conditions");
    const path = `${paths.twins}/${name}`;
    await hand().create(paths.twins, twin(name));
    ok(await hand().apply(`${path}/status`, twinStatus(name, { conditions: [condition("A")] }), "one"));
    ok(await hand().apply(`${path}/status`, twinStatus(name, { conditions: [condition("B")] }), "two"));
    ok(await hand().apply(`${path}/status`, twinStatus(name, { conditions: [condition("A", "False")] }), "one"));
    const shown = async () =>
      Object.fromEntries(ok(await hand().get(path)).status.conditions.map((one: Any) => [one.type, one.status]));
    expect(await shown()).toEqual({ A: "False", B: "True" });
    ok(await hand().apply(`${path}/status`, twinStatus(name, {}), "one"));
    expect(await shown()).toEqual({ B: "True" });
  });

  it("tracks ownership of each label separately", async () => {
    const name = hand().unique("labels");
    const path = `${paths.nodes}/${name}`;
    await hand().create(paths.nodes, node(name, { theirs: "kept" }));
    const config = (labels: object) => ({ apiVersion: "v1", kind: "Node", metadata: { name, labels } });
    ok(await hand().apply(path, config({ a: "1", b: "1" }), "one"));
    const { metadata } = ok(await hand().apply(path, config({ b: "1" }), "one"));
    expect(metadata.labels).toMatchObject({ theirs: "kept", b: "1" });
    expect(metadata.labels.a).toBeUndefined();
    expect((await hand().apply(path, config({ theirs: "taken" }), "one")).status).toBe(409);
  });

  it("records in managedFields which manager owns which fields through which subresource", async () => {
    const name = hand().unique("managed");
    ok(await hand().apply(`${paths.twins}/${name}`, twin(name), "one"));
    ok(await hand().apply(`${paths.twins}/${name}/status`, twinStatus(name, { schedulableClass: "eco" }), "two"));
    const { metadata } = ok(await hand().get(`${paths.twins}/${name}`));
    const entries = metadata.managedFields.map((entry: Any) => ({ ...entry, time: "then" }));
    expect(entries).toEqual([
      {
        manager: "one",
        operation: "Apply",
        time: "then",
        apiVersion: twin(name).apiVersion,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { "f:nodeName": {}, "f:profile": {} } },
      },
      {
        manager: "two",
        operation: "Apply",
        time: "then",
        apiVersion: twin(name).apiVersion,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:status": { "f:schedulableClass": {} } },
        subresource: "status",
      },
    ]);
  });

  it("requires a field manager, the kind and the matching name", async () => {
    const name = hand().unique("nameless");
    const path = `${paths.twins}/${name}`;
    const headers = { "content-type": "application/apply-patch+yaml" };
    expect((await hand().send("PATCH", path, twin(name), headers)).status).toBe(422);
    expect((await hand().apply(path, { metadata: { name }, spec: twin(name).spec }, "one")).status).toBe(400);
    expect((await hand().apply(path, twin(`${name}x`), "one")).status).toBe(400);
    expect((await hand().get(path)).status).toBe(404);
  });

  it("validates the applied object: an invalid value is rejected with 422 and changes nothing", async () => {
    const name = hand().unique("checked");
    const path = `${paths.twins}/${name}`;
    ok(await hand().apply(path, twin(name), "one"));
    expect((await hand().apply(path, twin(name, { profile: "turbo" }), "one")).status).toBe(422);
    expect(ok(await hand().get(path)).spec.profile).toBe("eco");
  });
}
