import * as z from "zod";
import { isLabelKey, isLabelValue } from "../../../core/api/index.ts";
import type { FieldProblem } from "../api/status.ts";
import { fieldSchema, type Schema } from "../kinds/builtin-schemas.ts";
import { at, isJsonObject, type JsonObject, jsonObjectOr } from "../storage/json.ts";

/** Fills in the schema's defaults, and lists what does not fit the schema in kube-apiserver's words. */
export function validateValue(
  value: unknown,
  schema: Schema,
): { readonly value: unknown; readonly problems: readonly FieldProblem[] } {
  const parsed = validatorOf(schema).safeParse(value);
  if (parsed.success) return { value: parsed.data, problems: [] };
  return { value, problems: parsed.error.issues.map((issue) => problemOf(issue, value)) };
}

const validators = new WeakMap<Schema, z.ZodType>();

function validatorOf(schema: Schema): z.ZodType {
  const cached = validators.get(schema);
  if (cached !== undefined) return cached;
  const validator = z.fromJSONSchema(schema as z.core.JSONSchema.Schema, { defaultTarget: "openapi-3.0" });
  validators.set(schema, validator);
  return validator;
}

function problemOf(issue: z.core.$ZodIssue, root: unknown): FieldProblem {
  const field = issue.path.reduce<string>(fieldBelow, "");
  const value = at(root, ...issue.path.map(String));
  if (value === undefined) return { field, reason: "FieldValueRequired", message: "Required value" };
  if (issue.code === "invalid_value") {
    const supported = issue.values.map((choice) => JSON.stringify(choice)).join(", ");
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`;
    return { field, reason: "FieldValueNotSupported", message };
  }
  const message = `Invalid value: ${JSON.stringify(value)}: ${field} in body: ${issue.message}`;
  return { field, reason: "FieldValueInvalid", message };
}

function fieldBelow(path: string, key: PropertyKey): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return path === "" ? String(key) : `${path}.${String(key)}`;
}

const keepsUnknown = (schema: Schema): boolean =>
  schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;

/** Removes the fields that the schema does not define, and adds their paths to `unknown`. */
export function pruned(value: unknown, schema: Schema, unknown: string[], path = ""): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item, index) => pruned(item, items, unknown, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return value;
  // Other code validates objects whose schema defines no fields, such as metadata.
  if (schema.properties === undefined && schema.additionalProperties === undefined) {
    if (keepsUnknown(schema) || schema.type !== "object") return value;
  }
  const kept: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const below = path === "" ? key : `${path}.${key}`;
    const inner = fieldSchema(schema, key);
    if (inner !== undefined) kept.push([key, pruned(value[key], inner, unknown, below)]);
    else if (keepsUnknown(schema)) kept.push([key, value[key]]);
    else unknown.push(below);
  }
  return Object.fromEntries(kept);
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const invalid = (field: string, value: unknown, why: string): FieldProblem => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value) ?? "null"}: ${why}`,
});

function nameProblems({ name }: JsonObject): FieldProblem[] {
  if (typeof name !== "string" || name === "") {
    const message = "Required value: name or generateName is required";
    return [{ field: "metadata.name", reason: "FieldValueRequired", message }];
  }
  if (name.length <= 253 && SUBDOMAIN.test(name)) return [];
  const why =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [invalid("metadata.name", name, why)];
}

const labelProblems = ({ labels }: JsonObject): FieldProblem[] =>
  Object.entries(jsonObjectOr(labels)).flatMap(([key, value]) => {
    if (!isLabelKey(key)) return [invalid("metadata.labels", key, "name part must be a qualified name")];
    if (typeof value === "string" && isLabelValue(value)) return [];
    return [invalid("metadata.labels", value, "a valid label has at most 63 alphanumeric characters, '-', '_' or '.'")];
  });

export const metadataProblems = (metadata: JsonObject): FieldProblem[] => [
  ...nameProblems(metadata),
  ...labelProblems(metadata),
];
