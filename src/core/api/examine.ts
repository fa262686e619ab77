import * as z from "zod";
import { abridged } from "../units/index.ts";
import { expectations, listBounds, readFallbacks, stringMap } from "./fields.ts";
import { objectMetadata } from "./metadata.ts";
import { isPlainObject, type PlainObject } from "./object-shape.ts";
import { rulesOf } from "./rules.ts";

/** One problem of an object: the path of the field, a description of its value, and what the schema expects. */
export interface ObjectProblem {
  readonly path: string;
  readonly text: string;
  readonly expected: string;
}

export const describeProblem = ({ path, text, expected }: ObjectProblem): string =>
  `${path === "" ? "the object" : path} is ${text}, expected ${expected}`;

/** A short description of any value. Objects are not printed, because input may be nested to any depth. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(abridged(value));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isPlainObject(value)) return "an object";
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return value === undefined ? "missing" : `a ${typeof value}`;
}

const maxProblems = 50;

/** Collects the problems of an object. It retains the first ones and counts the rest, so that no input can flood a log. */
export class ProblemCollector {
  /** Whether null values and unknown fields count as problems too. */
  readonly strict: boolean;
  readonly #kept: ObjectProblem[] = [];
  #further = 0;

  constructor(strict: boolean) {
    this.strict = strict;
  }

  add(path: string, value: unknown, expected: string | z.ZodType): void {
    if (this.full) {
      this.#further++;
      return;
    }
    const expectation = typeof expected === "string" ? expected : expectationOf(expected);
    this.#kept.push({ path, text: describeValue(value), expected: expectation });
  }

  get full(): boolean {
    return this.#kept.length >= maxProblems;
  }

  get problems(): readonly ObjectProblem[] {
    if (this.#further === 0) return this.#kept;
    return [...this.#kept, { path: "(elsewhere)", text: `${this.#further} more problems`, expected: "none" }];
  }
}

/**
 * Validates a value against its schema and returns the usable part. It never descends deeper than the schema. A part that
 * violates its type, bound or enum is left out. A required part is replaced by its fallback, or its parent is left out too.
 * Unknown fields are retained.
 */
export function examine(schema: z.ZodType, value: unknown, path: string, findings: ProblemCollector): unknown {
  if (schema instanceof z.ZodOptional) return examine(schema.unwrap() as z.ZodType, value, path, findings);
  if (schema instanceof z.ZodObject) {
    if (isPlainObject(value)) return examineObject(schema, value, path, findings);
  } else if (schema instanceof z.ZodArray) {
    if (Array.isArray(value)) return examineList(schema, value, path, findings);
  } else if (schema === stringMap) {
    if (isPlainObject(value)) return examineTexts(value, path, findings);
  } else if (schema.safeParse(value).success) {
    return value;
  }
  findings.add(path, value, schema);
  return undefined;
}

function examineObject(schema: z.ZodObject, value: PlainObject, path: string, findings: ProblemCollector) {
  const usable: Record<string, unknown> = { ...value };
  let complete = true;
  for (const [key, child] of Object.entries(schema.shape) as [string, z.ZodType][]) {
    const childPath = path === "" ? key : `${path}.${key}`;
    const given = value[key];
    const absent = given === undefined || (given === null && !findings.strict);
    const read = absent ? undefined : examine(child, given, childPath, findings);
    if (read !== undefined) {
      usable[key] = read;
      continue;
    }
    delete usable[key];
    if (child instanceof z.ZodOptional) continue;
    if (absent) findings.add(childPath, undefined, child);
    const fallback = readFallbacks.get(child)?.value;
    if (fallback === undefined) complete = false;
    else usable[key] = structuredClone(fallback);
  }
  if (findings.strict) {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(schema.shape, key) || value[key] === undefined) continue;
      const childPath = path === "" ? key : `${path}.${key}`;
      // Kubernetes defines the metadata; it has fields that Joulie does not list.
      if (schema === objectMetadata) examineJson(value[key], childPath, findings);
      else findings.add(childPath, value[key], "no such field");
    }
  }
  if (!complete) return undefined;
  for (const rule of rulesOf(schema)) {
    if (rule.holds(usable)) continue;
    findings.add(path, value, rule.message.replace(/^expected /, ""));
    if (rule.onRead === "drop") return undefined;
  }
  return usable;
}

/** Deeper than the managedFields of any object. The limit also ends cycles. */
const deepestJson = 32;

/** Finds values that JSON.stringify would change silently: it turns NaN and holes in lists into null and drops functions. */
function examineJson(value: unknown, path: string, findings: ProblemCollector, depth = 0): void {
  if (findings.full) return;
  if (depth > deepestJson) return findings.add(path, value, `at most ${deepestJson} levels`);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) examineJson(item, `${path}[${index}]`, findings, depth + 1);
  } else if (isPlainObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (item !== undefined) examineJson(item, `${path}.${key}`, findings, depth + 1);
    }
  } else if (value !== null && typeof value !== "string" && typeof value !== "boolean" && !Number.isFinite(value)) {
    findings.add(path, value, "a JSON value");
  }
}

/** Retains the usable items: the first of each key, and at most as many as the list may hold. */
function examineList(schema: z.ZodArray, value: readonly unknown[], path: string, findings: ProblemCollector) {
  const element = schema.element as z.ZodType;
  const { longest = Infinity, distinct } = listBounds.get(schema) ?? {};
  if (value.length > longest) findings.add(path, value, schema);
  const usable: unknown[] = [];
  const keys = new Set<unknown>();
  // The sender chooses the length of the list, so items beyond the bound are checked only until the report is full.
  let looks = longest + maxProblems;
  for (const [index, item] of value.entries()) {
    if (usable.length === longest || looks === 0) break;
    if (item === null && !findings.strict) continue;
    looks--;
    const read = examine(element, item, `${path}[${index}]`, findings);
    if (read === undefined) continue;
    const key = distinct?.keyOf(read);
    if (distinct !== undefined && keys.has(key)) {
      findings.add(`${path}[${index}]`, key, distinct.wanted);
      continue;
    }
    keys.add(key);
    usable.push(read);
  }
  return usable;
}

/** Input may contain thousands of bad labels, so the check of each one has to be cheap. */
function examineTexts(value: PlainObject, path: string, findings: ProblemCollector) {
  const usable = Object.entries(value).filter(([key, item]) => {
    if (typeof item === "string") return true;
    findings.add(`${path}[${describeValue(key)}]`, item, "text");
    return false;
  });
  return Object.fromEntries(usable);
}

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
