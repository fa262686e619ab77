import { crdOf, type StructuralSchema } from "../crd.ts";
import { JoulieError } from "../errors.ts";
import type { AnyKind, ResourceKind } from "../kinds.ts";
import { apiVersion } from "../names.ts";
import type { NodeTwin } from "../node-twin.ts";
import { readObject } from "../read.ts";
import { validateForWrite } from "../write.ts";

/** Example texts; every pattern of the schemas matches one of them. */
const texts = ["worker-1.example", "http://host/{node}", "Ready"];

/** The fields that one object can have together: of mutually exclusive fields the first. */
function compatibleFields(schema: StructuralSchema): [string, StructuralSchema][] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  const excluded = rules.flatMap(
    ({ message }) => message.split("expected exactly one of ")[1]?.split(", ").slice(1) ?? [],
  );
  return Object.entries(schema.properties ?? {}).filter(([name]) => !excluded.includes(name));
}

function sampleValue(schema: StructuralSchema): unknown {
  const { type, properties, items, minimum = 0, maximum = 720 } = schema;
  if (properties !== undefined) {
    return Object.fromEntries(compatibleFields(schema).map(([name, field]) => [name, sampleValue(field)]));
  }
  if (items !== undefined) return [sampleValue(items)];
  if (type === "boolean") return true;
  if (type === "number" || type === "integer") return Math.floor((minimum + maximum) / 2);
  if (schema.format === "date-time") return "2030-01-31T12:00:00Z";
  return schema.enum?.[0] ?? texts.find((text) => new RegExp(schema.pattern ?? "").test(text));
}

/** The schema of the whole object, as the API server applies it. */
export function rootSchemaOf(kind: AnyKind): StructuralSchema {
  const [version] = crdOf(kind).spec.versions;
  if (version === undefined) throw new TypeError(`${kind.kind} has no version`);
  return version.schema.openAPIV3Schema;
}

/** A valid object of the kind with every compatible field set, generated from its schema, so that tests cover all fields. */
export function sampleOf<Object>(kind: ResourceKind<Object>): Object {
  const sample = sampleValue(rootSchemaOf(kind)) as Record<string, unknown>;
  return { ...sample, apiVersion, kind: kind.kind, metadata: { name: texts[0] } } as Object;
}

export interface Leaf {
  readonly path: readonly (string | number)[];
  readonly schema: StructuralSchema;
}

/** Every field of the kind that contains a single value. Of a list it is the first item. */
export function leavesOf(kind: AnyKind): Leaf[] {
  const { spec, status } = rootSchemaOf(kind).properties ?? {};
  const walk = (schema: StructuralSchema | undefined, path: Leaf["path"]): Leaf[] => {
    if (schema === undefined) return [];
    if (schema.items !== undefined) return walk(schema.items, [...path, 0]);
    if (schema.properties === undefined) return [{ path, schema }];
    return compatibleFields(schema).flatMap(([name, field]) => walk(field, [...path, name]));
  };
  return [...walk(spec, ["spec"]), ...walk(status, ["status"])];
}

export const isNumeric = ({ schema }: Leaf): boolean => schema.type === "number" || schema.type === "integer";

/** The path in the notation of `Problem`. */
export const pathText = (path: Leaf["path"]): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .slice(1);

/** A copy of the object with another value at the path. */
export function withValueAt<Object>(object: Object, path: Leaf["path"], value: unknown): Object {
  const copy = structuredClone(object);
  let parent = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, unknown>;
  parent[path.at(-1) ?? ""] = value;
  return copy;
}

/** Reads a value that must be readable. */
export function readingOf<Object>(kind: ResourceKind<Object>, value: unknown): Object {
  const reading = readObject(kind, value);
  if (!reading.ok) throw new Error(reading.error);
  return reading.value;
}

/** The error message of the writer for an object of any type. */
export function refusal(kind: AnyKind, object: unknown): string | undefined {
  try {
    validateForWrite(kind as ResourceKind<NodeTwin>, object as NodeTwin);
    return undefined;
  } catch (error) {
    if (error instanceof JoulieError && error.code === "JOULIE_E_UNWRITABLE") return error.message;
    throw error;
  }
}
