import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeProblem, type ObjectProblem } from "./examine.ts";
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

const pathsOf = (dropped: readonly ObjectProblem[]) => dropped.map(({ path }) => path);

describe.each(kinds.map((kind): [string, AnyKind] => [kind.kind, kind]))("reading a %s", (_, kind) => {
  const sample = sampleOf(kind);

  it("returns a valid object as it is, unknown fields included", () => {
    const object = withValueAt(withValueAt(sample, ["spec", "future"], { deep: [1] }), ["alsoNew"], true);
    const reading = readingOf(kind, object);
    expect(reading.object).toBe(object);
    expect(reading.dropped).toEqual([]);
  });

  it("X-03 reads 2, 2.0 and 1.5 in every field that is not a count", () => {
    const quantities = leavesOf(kind).filter((leaf) => isNumeric(leaf) && !counts.has(String(leaf.path.at(-1))));
    expect(quantities.length).toBeGreaterThan(0);
    for (const { path } of quantities) {
      for (const [form, value] of [["2", 2] as const, ["2.0", 2] as const, ["1.5", 1.5] as const]) {
        const json = JSON.stringify(withValueAt(sample, path, "@")).replace('"@"', form);
        const { object, dropped } = readingOf(kind, JSON.parse(json));
        expect([pathText(path), valueAt(object, path), dropped]).toEqual([pathText(path), value, []]);
      }
    }
  });

  it("drops only the invalid value, reports it and keeps all other fields", () => {
    for (const { path, schema } of leavesOf(kind)) {
      const bad = schema.type === "string" ? 7 : "bad";
      const { object, dropped } = readingOf(kind, withValueAt(sample, path, bad));
      expect(pathsOf(dropped)).toContain(pathText(path));
      // At most its own part of spec or status is dropped with it.
      const part = pathText(path.slice(0, 2));
      const others = leavesOf(kind).filter(({ path: other }) => pathText(other.slice(0, 2)) !== part);
      expect(others.filter(({ path: other }) => valueAt(object, other) === undefined)).toEqual([]);
      expect(valueAt(object, path)).not.toBe(bad);
    }
  });

  it("reads null as absent and reports it only for required fields", () => {
    for (const { path } of leavesOf(kind)) {
      const { object, dropped } = readingOf(kind, withValueAt(sample, path, null));
      expect(valueAt(object, path)).not.toBeNull();
      expect(dropped.map(({ text }) => text)).not.toContain("null");
    }
  });

  it("requires only a name", () => {
    const { object, dropped } = readingOf(kind, { metadata });
    expect(object).toMatchObject({ metadata });
    expect(pathsOf(dropped)).toContain("spec");
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
    expect(readObject(kind, value)).toMatchObject({ ok: false, error: { path: expect.any(String) } });
  });

  it("returns a defined result for any JSON at any path", () => {
    const places = [["spec"], ["status"], ["metadata", "labels"], ...leavesOf(kind).map(({ path }) => path)];
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.jsonValue({ maxDepth: 3 }), (path, value) => {
        const { object } = readingOf(kind, withValueAt(sample, path, value));
        const again = readingOf(kind, object);
        // The result is valid: a second read changes nothing.
        expect(again.object).toEqual(object);
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
    ["another kind", { kind: "Pod" }, 'kind is "Pod", expected NodeTwin'],
    ["another kind of our group", { kind: "NodePowerProfile" }, 'kind is "NodePowerProfile", expected NodeTwin'],
    ["a kind that is no text", { kind: 5 }, "kind is 5, expected NodeTwin"],
    ["the core group", { apiVersion: "v1" }, 'apiVersion is "v1", expected joulie.io/v1alpha1'],
    ["another group", { apiVersion: "apps/v1" }, 'apiVersion is "apps/v1", expected joulie.io/v1alpha1'],
    ["a group that begins like ours", { apiVersion: "joulie.io.evil/v1" }, 'apiVersion is "joulie.io.evil/v1"'],
    ["a group that ends like ours", { apiVersion: "x.joulie.io/v1" }, 'apiVersion is "x.joulie.io/v1"'],
    ["our group without a version", { apiVersion: "joulie.io" }, 'apiVersion is "joulie.io"'],
    ["an apiVersion that is no text", { apiVersion: ["joulie.io/v1alpha1"] }, "apiVersion is a list of 1"],
  ])("rejects %s, even if the rest is valid", (_, header, message) => {
    const reading = readObject(nodeTwinKind, { ...header, metadata, spec });
    expect(reading.ok ? "read" : describeProblem(reading.error)).toContain(message);
  });

  it.each<[string, Record<string, unknown>]>([
    ["no header, as in a list", {}],
    ["null for a header", { kind: null, apiVersion: null }],
    ["its kind alone", { kind: "NodeTwin" }],
    ["another version of our group", { kind: "NodeTwin", apiVersion: "joulie.io/v1" }],
  ])("reads an object with %s", (_, header) => {
    expect(readingOf(nodeTwinKind, { ...header, metadata, spec }).object.spec).toEqual(spec);
  });

  it("reads capRange of a GPU as capRangePerGpu, and prefers capRangePerGpu if both are set", () => {
    const withGpu = (gpu: object) => readingOf(nodeHardwareKind, { metadata, spec, status: { gpu } });
    expect(withGpu({ capRange: { maxWatts: 700 } }).object.status?.gpu).toEqual({ capRangePerGpu: { maxWatts: 700 } });
    expect(withGpu({ capRange: { maxWatts: 700 }, capRangePerGpu: null }).object.status?.gpu).toEqual({
      capRangePerGpu: { maxWatts: 700 },
    });
    const both = withGpu({ capRange: { maxWatts: 700 }, capRangePerGpu: { maxWatts: 400 } });
    expect(both.object.status?.gpu?.capRangePerGpu).toEqual({ maxWatts: 400 });
    expect(pathsOf(withGpu({ capRange: { maxWatts: -1 } }).dropped)).toEqual(["status.gpu.capRangePerGpu.maxWatts"]);
  });

  it("uses metadata.name instead of a different spec.nodeName", () => {
    const one = { metal3: { namespace: "metal", name: "host" } };
    for (const kind of kinds.filter(({ perNode }) => perNode)) {
      const { object, dropped } = readingOf<unknown>(kind, {
        metadata,
        spec: { ...spec, ...one, nodeName: "worker-2" },
      });
      expect(valueAt(object, ["spec", "nodeName"])).toBe("worker-1.example");
      expect(dropped.map(describeProblem)).toEqual([
        `spec.nodeName is "worker-2", expected the object's name, worker-1.example`,
      ]);
    }
  });

  it("reads an invalid profile as performance and an empty cap as no cap", () => {
    const { object, dropped } = readingOf(nodeTwinKind, {
      metadata,
      spec: { ...spec, profile: "turbo", cpu: { packagePowerCapPctOfMax: 250 }, gpu: { powerCap: {} } },
    });
    expect(object.spec).toEqual({ nodeName: "worker-1.example", profile: "performance", gpu: {} });
    expect(pathsOf(dropped)).toEqual([
      "spec.profile",
      "spec.cpu.packagePowerCapPctOfMax",
      "spec.cpu",
      "spec.gpu.powerCap",
    ]);
  });

  it("applies a TelemetryProfile with an invalid target to no node and reads an unknown type as none", () => {
    const { object, dropped } = readingOf(telemetryProfileKind, {
      metadata,
      spec: { target: { scope: "rack" }, controls: { cpu: { type: "grpc" }, gpu: { type: "http", http: {} } } },
    });
    expect(object.spec.target).toEqual({ scope: "node" });
    expect(object.spec.controls).toEqual({ cpu: { type: "none" }, gpu: { type: "http" } });
    expect(pathsOf(dropped)).toEqual([
      "spec.target.scope",
      "spec.target",
      "spec.controls.cpu.type",
      "spec.controls.gpu.http.endpoint",
      "spec.controls.gpu",
    ]);
  });

  it("drops labels whose value is not a string and keeps the others", () => {
    const { object, dropped } = readingOf(nodeTwinKind, {
      metadata: { ...metadata, labels: { "joulie.io/rack": "r1", "joulie.io/managed": true } },
      spec,
    });
    expect(object.metadata.labels).toEqual({ "joulie.io/rack": "r1" });
    expect(dropped.map(describeProblem)).toEqual(['metadata.labels["joulie.io/managed"] is true, expected text']);
  });

  it("describes every problem in a message", () => {
    const status = { predictedPowerHeadroomScore: -1, lastUpdated: "now", schedulableClass: ["eco"] };
    const { dropped } = readingOf(nodeTwinKind, { metadata, spec, status });
    expect(dropped.map(describeProblem)).toEqual([
      "status.schedulableClass is a list of 1, expected one of performance, eco, draining, asleep, unknown",
      "status.predictedPowerHeadroomScore is -1, expected a number >= 0 and <= 100",
      'status.lastUpdated is "now", expected a timestamp such as 2030-01-31T12:00:00Z',
    ]);
  });
});
