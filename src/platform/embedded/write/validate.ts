import * as z from "zod";
import type { FieldProblem } from "../api/status.ts";
import type { Schema } from "../kinds/schema.ts";
import { at } from "../storage/json.ts";

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
