import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeHardwareKind } from "./kinds.ts";
import { refusal } from "./testing/sample.ts";

const metadata = { name: "worker-1.example" };

describe("values that JSON cannot represent", () => {
  const refusalOf = (object: unknown) => refusal(nodeHardwareKind, object);

  it.each<[string, unknown]>([
    ["null", null],
    ["undefined", undefined],
    ["text", "NodeHardware"],
    ["a list", [{ metadata }]],
  ])("rejects %s instead of an object with an error code", (_, object) => {
    expect(refusalOf(object)).toMatch(
      /^NodeHardware without metadata was not written: the object is .*, expected an object$/,
    );
  });

  it("rejects a sparse list", () => {
    const holes: string[] = [];
    holes[1] = "w";
    holes.length = 3;
    expect(refusalOf({ metadata, status: { cpu: { warnings: holes } } })).toContain(
      "status.cpu.warnings[0] is missing, expected text of at most 1024 characters; status.cpu.warnings[2] is missing",
    );
    expect(refusalOf({ metadata: { ...metadata, finalizers: holes } })).toContain("metadata.finalizers[0] is missing");
    expect(refusalOf({ metadata: { ...metadata, ownerReferences: holes } })).toContain("metadata.ownerReferences[0]");
  });

  it.each<[string, unknown]>([
    ["metadata.future is NaN, expected a JSON value", Number.NaN],
    ["metadata.future[0].deep is -Infinity", [{ deep: Number.NEGATIVE_INFINITY }]],
    ["metadata.future.call is a function", { call: () => 0 }],
    ["metadata.future is a bigint", 5n],
    ["metadata.future is a symbol", Symbol("s")],
  ])("X-04 reports %s in unknown metadata", (message, future) => {
    expect(refusalOf({ metadata: { ...metadata, future } })).toContain(message);
  });

  it("accepts any JSON in unknown metadata", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (future) => {
        expect(refusalOf({ metadata: { ...metadata, future } })).toBeUndefined();
      }),
    );
    expect(refusalOf({ metadata: { ...metadata, future: { left: undefined } } })).toBeUndefined();
  });

  it("rejects cycles and excessive nesting", () => {
    const cycle: Record<string, unknown> = {};
    Object.assign(cycle, { left: cycle, right: cycle });
    expect(refusalOf({ metadata: { ...metadata, cycle } })).toContain("expected at most 32 levels");
    const nested = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(refusalOf({ metadata: { ...metadata, nested } })).toContain("expected at most 32 levels");
  });
});
