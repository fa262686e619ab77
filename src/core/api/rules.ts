import * as z from "zod";
import { isNotNullish, isPlainObject, type PlainObject } from "./plain-object.ts";

/**
 * A condition no single field can say: the check in this process beside the CEL text the API server runs. Where fields are
 * named, both come from the same names; `namedAfterNode` says the same thing twice by hand, so change both or neither.
 */
export interface ValidationRule {
  readonly cel: string;
  readonly message: string;
  readonly holds: (value: PlainObject) => boolean;
  /** What a reader does with a value that breaks the rule: `drop` where it means nothing, `keep` where its parts still do. */
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

/** A block in which neither field is given asks for nothing. */
export function needsOneOf(...fields: readonly [string, string, ...string[]]): ValidationRule {
  return {
    cel: fields.map((field) => `has(self.${field})`).join(" || "),
    message: `expected at least one of ${fields.join(", ")}`,
    holds: (value) => fields.some((field) => isNotNullish(value[field])),
    onRead: "drop",
  };
}

/** `field` (required in its schema) set to `text` makes another field necessary. */
export function needsWhen(field: string, text: string, needed: string): ValidationRule {
  return {
    cel: `self.${field} != '${text}' || has(self.${needed})`,
    message: `expected ${needed} where ${field} is ${text}`,
    holds: (value) => value[field] !== text || isNotNullish(value[needed]),
    onRead: "keep",
  };
}

/** The object of a node carries the node's own name, dots included, never a sanitized copy. */
export const namedAfterNode: ValidationRule = {
  cel: "self.metadata.name == self.spec.nodeName",
  message: "expected metadata.name to be spec.nodeName",
  holds: ({ metadata, spec }) => !isPlainObject(spec) || (isPlainObject(metadata) && metadata.name === spec.nodeName),
  onRead: "keep",
};
