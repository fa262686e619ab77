import { describe, expect, it } from "vitest";
import { apiHarness, twinsPath } from "./testing/api-harness.ts";

const nodes = "/api/v1/nodes";
const merge = { "content-type": "application/merge-patch+json" };
const named = (name: string, more: string) => `{"metadata":{"name":"${name}"},"x":${more}}`;
const lists = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

describe("an object that is too deep", () => {
  it.each([nodes, "/api/v1/namespaces/default/pods", twinsPath])(
    "is rejected at %s, and other objects stay readable",
    async (path) => {
      const { send, watch } = apiHarness();
      const seen = await watch(`${path}?watch=1`);
      const { status, body } = await send("POST", path, named("deep", lists(100_000)));
      expect([status, body.reason]).toEqual([400, "BadRequest"]);
      expect((await send("GET", path)).body.items).toEqual([]);
      expect(seen.events).toEqual([]);
    },
  );

  it("has more than 1,000 levels", async () => {
    const { send } = apiHarness();
    // The object itself is one of them.
    expect((await send("POST", nodes, named("just", lists(999)))).status).toBe(201);
    expect((await send("POST", nodes, named("over", lists(1000)))).status).toBe(400);
    expect((await send("PATCH", `${nodes}/just`, `{"y":${lists(999)}}`, merge)).status).toBe(200);
    expect((await send("PATCH", `${nodes}/just`, `{"y":${lists(1000)}}`, merge)).status).toBe(400);
    expect((await send("GET", nodes)).body.items.map(({ metadata }) => metadata.name)).toEqual(["just"]);
  });

  it("is rejected as YAML too, as are alias loops and non-finite numbers", async () => {
    const { send } = apiHarness();
    const yaml = { "content-type": "application/yaml" };
    const bodies = ["&a [*a]", "&a [*a, *a]", lists(5000), ".inf", "-.inf", ".nan", "1e999"];
    for (const body of bodies) {
      expect((await send("POST", nodes, `metadata: { name: y }\nx: ${body}`, yaml)).status).toBe(400);
    }
    expect((await send("POST", nodes, "metadata: { name: y }\nx: &a [1]\nz: *a", yaml)).body).toMatchObject({
      x: [1],
      z: [1],
    });
  });
});

describe("a body without a socket", () => {
  it("is measured in bytes, as over HTTP", async () => {
    const { send } = apiHarness();
    const filled = (length: number) => `{"metadata":{"name":"n"},"x":"${"ä".repeat(length)}"}`;
    const room = (3 * 1024 * 1024 - Buffer.byteLength(filled(0))) / 2;
    expect((await send("POST", nodes, filled(Math.floor(room) + 1))).status).toBe(413);
    expect((await send("POST", nodes, filled(Math.floor(room)))).status).toBe(201);
  });
});

describe("names of the prototype", () => {
  it.each(["constructor", "toString", "__proto__"])("are not media types: %s", async (type) => {
    const { send } = apiHarness();
    await send("POST", nodes, { metadata: { name: "n" } });
    expect((await send("PATCH", `${nodes}/n`, {}, { "content-type": type })).status).toBe(415);
  });
});
