import { describe, expect, it } from "vitest";
import { crdOf, nodeTwinKind } from "../../../core/api/index.ts";
import type { Schema } from "../kinds/builtin-schemas.ts";
import { pruned, validateValue } from "./validate.ts";

describe("validateValue", () => {
  const wrong: [says: string, value: unknown, schema: object, message: string][] = [
    ["text as number", { x: "1" }, { type: "number" }, 'x: Invalid value: "1": x in body: '],
    ["a fraction as integer", { x: 1.5 }, { type: "integer" }, "x: Invalid value: 1.5: x in body: "],
    ["null", { x: null }, { type: "object" }, "x: Invalid value: null: x in body: "],
    ["just too little", { x: 0 }, { type: "number", minimum: 0, exclusiveMinimum: true }, "x: Invalid value: 0: "],
    ["too much", { x: 101 }, { type: "number", maximum: 100 }, "x: Invalid value: 101: "],
    ["too long", { x: "ab" }, { type: "string", maxLength: 1 }, 'x: Invalid value: "ab": '],
    ["no match", { x: "B" }, { type: "string", pattern: "^a$" }, 'x: Invalid value: "B": '],
    ["30 February", { x: "2030-02-30T00:00:00Z" }, { type: "string", format: "date-time" }, "x: Invalid value: "],
    [
      "no choice",
      { x: "c" },
      { type: "string", enum: ["a", "b"] },
      'x: Unsupported value: "c": supported values: "a", "b"',
    ],
    ["a field missing", {}, { type: "string" }, "x: Required value"],
    ["a wrong item", { x: [1, "b"] }, { type: "array", items: { type: "integer" } }, 'x[1]: Invalid value: "b": '],
  ];
  it.each(wrong)("rejects %s", (_says, value, schema, message) => {
    const { problems } = validateValue(value, { type: "object", properties: { x: schema }, required: ["x"] } as Schema);
    expect(problems.map(({ field, message: text }) => `${field}: ${text}`)).toEqual([expect.stringContaining(message)]);
  });

  it("reports all problems at once", () => {
    const [version] = crdOf(nodeTwinKind).spec.versions;
    const bad = { spec: { nodeName: "", profile: 1, cpu: { packagePowerCapWatts: 0, packagePowerCapPctOfMax: 101 } } };
    const { problems } = validateValue(bad, version?.schema.openAPIV3Schema as Schema);
    expect(new Set(problems.map(({ field }) => field))).toEqual(
      new Set(["spec.nodeName", "spec.profile", "spec.cpu.packagePowerCapWatts", "spec.cpu.packagePowerCapPctOfMax"]),
    );
  });

  it("sets defaults and keeps null where it is allowed, and fields without a schema", () => {
    const properties = { a: { type: "integer", default: 1 }, b: { type: "string", nullable: true } };
    const schema = { type: "object", properties: { inner: { type: "object", properties }, free: { type: "object" } } };
    const value = { inner: { b: null }, free: { z: 1 } };
    expect(validateValue(value, schema as Schema)).toEqual({
      value: { inner: { a: 1, b: null }, free: { z: 1 } },
      problems: [],
    });
  });
});

describe("pruned", () => {
  it("prunes unknown fields at every depth and reports their paths", () => {
    const known: Schema = { type: "object", properties: { a: { type: "integer" } } };
    const schema: Schema = {
      type: "object",
      properties: {
        known,
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        map: { type: "object", additionalProperties: known },
        list: { type: "array", items: known },
      },
    };
    const unknown: string[] = [];
    const value = { known: { a: 1, z: 1 }, free: { z: 1 }, map: { k: { z: 1 } }, list: [{ z: 1 }], z: 1 };
    expect(pruned(value, schema, unknown)).toEqual({ known: { a: 1 }, free: { z: 1 }, map: { k: {} }, list: [{}] });
    expect(unknown).toEqual(["known.z", "map.k.z", "list[0].z", "z"]);
  });
});
