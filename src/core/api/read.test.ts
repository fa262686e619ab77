import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnyKind, kinds, nodeHardwareKind, nodeTwinKind, telemetryProfileKind } from "./kinds.ts";
import { readObject } from "./read.ts";
import { isNumeric, leavesOf, pathText, readingOf, sampleOf, withValueAt } from "./testing/sample.ts";

const metadata = { name: "worker-1.example" };
const spec = { nodeName: "worker-1.example", profile: "eco" };

/** The only integer fields. Listed here, not read from the schemas, so that the test notices a changed type. */
const counts = new Set([
  "failures",
  "cyclesToday",
  "attempt",
  "priority",
  "sockets",
  "coresPerSocket",
  "totalCores",
  "count",
  "totalBytes",
  "timeoutSeconds",
  "observedGeneration",
  "provenGeneration",
  "generation",
]);

describe.each(kinds.map((kind): [string, AnyKind] => [kind.kind, kind]))("reading a %s", (_, kind) => {
  const sample = sampleOf(kind);

  it("returns a valid object as it is, unknown fields included", () => {
    const object = withValueAt(withValueAt(sample, ["spec", "future"], { deep: [1] }), ["alsoNew"], true);
    expect(readingOf(kind, object)).toBe(object);
  });

  it("X-03 reads 2, 2.0 and 1.5 in every field that is not a count", () => {
    const quantities = leavesOf(kind).filter((leaf) => isNumeric(leaf) && !counts.has(String(leaf.path.at(-1))));
    expect(quantities.length).toBeGreaterThan(0);
    for (const { path } of quantities) {
      for (const [form, value] of [["2", 2] as const, ["2.0", 2] as const, ["1.5", 1.5] as const]) {
        const json = JSON.stringify(withValueAt(sample, path, "@")).replace('"@"', form);
        expect([pathText(path), valueAt(readingOf(kind, JSON.parse(json)), path)]).toEqual([pathText(path), value]);
      }
    }
  });

  it("drops only the invalid value and keeps all other fields", () => {
    for (const { path, schema } of leavesOf(kind)) {
      const bad = schema.type === "string" ? 7 : "bad";
      const object = readingOf(kind, withValueAt(sample, path, bad));
      // At most its own part of spec or status is dropped with it.
      const part = pathText(path.slice(0, 2));
      const others = leavesOf(kind).filter(({ path: other }) => pathText(other.slice(0, 2)) !== part);
      expect(others.filter(({ path: other }) => valueAt(object, other) === undefined)).toEqual([]);
      expect(valueAt(object, path)).not.toBe(bad);
    }
  });

  it("reads null as absent", () => {
    for (const { path } of leavesOf(kind)) {
      expect(valueAt(readingOf(kind, withValueAt(sample, path, null)), path)).not.toBeNull();
    }
  });

  it("requires only a name", () => {
    expect(readingOf(kind, { metadata })).toMatchObject({ metadata });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a number", 7],
    ["text", "NodeTwin"],
    ["a list", [sample]],
    ["an empty object", {}],
    ["metadata as a list", { metadata: [] }],
    ["no name", { metadata: {}, spec }],
    ["a name of the wrong type", { metadata: { name: 5 }, spec }],
    ["an illegal name", { metadata: { name: "Not A Name" }, spec }],
    ["a name too long", { metadata: { name: "a".repeat(254) }, spec }],
    ["a name only in the prototype", JSON.parse('{"metadata": {"__proto__": {"name": "worker-1"}}}')],
  ])("rejects %s", (__, value) => {
    expect(readObject(kind, value)).toMatchObject({ ok: false, error: expect.any(String) });
  });

  it("returns a defined result for any JSON at any path", () => {
    const places = [["spec"], ["status"], ["metadata", "labels"], ...leavesOf(kind).map(({ path }) => path)];
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 3 }), (path, value) => {
        const object = readingOf(kind, withValueAt(sample, path, value));
        // The result is valid: a second read changes nothing.
        expect(readingOf(kind, object)).toEqual(object);
      }),
      { numRuns: 100 },
    );
  });
});

/** The value at a path of an object whose type does not matter; undefined where the path ends early. */
function valueAt(object: unknown, path: readonly (string | number)[]): unknown {
  let here = object;
  for (const step of path) here = (here as Record<string | number, unknown> | undefined)?.[step];
  return here;
}

describe("read", () => {
  it.each<[string, Record<string, unknown>, string]>([
    ["another kind", { kind: "Pod" }, "kind is not NodeTwin"],
    ["another kind of our group", { kind: "NodePowerProfile" }, "kind is not NodeTwin"],
    ["a kind that is no text", { kind: 5 }, "kind is not NodeTwin"],
    ["the core group", { apiVersion: "v1" }, "apiVersion is not joulie.io/v1alpha1"],
    ["another group", { apiVersion: "apps/v1" }, "apiVersion is not joulie.io/v1alpha1"],
    ["a group that begins like ours", { apiVersion: "joulie.io.evil/v1" }, "apiVersion is not joulie.io/v1alpha1"],
    ["a group that ends like ours", { apiVersion: "x.joulie.io/v1" }, "apiVersion is not joulie.io/v1alpha1"],
    ["our group without a version", { apiVersion: "joulie.io" }, "apiVersion is not joulie.io/v1alpha1"],
    ["an apiVersion that is no text", { apiVersion: ["joulie.io/v1alpha1"] }, "apiVersion is not joulie.io/v1alpha1"],
  ])("rejects %s, even if the rest is valid", (_, header, message) => {
    const reading = readObject(nodeTwinKind, { ...header, metadata, spec });
    expect(reading).toEqual({ ok: false, error: message });
  });

  it.each<[string, Record<string, unknown>]>([
    ["no header, as in a list", {}],
    ["null for a header", { kind: null, apiVersion: null }],
    ["its kind alone", { kind: "NodeTwin" }],
    ["another version of our group", { kind: "NodeTwin", apiVersion: "joulie.io/v1" }],
  ])("reads an object with %s", (_, header) => {
    expect(readingOf(nodeTwinKind, { ...header, metadata, spec }).spec).toEqual(spec);
  });

  it("reads capRange of a GPU as capRangePerGpu, and prefers capRangePerGpu if both are set", () => {
    const withGpu = (gpu: object) => readingOf(nodeHardwareKind, { metadata, spec, status: { gpu } });
    expect(withGpu({ capRange: { maxWatts: 700 } }).status?.gpu).toEqual({ capRangePerGpu: { maxWatts: 700 } });
    expect(withGpu({ capRange: { maxWatts: 700 }, capRangePerGpu: null }).status?.gpu).toEqual({
      capRangePerGpu: { maxWatts: 700 },
    });
    const both = withGpu({ capRange: { maxWatts: 700 }, capRangePerGpu: { maxWatts: 400 } });
    expect(both.status?.gpu?.capRangePerGpu).toEqual({ maxWatts: 400 });
    expect(withGpu({ capRange: { maxWatts: -1 } }).status?.gpu).toEqual({ capRangePerGpu: {} });
  });

  it("uses metadata.name instead of a different spec.nodeName", () => {
    const one = { metal3: { namespace: "metal", name: "host" } };
    for (const kind of kinds.filter(({ perNode }) => perNode)) {
      const object = readingOf<unknown>(kind, {
        metadata,
        spec: { ...spec, ...one, nodeName: "worker-2" },
      });
      expect(valueAt(object, ["spec", "nodeName"])).toBe("worker-1.example");
    }
  });

  it("reads an invalid profile as performance and an empty cap as no cap", () => {
    const object = readingOf(nodeTwinKind, {
      metadata,
      spec: { ...spec, profile: "turbo", cpu: { packagePowerCapPctOfMax: 250 }, gpu: { powerCap: {} } },
    });
    expect(object.spec).toEqual({ nodeName: "worker-1.example", profile: "performance", gpu: {} });
  });

  it("applies a TelemetryProfile with an invalid target to no node and reads an unknown type as none", () => {
    const object = readingOf(telemetryProfileKind, {
      metadata,
      spec: { target: { scope: "rack" }, controls: { cpu: { type: "grpc" }, gpu: { type: "http", http: {} } } },
    });
    expect(object.spec.target).toEqual({ scope: "node" });
    expect(object.spec.controls).toEqual({ cpu: { type: "none" }, gpu: { type: "http" } });
  });

  it("drops labels whose value is not a string and keeps the others", () => {
    const object = readingOf(nodeTwinKind, {
      metadata: { ...metadata, labels: { "joulie.io/rack": "r1", "joulie.io/managed": true } },
      spec,
    });
    expect(object.metadata.labels).toEqual({ "joulie.io/rack": "r1" });
  });
});
