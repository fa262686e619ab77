import { describe, expect, it } from "vitest";
import { crdOf, nodeTwinKind } from "../../../core/api/index.ts";
import type { Schema } from "../kinds/schema.ts";
import { defaulted, pruned } from "./pruning.ts";
import { validateValue } from "./validate.ts";

const messages = (value: unknown, schema: Schema) =>
  validateValue(value, schema, "x").map(({ field, message }) => `${field}: ${message}`);

describe("check", () => {
  const fine: [says: string, value: unknown, schema: Schema][] = [
    ["a whole number as number", 720, { type: "number" }],
    ["a fraction as number", 0.5, { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 100 }],
    ["null where it may be", null, { type: "string", nullable: true }],
    ["whole or text", "1%", { "x-kubernetes-int-or-string": true }],
    ["characters, not code units", "😀😀", { type: "string", maxLength: 2, minLength: 2 }],
    ["a leap day", "2028-02-29T23:59:59.999+05:30", { type: "string", format: "date-time" }],
    ["equal items of a plain list", [1, 1], { type: "array", items: { type: "integer" } }],
    ["fields without a schema", { a: 1 }, { type: "object" }],
    ["an unknown format", "x", { type: "string", format: "hair-colour" }],
  ];
  it.each(fine)("accepts %s", (_says, value, schema) => {
    expect(validateValue(value, schema)).toEqual([]);
  });

  const wrong: [says: string, value: unknown, schema: Schema, message: string][] = [
    [
      "text as number",
      "1",
      { type: "number" },
      'x: Invalid value: "string": x in body must be of type number: "string"',
    ],
    [
      "a fraction as integer",
      1.5,
      { type: "integer" },
      'x: Invalid value: "number": x in body must be of type integer: "number"',
    ],
    ["null", null, { type: "object" }, 'x: Invalid value: "null": x in body must be of type object: "null"'],
    [
      "infinity",
      Number.POSITIVE_INFINITY,
      { type: "number" },
      'x: Invalid value: "number": x in body must be of type number: "number"',
    ],
    [
      "too little",
      0,
      { type: "number", minimum: 1 },
      "x: Invalid value: 0: x in body should be greater than or equal to 1",
    ],
    [
      "just too little",
      0,
      { type: "number", minimum: 0, exclusiveMinimum: true },
      "x: Invalid value: 0: x in body should be greater than 0",
    ],
    [
      "too much",
      101,
      { type: "number", maximum: 100 },
      "x: Invalid value: 101: x in body should be less than or equal to 100",
    ],
    ["no multiple", 3, { type: "integer", multipleOf: 2 }, "x: Invalid value: 3: x in body should be a multiple of 2"],
    [
      "too short",
      "",
      { type: "string", minLength: 1 },
      'x: Invalid value: "": x in body should be at least 1 chars long',
    ],
    ["too long", "ab", { type: "string", maxLength: 1 }, "x: Too long: may not be more than 1 bytes"],
    ["no match", "B", { type: "string", pattern: "^a$" }, "x: Invalid value: \"B\": x in body should match '^a$'"],
    [
      "30 February",
      "2030-02-30T00:00:00Z",
      { type: "string", format: "date-time" },
      'x: Invalid value: "2030-02-30T00:00:00Z": x in body must be of type date-time: "2030-02-30T00:00:00Z"',
    ],
    ["no choice", "c", { type: "string", enum: ["a", "b"] }, 'x: Unsupported value: "c": supported values: "a", "b"'],
    ["too many", [1, 2], { type: "array", maxItems: 1 }, "x: Too many: 2: must have at most 1 items"],
    ["too few", [], { type: "array", minItems: 1 }, "x: Invalid value: 0: x in body should have at least 1 items"],
    [
      "an item of a set twice",
      ["a", "a"],
      { type: "array", "x-kubernetes-list-type": "set" },
      'x[1]: Duplicate value: "a"',
    ],
    [
      "a key of a map twice",
      [{ type: "A" }, { type: "A" }],
      { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] },
      'x[1]: Duplicate value: {"type":"A"}',
    ],
    ["a field missing", {}, { type: "object", required: ["a"] }, "x.a: Required value"],
    [
      "a wrong item",
      [1, "b"],
      { type: "array", items: { type: "integer" } },
      'x[1]: Invalid value: "string": x[1] in body must be of type integer: "string"',
    ],
    [
      "a wrong value of a map",
      { k: 1 },
      { type: "object", additionalProperties: { type: "string" } },
      'x.k: Invalid value: "integer": x.k in body must be of type string: "integer"',
    ],
    [
      "too many fields",
      { a: 1, b: 1 },
      { type: "object", maxProperties: 1 },
      "x: Too many: 2: must have at most 1 items",
    ],
  ];
  it.each(wrong)("rejects %s", (_says, value, schema, message) => {
    expect(messages(value, schema)).toEqual([message]);
  });

  it("reports all problems at once", () => {
    const [version] = crdOf(nodeTwinKind).spec.versions;
    const bad = { spec: { nodeName: "", profile: 1, cpu: { packagePowerCapWatts: 0, packagePowerCapPctOfMax: 101 } } };
    const fields = validateValue(bad, version?.schema.openAPIV3Schema as Schema).map(({ field }) => field);
    expect(new Set(fields)).toEqual(
      new Set(["spec.nodeName", "spec.profile", "spec.cpu.packagePowerCapWatts", "spec.cpu.packagePowerCapPctOfMax"]),
    );
  });
});

describe("pruned and defaulted", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      known: { type: "object", properties: { a: { type: "integer", default: 1 } } },
      free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      map: {
        type: "object",
        additionalProperties: { type: "object", properties: { b: { type: "string", default: "x" } } },
      },
      list: { type: "array", items: { type: "object", properties: { c: { type: "boolean", default: false } } } },
      whole: { type: "object", default: {}, properties: { d: { type: "string", default: "y" } } },
    },
  };

  it("prunes unknown fields at every depth and reports their paths", () => {
    const unknown: string[] = [];
    const value = { known: { a: 1, z: 1 }, free: { z: 1 }, map: { k: { z: 1 } }, list: [{ z: 1 }], z: 1 };
    expect(pruned(value, schema, unknown)).toEqual({ known: { a: 1 }, free: { z: 1 }, map: { k: {} }, list: [{}] });
    expect(unknown).toEqual(["known.z", "map.k.z", "list[0].z", "z"]);
  });

  it("sets defaults if the parent exists, and creates parents that have a default", () => {
    expect(defaulted({ known: {}, map: { k: {} }, list: [{}, { c: true }] }, schema)).toEqual({
      known: { a: 1 },
      map: { k: { b: "x" } },
      list: [{ c: false }, { c: true }],
      whole: { d: "y" },
    });
    expect(defaulted({ known: { a: null } }, schema)).toMatchObject({ known: { a: 1 } });
    expect(defaulted({ known: { a: 0 } }, schema)).toMatchObject({ known: { a: 0 } });
  });
});
