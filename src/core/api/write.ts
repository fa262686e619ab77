import * as z from "zod";
import { JoulieError } from "./errors.ts";
import { describeProblem, describeValue, examine, ProblemCollector } from "./examine.ts";
import type { ResourceKind } from "./kinds.ts";
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
  const findings = new ProblemCollector(true);
  examine(writableSchemaOf(kind.schema), object, "", findings);
  const { problems } = findings;
  // Set last, because a caller may pass either as undefined.
  if (problems.length === 0) return { ...object, apiVersion, kind: kind.kind };
  // The caller's types may be wrong; the value may not even be an object.
  const { metadata } = isPlainObject(object) ? object : {};
  const name = isPlainObject(metadata) ? describeValue(metadata.name) : "without metadata";
  throw new JoulieError(
    "JOULIE_E_UNWRITABLE",
    `${kind.kind} ${name} was not written: ${problems.slice(0, 5).map(describeProblem).join("; ")}`,
  );
}
