import * as z from "zod";
import { JoulieError } from "./errors.ts";
import type { ResourceKind } from "./kinds.ts";
import { objectMetadata } from "./metadata.ts";
import { apiVersion } from "./names.ts";
import { isPlainObject } from "./object-shape.ts";
import { rulesOf, withRules } from "./rules.ts";

/** An object to write: complete, or the part that one field manager applies (spec only, status only). */
export type Writable<Object extends { spec: unknown }> = Omit<Object, "spec"> & Partial<Pick<Object, "spec">>;

type Addressed<Object> = Object & { readonly apiVersion: typeof apiVersion; readonly kind: string };

const writableSchemas = new WeakMap<z.ZodObject, z.ZodObject>();

/** The schema of the kind with an optional spec. */
function writableSchemaOf(schema: z.ZodObject): z.ZodObject {
  const known = writableSchemas.get(schema);
  if (known !== undefined) return known;
  const { spec, ...others } = schema.shape as Record<string, z.ZodType>;
  const writable = withRules(z.object({ ...others, spec: z.optional(spec as z.ZodType) }), ...rulesOf(schema));
  writableSchemas.set(schema, writable);
  return writable;
}

/**
 * Validates an object strictly before it is written to the API: it rejects NaN, Infinity, values out of bounds, unknown
 * enum values and unknown fields. The API server would reject them too, but less visibly. Adds apiVersion and kind.
 */
export function validateForWrite<
  Object extends { spec: unknown; metadata: { name: string } },
  Part extends Writable<Object>,
>(kind: ResourceKind<Object>, object: Part & Writable<Object>): Addressed<Part> {
  const schema = writableSchemaOf(kind.schema);
  const { error } = schema.safeParse(object);
  const invalid = error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
  const problems = [...invalid, ...unknownFieldsIn(schema, object).map((path) => `${path}: no such field`)];
  // Set last, because a caller may pass either as undefined.
  if (problems.length === 0) return { ...object, apiVersion, kind: kind.kind };
  const what = `${kind.kind} ${object?.metadata?.name ?? "without metadata"} was not written`;
  throw new JoulieError("JOULIE_E_UNWRITABLE", `${what}: ${problems.slice(0, 5).join("; ")}`);
}

/** Paths of fields that the schema does not define. Kubernetes defines the metadata; it has fields that Joulie does not list. */
function unknownFieldsIn(schema: z.ZodType, value: unknown): string[] {
  if (schema instanceof z.ZodOptional) return unknownFieldsIn(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.flatMap((item) => unknownFieldsIn(schema.element as z.ZodType, item));
  if (!(schema instanceof z.ZodObject) || !isPlainObject(value) || schema === objectMetadata) return [];
  const fields = schema.shape as Readonly<Record<string, z.ZodType>>;
  return Object.entries(value).flatMap(([key, item]) => {
    const field = fields[key];
    if (field !== undefined) return unknownFieldsIn(field, item).map((path) => `${key}.${path}`);
    return item === undefined ? [] : [key];
  });
}
