import { z } from "zod";
import { expectations } from "./fields.ts";

/** The bounds zod keeps of a number's, a text's or a list's checks. */
interface Bounds {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

// oxlint-disable-next-line no-underscore-dangle -- the only place where zod tells an exclusive bound from an inclusive one
const boundsOf = (schema: z.ZodType): Bounds => schema._zod.bag;

function numberText(schema: z.ZodNumber): string {
  const { minimum = -Infinity, exclusiveMinimum, maximum = Infinity } = boundsOf(schema);
  const name = schema.isInt ? "a whole number" : "a number";
  const least = exclusiveMinimum === undefined ? `>= ${minimum}` : `> ${exclusiveMinimum}`;
  const bounds = [
    ...(Math.abs(minimum) < Number.MAX_SAFE_INTEGER || exclusiveMinimum !== undefined ? [least] : []),
    ...(maximum < Number.MAX_SAFE_INTEGER ? [`<= ${maximum}`] : []),
  ];
  return [name, bounds.join(" and ")].filter((part) => part !== "").join(" ");
}

/** What a value has to be, for people: `a number > 0 and <= 100`, `one of performance, eco`. */
export function expectationOf(schema: z.ZodType): string {
  const own = expectations.get(schema)?.text;
  if (own !== undefined) return own;
  const { maximum } = boundsOf(schema);
  if (schema instanceof z.ZodOptional) return expectationOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodNumber || schema instanceof z.ZodNumberFormat) return numberText(schema);
  if (schema instanceof z.ZodEnum) return `one of ${schema.options.join(", ")}`;
  if (schema instanceof z.ZodLiteral) return [...schema.values].join(" or ");
  if (schema instanceof z.ZodBoolean) return "true or false";
  if (schema instanceof z.ZodISODateTime) return "a timestamp such as 2030-01-31T12:00:00Z";
  if (schema instanceof z.ZodString) return maximum === undefined ? "text" : `text of at most ${maximum} characters`;
  if (schema instanceof z.ZodArray) {
    const items = schema.meta()?.["x-kubernetes-list-type"] === "atomic" ? "items" : "distinct items";
    return maximum === undefined ? "a list" : `a list of at most ${maximum} ${items}`;
  }
  return "an object";
}
