import * as z from "zod";
import { expectations } from "./fields.ts";

function numberText({ type, minimum, exclusiveMinimum, maximum }: z.core.JSONSchema.BaseSchema): string {
  const bounds = [
    ...(minimum === undefined ? [] : [`>= ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [`<= ${maximum}`]),
  ];
  const name = type === "integer" ? "a whole number" : "a number";
  return bounds.length === 0 ? name : `${name} ${bounds.join(" and ")}`;
}

/** Describes the allowed values for messages: `a number > 0 and <= 100`, `one of performance, eco`. */
export function expectationOf(schema: z.core.$ZodType): string {
  const own = expectations.get(schema)?.text;
  if (own !== undefined) return own;
  if (schema instanceof z.ZodOptional) return expectationOf(schema.unwrap());
  if (schema instanceof z.ZodObject) return "an object";
  const json = z.toJSONSchema(schema);
  if (json.enum !== undefined) return `one of ${json.enum.join(", ")}`;
  if (json.const !== undefined) return String(json.const);
  if (json.format === "date-time") return "a timestamp such as 2030-01-31T12:00:00Z";
  if (json.type === "number" || json.type === "integer") return numberText(json);
  if (json.type === "boolean") return "true or false";
  if (json.type === "string")
    return json.maxLength === undefined ? "text" : `text of at most ${json.maxLength} characters`;
  const items = json["x-kubernetes-list-type"] === "atomic" ? "items" : "distinct items";
  return json.maxItems === undefined ? "a list" : `a list of at most ${json.maxItems} ${items}`;
}
