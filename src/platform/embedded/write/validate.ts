import type { FieldProblem } from "../api/status.ts";
import { fieldSchema, itemElement, type Schema } from "../kinds/schema.ts";
import { equal, isJsonObject, type JsonObject } from "../storage/json.ts";

type Check = (value: unknown, schema: Schema, path: string) => FieldProblem[];

const quoted = (value: unknown): string => JSON.stringify(value) ?? "null";

const wrong = (path: string, value: unknown, message: string): FieldProblem => ({
  field: path,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${quoted(value)}: ${message}`,
});

const isType: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isJsonObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: Number.isInteger,
};

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

const expectedType = ({
  type,
  "x-kubernetes-int-or-string": either,
}: Schema): ((value: unknown) => boolean) | undefined =>
  either === true
    ? (value) => typeof value === "string" || Number.isInteger(value)
    : type === undefined
      ? undefined
      : isType[type];

/** RFC 3339. Like Go, the check below rejects dates such as 30 February. */
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
}

const patterns = new Map<string, RegExp>();
function patternOf(source: string): RegExp {
  const known = patterns.get(source) ?? new RegExp(source, "u");
  patterns.set(source, known);
  return known;
}

const ofNumber: Check = (value, schema, path) => {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  const number = value as number;
  const problems: FieldProblem[] = [];
  const say = (message: string) => problems.push(wrong(path, value, `${path} in body should be ${message}`));
  if (minimum !== undefined && (exclusiveMinimum === true ? number <= minimum : number < minimum)) {
    say(`greater than ${exclusiveMinimum === true ? "" : "or equal to "}${minimum}`);
  }
  if (maximum !== undefined && (exclusiveMaximum === true ? number >= maximum : number > maximum)) {
    say(`less than ${exclusiveMaximum === true ? "" : "or equal to "}${maximum}`);
  }
  if (multipleOf !== undefined && number % multipleOf !== 0) say(`a multiple of ${multipleOf}`);
  return problems;
};

const ofText: Check = (value, { minLength, maxLength, pattern, format }, path) => {
  const text = value as string;
  // Go counts code points.
  const length = Array.from(text).length;
  const problems: FieldProblem[] = [];
  if (minLength !== undefined && length < minLength) {
    problems.push(wrong(path, value, `${path} in body should be at least ${minLength} chars long`));
  }
  if (maxLength !== undefined && length > maxLength) {
    problems.push({
      field: path,
      reason: "FieldValueTooLong",
      message: `Too long: may not be more than ${maxLength} bytes`,
    });
  }
  if (pattern !== undefined && !patternOf(pattern).test(text)) {
    problems.push(wrong(path, value, `${path} in body should match '${pattern}'`));
  }
  if (format === "date-time" && !isDateTime(text)) {
    problems.push(wrong(path, value, `${path} in body must be of type date-time: ${quoted(value)}`));
  }
  return problems;
};

const ofList: Check = (value, schema, path) => {
  const list = value as readonly unknown[];
  const { minItems, maxItems, items } = schema;
  if (maxItems !== undefined && list.length > maxItems) {
    const message = `Too many: ${list.length}: must have at most ${maxItems} items`;
    return [{ field: path, reason: "FieldValueTooMany", message }];
  }
  const problems: FieldProblem[] = [];
  if (minItems !== undefined && list.length < minItems) {
    problems.push(wrong(path, list.length, `${path} in body should have at least ${minItems} items`));
  }
  if (items !== undefined) {
    for (const [index, item] of list.entries()) problems.push(...validateValue(item, items, `${path}[${index}]`));
  }
  return [...problems, ...duplicatesIn(list, schema, path)];
};

function duplicatesIn(list: readonly unknown[], schema: Schema, path: string): FieldProblem[] {
  const type = schema["x-kubernetes-list-type"];
  if (type !== "map" && type !== "set") return [];
  const seen = new Set<string>();
  return list.flatMap((item, index): FieldProblem[] => {
    const element = type === "map" ? itemElement(item, schema).slice(2) : quoted(item);
    if (!seen.has(element)) {
      seen.add(element);
      return [];
    }
    return [{ field: `${path}[${index}]`, reason: "FieldValueDuplicate", message: `Duplicate value: ${element}` }];
  });
}

const ofFields: Check = (value, schema, path) => {
  const fields = value as JsonObject;
  const below = (key: string) => (path === "" ? key : `${path}.${key}`);
  const { minProperties, maxProperties } = schema;
  const size = Object.keys(fields).length;
  const problems: FieldProblem[] = (schema.required ?? [])
    .filter((key) => !Object.hasOwn(fields, key))
    .map((key) => ({ field: below(key), reason: "FieldValueRequired", message: "Required value" }));
  if (minProperties !== undefined && size < minProperties) {
    problems.push(wrong(path, size, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && size > maxProperties) {
    const message = `Too many: ${size}: must have at most ${maxProperties} items`;
    problems.push({ field: path, reason: "FieldValueTooMany", message });
  }
  for (const key of Object.keys(fields)) {
    const inner = fieldSchema(schema, key);
    if (inner !== undefined) problems.push(...validateValue(fields[key], inner, below(key)));
  }
  return problems;
};

const byType: Readonly<Record<string, Check>> = {
  number: ofNumber,
  integer: ofNumber,
  string: ofText,
  array: ofList,
  object: ofFields,
};

/** Validates a value against its schema, with kube-apiserver's messages. */
export function validateValue(value: unknown, schema: Schema, path = ""): FieldProblem[] {
  if (value === null && schema.nullable === true) return [];
  const fits = expectedType(schema);
  if (fits !== undefined && !fits(value)) {
    const expected = schema["x-kubernetes-int-or-string"] === true ? "integer or string" : schema.type;
    const found = typeName(value);
    return [wrong(path, found, `${path} in body must be of type ${expected}: ${quoted(found)}`)];
  }
  if (schema.enum !== undefined && !schema.enum.some((choice) => equal(choice, value))) {
    const supported = schema.enum.map(quoted).join(", ");
    const message = `Unsupported value: ${quoted(value)}: supported values: ${supported}`;
    return [{ field: path, reason: "FieldValueNotSupported", message }];
  }
  const further = schema["x-kubernetes-int-or-string"] === true ? undefined : byType[schema.type ?? ""];
  return further === undefined ? [] : further(value, schema, path);
}
