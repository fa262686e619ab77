import { fail, ok, type Result } from "../units/index.ts";
import { describeValue, examine, expectationOf, type ObjectProblem, ProblemCollector } from "./examine.ts";
import type { ResourceKind } from "./kinds.ts";
import { objectMetadata } from "./metadata.ts";
import { apiGroup, apiVersion } from "./names.ts";
import { isNotNullish, isPlainObject, type PlainObject } from "./object-shape.ts";

export interface ReadObject<Object> {
  readonly object: Object;
  /** Values that were left out or replaced by their fallback; empty for a valid object. */
  readonly dropped: readonly ObjectProblem[];
}

/**
 * Reads an object from outside and tolerates errors: unknown fields are retained, null means absent, and an invalid field
 * affects only itself. A valid object is returned as it is, not copied. An object of another kind or without a usable name
 * is rejected.
 */
export function readObject<Object>(
  kind: ResourceKind<Object>,
  value: unknown,
): Result<ReadObject<Object>, ObjectProblem> {
  const renamed = withoutAliases(kind, value);
  if (isValid(kind, renamed)) return ok({ object: renamed, dropped: [] });
  return salvage(kind, renamed);
}

/** Reads an object of a watch as one of our kinds; throws if it is not one. The reflector reports the error. */
export const readAs =
  <Value>(kind: ResourceKind<Value>) =>
  (object: { readonly metadata: { readonly name: string } }): Value => {
    const reading = readObject(kind, object);
    if (reading.ok) return reading.value.object;
    throw new Error(`${kind.kind} ${object.metadata.name}: ${reading.error.path} is not ${reading.error.expected}`);
  };

function isValid<Object>(kind: ResourceKind<Object>, value: unknown): value is Object {
  return kind.schema.safeParse(value).success;
}

function salvage<Object>(kind: ResourceKind<Object>, value: unknown): Result<ReadObject<Object>, ObjectProblem> {
  const refuse = (path: string, found: unknown, expected: string) =>
    fail({ path, text: describeValue(found), expected });
  if (!isPlainObject(value)) return refuse("", value, `a ${kind.kind}`);
  const { metadata } = value;
  // Items of a list carry neither apiVersion nor kind. Other versions of the API group contain the same objects.
  if (isNotNullish(value.kind) && value.kind !== kind.kind) return refuse("kind", value.kind, kind.kind);
  if (isNotNullish(value.apiVersion) && !isOurs(value.apiVersion))
    return refuse("apiVersion", value.apiVersion, apiVersion);
  if (!isPlainObject(metadata)) return refuse("metadata", metadata, "an object");
  const nameSchema = objectMetadata.shape.name;
  const name = nameSchema.safeParse(metadata.name);
  if (!name.success) return refuse("metadata.name", metadata.name, expectationOf(nameSchema));

  const findings = new ProblemCollector(false);
  const object = examine(kind.schema, withUsableSpec(kind, value, name.data, findings), "", findings);
  // Only a required field without a fallback leads here, and no kind has one.
  const [first] = findings.problems;
  if (object === undefined && first !== undefined) return fail(first);
  return ok({ object: object as Object, dropped: findings.problems });
}

const isOurs = (version: unknown) => typeof version === "string" && version.startsWith(`${apiGroup}/`);

/** An object without a spec, or with another node's name in its spec, still belongs to the node that its name gives. */
function withUsableSpec<Object>(
  kind: ResourceKind<Object>,
  value: PlainObject,
  name: string,
  findings: ProblemCollector,
): PlainObject {
  const spec = isPlainObject(value.spec) ? value.spec : {};
  if (spec !== value.spec) findings.add("spec", value.spec ?? undefined, "an object");
  if (!kind.perNode || spec.nodeName === name) return { ...value, spec };
  if (spec === value.spec) findings.add("spec.nodeName", spec.nodeName ?? undefined, `the object's name, ${name}`);
  return { ...value, spec: { ...spec, nodeName: name } };
}

function withoutAliases<Object>(kind: ResourceKind<Object>, value: unknown): unknown {
  let renamed = value;
  for (const { parent, alias, field } of kind.aliases ?? []) renamed = rename(renamed, parent, alias, field);
  return renamed;
}

function rename(value: unknown, parent: readonly string[], alias: string, field: string): unknown {
  if (!isPlainObject(value)) return value;
  const [key, ...deeper] = parent;
  if (key !== undefined) {
    const child = rename(value[key], deeper, alias, field);
    return child === value[key] ? value : { ...value, [key]: child };
  }
  if (!Object.hasOwn(value, alias) || (value[field] ?? undefined) !== undefined) return value;
  const { [alias]: aliased, ...others } = value;
  return { ...others, [field]: aliased };
}
