import * as z from "zod";
import { JoulieError } from "./errors.ts";
import { describeProblem, examine, ProblemCollector, describeValue } from "./examine.ts";
import type { ResourceKind } from "./kinds.ts";
import { apiVersion } from "./names.ts";
import { isPlainObject } from "./plain-object.ts";
import { rulesOf, withRules } from "./rules.ts";

/** An object to write, whole or the part one field manager applies: spec only, status only. */
export type Writable<Object extends { spec: unknown }> = Omit<Object, "spec"> & Partial<Pick<Object, "spec">>;

type Addressed<Object> = Object & { readonly apiVersion: typeof apiVersion; readonly kind: string };

const writableSchemas = new WeakMap<z.ZodObject, z.ZodObject>();

/** The kind's schema, with a spec that may be left out. */
function writableSchemaOf(schema: z.ZodObject): z.ZodObject {
  const known = writableSchemas.get(schema);
  if (known !== undefined) return known;
  const { spec, ...others } = schema.shape as Record<string, z.ZodType>;
  const writable = withRules(z.object({ ...others, spec: z.optional(spec as z.ZodType) }), ...rulesOf(schema));
  writableSchemas.set(schema, writable);
  return writable;
}

/**
 * Lets an object through to the API, strictly: NaN, Infinity, values out of bounds, unknown choices and fields the schema
 * does not have are refused, because nobody reads an error the API server gives to a program. Adds apiVersion and kind.
 */
export function validateForWrite<Object extends { spec: unknown; metadata: { name: string } }, Part extends Writable<Object>>(
  kind: ResourceKind<Object>,
  object: Part & Writable<Object>,
): Addressed<Part> {
  const findings = new ProblemCollector(true);
  examine(writableSchemaOf(kind.schema), object, "", findings);
  const { problems } = findings;
  // Set last: a caller may carry either as undefined.
  if (problems.length === 0) return { ...object, apiVersion, kind: kind.kind };
  // Types may have been lost on the way here: not even an object is certain.
  const { metadata } = isPlainObject(object) ? object : {};
  const name = isPlainObject(metadata) ? describeValue(metadata.name) : "without metadata";
  throw new JoulieError(
    "JOULIE_E_UNWRITABLE",
    `${kind.kind} ${name} was not written: ${problems.slice(0, 5).map(describeProblem).join("; ")}`,
  );
}
