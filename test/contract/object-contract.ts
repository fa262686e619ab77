import { expect, it } from "vitest";
import { apiGroup } from "../../src/core/api/index.ts";
import { type Hand, ok } from "./hand.ts";
import { node, paths, twin, twinStatus } from "./samples.ts";

export function objectContract(hand: () => Hand): void {
  it("X-02 stores `a.b` and `a-b` as two different objects", async () => {
    const stem = hand().unique("x02");
    for (const name of [`${stem}.b`, `${stem}-b`]) await hand().create(paths.twins, twin(name));
    await hand().patch(`${paths.twins}/${stem}.b`, { spec: { profile: "performance" } });
    const [dotted, dashed] = await Promise.all(
      [`${stem}.b`, `${stem}-b`].map(async (name) => ok(await hand().get(`${paths.twins}/${name}`))),
    );
    expect(dotted.metadata.name).toBe(`${stem}.b`);
    expect(dashed.metadata.name).toBe(`${stem}-b`);
    expect([dotted.spec.profile, dashed.spec.profile]).toEqual(["performance", "eco"]);
    expect(dotted.metadata.uid).not.toBe(dashed.metadata.uid);
  });

  it("assigns uid, resourceVersion, generation and creation time to a new object and responds with 201", async () => {
    const name = hand().unique("new");
    const { status, body } = await hand().send("POST", paths.twins, twin(name));
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "NodeTwin", metadata: { name, generation: 1 } });
    expect(body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Number(body.metadata.resourceVersion)).toBeGreaterThan(0);
    expect(ok(await hand().get(`${paths.twins}/${name}`))).toEqual(body);
  });

  it("rejects the create of an existing object with 409 AlreadyExists", async () => {
    const name = hand().unique("twice");
    await hand().create(paths.twins, twin(name));
    const { status, body } = await hand().send("POST", paths.twins, twin(name));
    expect(status).toBe(409);
    expect(body).toMatchObject({ kind: "Status", status: "Failure", reason: "AlreadyExists", code: 409 });
    expect(body.message).toBe(`nodetwins.${apiGroup} "${name}" already exists`);
  });

  it("responds with 404 NotFound for a missing object and an unknown path", async () => {
    const name = hand().unique("missing");
    const { status, body } = await hand().get(`${paths.twins}/${name}`);
    expect(status).toBe(404);
    expect(body).toMatchObject({ reason: "NotFound", message: `nodetwins.${apiGroup} "${name}" not found` });
    expect(body.details).toMatchObject({ name, group: apiGroup, kind: "nodetwins" });
    expect((await hand().get("/apis/no.such.group/v1/things")).status).toBe(404);
    expect((await hand().patch(`${paths.twins}/${name}`, { spec: {} })).status).toBe(404);
  });

  it("generates a name from generateName", async () => {
    const { metadata } = await hand().create(paths.nodes, {
      ...node("x"),
      metadata: { generateName: "made-" },
    });
    expect(metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
  });

  it("drops fields that the CRD does not declare, or rejects them with strict validation", async () => {
    const name = hand().unique("unknown");
    const body = twin(name, { colour: "red", cpu: { packagePowerCapWatts: 100, volts: 1 } });
    const strict = await hand().send("POST", `${paths.twins}?fieldValidation=Strict`, body);
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('unknown field "spec.colour"');
    const { spec } = await hand().create(`${paths.twins}?fieldValidation=Ignore`, body);
    expect(spec).toEqual({ nodeName: name, profile: "eco", cpu: { packagePowerCapWatts: 100 } });
  });

  it("stores integers and fractions unchanged", async () => {
    const name = hand().unique("numbers");
    await hand().create(paths.twins, twin(name, { cpu: { packagePowerCapWatts: 720, packagePowerCapPctOfMax: 62.5 } }));
    const { spec } = ok(await hand().get(`${paths.twins}/${name}`));
    expect(spec.cpu).toEqual({ packagePowerCapWatts: 720, packagePowerCapPctOfMax: 62.5 });
  });

  it("rejects an update with an outdated resourceVersion with 409 Conflict", async () => {
    const name = hand().unique("stale");
    const first = await hand().create(paths.twins, twin(name));
    ok(await hand().patch(`${paths.twins}/${name}`, { spec: { profile: "performance" } }));
    const late = await hand().send("PUT", `${paths.twins}/${name}`, {
      ...first,
      spec: { ...first.spec, profile: "eco" },
    });
    expect(late.status).toBe(409);
    expect(late.body).toMatchObject({ reason: "Conflict" });
    expect(late.body.message).toContain("the object has been modified");
    const { resourceVersion } = first.metadata;
    const patch = { metadata: { resourceVersion }, spec: { profile: "eco" } };
    expect((await hand().patch(`${paths.twins}/${name}`, patch)).status).toBe(409);
  });

  it("accepts one of many concurrent updates with the same resourceVersion", async () => {
    const name = hand().unique("race");
    const { metadata } = await hand().create(paths.twins, twin(name));
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_, index) =>
        hand().patch(`${paths.twins}/${name}`, {
          metadata: { resourceVersion: metadata.resourceVersion },
          spec: { policy: { name: `p${index}` } },
        }),
      ),
    );
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual([
      "200",
      ...Array.from({ length: 9 }, () => "409"),
    ]);
  });

  it("requires a resourceVersion in a PUT of a custom resource", async () => {
    const name = hand().unique("put");
    await hand().create(paths.twins, twin(name));
    const { status, body } = await hand().send("PUT", `${paths.twins}/${name}`, twin(name, { profile: "performance" }));
    expect(status).toBe(422);
    expect(body.message).toContain("metadata.resourceVersion");
  });

  it("applies a merge patch: null removes a field, lists are replaced", async () => {
    const name = hand().unique("merge");
    await hand().create(paths.twins, twin(name, { cpu: { packagePowerCapWatts: 100 }, policy: { name: "p" } }));
    const { spec } = ok(
      await hand().patch(`${paths.twins}/${name}`, {
        spec: { cpu: { packagePowerCapPctOfMax: 50 }, policy: null },
      }),
    );
    expect(spec).toEqual({
      nodeName: name,
      profile: "eco",
      cpu: { packagePowerCapWatts: 100, packagePowerCapPctOfMax: 50 },
    });
  });

  it("rejects a strategic merge patch of a custom resource with 415", async () => {
    const name = hand().unique("strategic");
    await hand().create(paths.twins, twin(name));
    const { status, body } = await hand().patch(`${paths.twins}/${name}`, { spec: {} }, "strategic");
    expect([status, body.reason]).toEqual([415, "UnsupportedMediaType"]);
  });

  it("separates writes of spec and status and increments the generation for the spec only", async () => {
    const name = hand().unique("doors");
    const path = `${paths.twins}/${name}`;
    const created = await hand().create(paths.twins, { ...twin(name), status: { schedulableClass: "eco" } });
    expect(created.status).toBeUndefined();
    const viaStatus = ok(
      await hand().patch(`${path}/status`, { spec: { profile: "performance" }, status: { schedulableClass: "eco" } }),
    );
    expect(viaStatus).toMatchObject({
      metadata: { generation: 1 },
      spec: { profile: "eco" },
      status: { schedulableClass: "eco" },
    });
    const viaSpec = ok(
      await hand().patch(path, { spec: { profile: "performance" }, status: { schedulableClass: "draining" } }),
    );
    expect(viaSpec).toMatchObject({
      metadata: { generation: 2 },
      spec: { profile: "performance" },
      status: { schedulableClass: "eco" },
    });
    const labelled = ok(await hand().patch(path, { metadata: { labels: { a: "b" } } }));
    expect(labelled.metadata.generation).toBe(2);
    expect(ok(await hand().get(`${path}/status`)).status).toEqual({ schedulableClass: "eco" });
    expect((await hand().apply(`${paths.twins}/${name}x/status`, twinStatus(`${name}x`, {}), "m")).status).toBe(404);
  });

  it("keeps the resourceVersion when a write changes nothing", async () => {
    const name = hand().unique("same");
    const before = await hand().create(paths.twins, twin(name, { policy: { name: "p" } }));
    const after = ok(await hand().patch(`${paths.twins}/${name}`, { spec: { policy: { name: "p" } } }));
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });
}
