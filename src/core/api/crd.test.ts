import { describe, expect, it } from "vitest";
import * as z from "zod";
import { crdOf, type StructuralSchema, structuralSchemaOf } from "./crd.ts";
import { power } from "./fields.ts";
import { kinds, nodeTwinKind, telemetryProfileKind } from "./kinds.ts";
import { readObject } from "./read.ts";
import { needsOneOf, rulesOf, withRules } from "./rules.ts";
import { rootSchemaOf, sampleOf } from "./testing/sample.ts";
import { validateForWrite } from "./write.ts";

/** Every schema in the tree with its path, root included. */
function everySchema(schema: StructuralSchema, path = ""): [string, StructuralSchema][] {
  const properties = Object.entries(schema.properties ?? {});
  return [
    [path, schema],
    ...properties.flatMap(([name, field]) => everySchema(field, `${path}.${name}`)),
    ...(schema.items === undefined ? [] : everySchema(schema.items, `${path}[]`)),
  ];
}

function at(schema: StructuralSchema, path: string): StructuralSchema | undefined {
  let here: StructuralSchema | undefined = schema;
  for (const name of path.split(".").filter((part) => part !== "")) here = here?.properties?.[name];
  return here;
}

/** The rules of a structural schema, which Kubernetes checks only when the CRD is applied. */
function structuralFaults(root: StructuralSchema): string[] {
  const types = ["object", "array", "string", "number", "integer", "boolean"];
  return everySchema(root).flatMap(([path, schema]) => {
    const unwanted = [
      "$ref",
      "$schema",
      "anyOf",
      "allOf",
      "oneOf",
      "not",
      "nullable",
      "additionalProperties",
      "default",
    ];
    const keys = schema["x-kubernetes-list-map-keys"] ?? [];
    const listType = schema["x-kubernetes-list-type"];
    const isList = schema.type === "array";
    return [
      ...(types.includes(schema.type) ? [] : ["has no type"]),
      ...Object.keys(schema).filter((key) => unwanted.includes(key)),
      ...(isList === (schema.items !== undefined) ? [] : ["array and items go together"]),
      ...(isList === (listType !== undefined) ? [] : ["array and list type go together"]),
      ...(isList && !["atomic", "set", "map"].includes(listType ?? "") ? ["has an unknown list type"] : []),
      ...(listType === "set" && schema.items?.type === "object" ? ["is a set of objects"] : []),
      ...((listType === "map") === keys.length > 0 ? [] : ["map list and keys go together"]),
      ...keys
        .filter((key) => schema.items?.required?.includes(key) !== true)
        .map((key) => `key ${key} is not required`),
      ...(schema.required ?? []).filter((name) => schema.properties?.[name] === undefined),
      ...(schema.type !== "object" && schema.properties !== undefined ? ["has properties but is no object"] : []),
      ...(schema.exclusiveMinimum === true && schema.minimum === undefined ? ["is exclusive of nothing"] : []),
      ...(typeof (schema.exclusiveMinimum ?? false) === "boolean" ? [] : ["exclusiveMinimum is not a boolean"]),
      ...(path === ".metadata" || (schema.description ?? "").endsWith(".") ? [] : ["has no sentence as description"]),
    ].map((fault) => `${path}: ${fault}`);
  });
}

describe.each(kinds.map((kind) => [kind.kind, kind] as const))("the CRD of %s", (_, kind) => {
  const crd = crdOf(kind);
  const root = rootSchemaOf(kind);

  it("is structural, with a description on every field", () => {
    expect(structuralFaults(root)).toEqual([]);
    expect(everySchema(root).length).toBeGreaterThan(5);
  });

  it("is a plain object that survives JSON", () => {
    expect(JSON.parse(JSON.stringify(crd))).toEqual(crd);
  });

  it("serves one cluster-scoped version under its names", () => {
    expect(crd.metadata.name).toBe(`${kind.plural}.joulie.io`);
    expect(crd.spec).toMatchObject({ group: "joulie.io", scope: "Cluster", names: { shortNames: kind.shortNames } });
    expect(crd.spec.versions).toMatchObject([{ name: "v1alpha1", served: true, storage: true }]);
    expect(crd.spec.versions[0]?.subresources).toEqual(kind.statusSubresource ? { status: {} } : undefined);
  });

  it("has columns and selectable fields that exist", () => {
    const paths = [...kind.columns.map(({ jsonPath }) => jsonPath), ...(kind.selectableFields ?? [])];
    const missing = paths.filter((path) => !path.startsWith(".metadata.") && at(root, path) === undefined);
    expect(missing).toEqual([]);
    for (const { name, type, jsonPath } of kind.columns) {
      const field = at(root, jsonPath);
      expect([name, type]).toEqual([name, field?.format === "date-time" || field === undefined ? "date" : field.type]);
    }
  });

  it("has CEL rules that name only fields that exist, guard the optional ones and compare only bounded text", () => {
    for (const [path, schema] of everySchema(root)) {
      for (const { rule, message } of schema["x-kubernetes-validations"] ?? []) {
        expect(message).not.toBe("");
        const uses = [...rule.matchAll(/(has\()?self\.([\w.]+)/g)];
        expect(uses.length).toBeGreaterThan(0);
        for (const [, has, field = ""] of uses) {
          if (path === "" && field === "metadata.name") continue;
          const used = at(schema, field);
          expect(used, `${path}: ${field} in ${rule}`).toBeDefined();
          if (has !== undefined) continue;
          const [first = ""] = field.split(".");
          expect(schema.required, `${path}: ${field} is read without has()`).toContain(first);
          expect(used?.maxLength ?? used?.enum?.length, `${path}: ${field} is unbounded`).toBeDefined();
        }
      }
    }
  });
});

describe("crdOf", () => {
  it("contains the rules that the process checks", () => {
    const rules = kinds.map((kind) => rootSchemaOf(kind)["x-kubernetes-validations"]?.map(({ rule }) => rule) ?? []);
    expect(rules).toEqual([
      ["self.metadata.name == self.spec.nodeName"],
      ["self.metadata.name == self.spec.nodeName"],
      ["self.metadata.name == self.spec.nodeName"],
      [],
      ["self.metadata.name == self.spec.nodeName"],
    ]);
    const celAt = (path: string) => at(rootSchemaOf(nodeTwinKind), path)?.["x-kubernetes-validations"]?.[0]?.rule;
    expect(celAt("spec.cpu")).toBe("has(self.packagePowerCapWatts) || has(self.packagePowerCapPctOfMax)");
    expect(celAt("spec.gpu.powerCap")).toBe("has(self.capWattsPerGpu) || has(self.capPctOfMax)");
    const target = at(rootSchemaOf(telemetryProfileKind), "spec.target");
    expect(target?.["x-kubernetes-validations"]?.[0]?.rule).toBe("self.scope != 'node' || has(self.nodeName)");
  });

  it("writes bounds as OpenAPI 3.0 does and conditions as a map list", () => {
    const root = rootSchemaOf(nodeTwinKind);
    expect(at(root, "spec.cpu.packagePowerCapPctOfMax")).toMatchObject({
      minimum: 0,
      exclusiveMinimum: true,
      maximum: 100,
    });
    expect(at(root, "spec.cpu.packagePowerCapWatts")).toMatchObject({ type: "number", minimum: 1 });
    expect(at(root, "status.powerMeasurement.powerTrendWPerMin")?.minimum).toBeUndefined();
    expect(at(root, "status.powerMeasurement.measuredAt")).toMatchObject({ type: "string", format: "date-time" });
    expect(at(root, "status.conditions")).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    });
  });

  it("rejects a schema without a structural form", () => {
    expect(() => structuralSchemaOf(z.union([z.string(), z.number()]))).toThrow("anyOf");
  });
});

describe("one schema source", () => {
  const spec = nodeTwinKind.schema.shape.spec as z.ZodObject;
  const changed = {
    ...nodeTwinKind,
    schema: withRules(
      nodeTwinKind.schema.safeExtend({
        spec: withRules(
          z.object({ ...spec.shape, rackBudgetW: power("Budget of the rack, in watts.") }),
          needsOneOf("rackBudgetW", "cpu"),
        ),
      }) as unknown as typeof nodeTwinKind.schema,
      ...rulesOf(nodeTwinKind.schema),
    ),
  };

  it("X-01 yields CRD, reader and writer: a new field and rule reach all three", () => {
    expect(at(rootSchemaOf(changed), "spec.rackBudgetW")).toMatchObject({ type: "number", minimum: 0 });
    expect(at(rootSchemaOf(nodeTwinKind), "spec.rackBudgetW")).toBeUndefined();
    const sample = sampleOf(nodeTwinKind);
    expect(() => validateForWrite(changed, sample)).toThrow("spec.rackBudgetW: Invalid input");
    expect(readObject(changed, { ...sample, spec: { ...sample.spec, rackBudgetW: -1 } }).ok).toBe(false);
    expect(readObject(changed, { ...sample, spec: { ...sample.spec, rackBudgetW: 1 } }).ok).toBe(true);
  });
});
