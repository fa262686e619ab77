import * as z from "zod";
import { isNotNullish, isPlainObject, type PlainObject } from "./object-shape.ts";

/**
 * A validation that involves several fields: the check in this process, and the CEL expression for the API server. Rules
 * with field names derive both from the same names. `namedAfterNode` states both by hand, so change both together.
 */
export interface ValidationRule {
  readonly cel: string;
  readonly message: string;
  readonly holds: (value: PlainObject) => boolean;
  /** What a reader does with a value that violates the rule: `drop` it, or `keep` it because its parts are still usable. */
  readonly onRead: "drop" | "keep";
}

const rules = z.registry<{ rules: readonly ValidationRule[] }>();

export const rulesOf = (schema: z.core.$ZodType): readonly ValidationRule[] => rules.get(schema)?.rules ?? [];

export function withRules<Schema extends z.ZodObject>(schema: Schema, ...added: readonly ValidationRule[]): Schema {
  let checked = schema;
  for (const rule of added) checked = checked.refine((value) => rule.holds(value), { message: rule.message });
  rules.add(checked, { rules: added });
  return checked;
}

/** Requires at least one of the fields: a block without any of them is meaningless. */
export function needsOneOf(...fields: readonly [string, string, ...string[]]): ValidationRule {
  return {
    cel: fields.map((field) => `has(self.${field})`).join(" || "),
    message: `expected at least one of ${fields.join(", ")}`,
    holds: (value) => fields.some((field) => isNotNullish(value[field])),
    onRead: "drop",
  };
}

/** Requires exactly one of the fields: several of them would contradict each other. */
export function needsExactlyOneOf(...fields: readonly [string, string, ...string[]]): ValidationRule {
  return {
    cel: `${fields.map((field) => `(has(self.${field}) ? 1 : 0)`).join(" + ")} == 1`,
    message: `expected exactly one of ${fields.join(", ")}`,
    holds: (value) => fields.filter((field) => isNotNullish(value[field])).length === 1,
    onRead: "keep",
  };
}

/** Requires `needed` if `field` (required by its schema) has the value `text`. */
export function needsWhen(field: string, text: string, needed: string): ValidationRule {
  return {
    cel: `self.${field} != '${text}' || has(self.${needed})`,
    message: `expected ${needed} where ${field} is ${text}`,
    holds: (value) => value[field] !== text || isNotNullish(value[needed]),
    onRead: "keep",
  };
}

/** The object of a node has exactly the node's name, including dots. */
export const namedAfterNode: ValidationRule = {
  cel: "self.metadata.name == self.spec.nodeName",
  message: "expected metadata.name to be spec.nodeName",
  holds: ({ metadata, spec }) => !isPlainObject(spec) || (isPlainObject(metadata) && metadata.name === spec.nodeName),
  onRead: "keep",
};
