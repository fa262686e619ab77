import { isJsonObject } from "../storage/json.ts";

/**
 * A set of fields in the format of `managedFields[].fieldsV1`: `f:name` is a field, `k:{"type":"Ready"}` an item of a map
 * list, `v:"x"` an item of a set list. A node without children, or with ".", is a member of the set.
 */
export interface FieldTree {
  readonly [element: string]: FieldTree;
}

export const MEMBER: FieldTree = {};
const DOT = ".";

const isMember = (tree: FieldTree): boolean => Object.hasOwn(tree, DOT) || isEmpty(tree);

export const isEmpty = (tree: FieldTree): boolean => {
  for (const _ in tree) return false;
  return true;
};

export const child = (tree: FieldTree | undefined, element: string): FieldTree | undefined =>
  tree !== undefined && Object.hasOwn(tree, element) ? tree[element] : undefined;

const elementsOf = (tree: FieldTree): string[] => Object.keys(tree).filter((element) => element !== DOT);

/** Builds a node; undefined when it would be empty. */
function node(member: boolean, children: readonly (readonly [string, FieldTree])[]): FieldTree | undefined {
  if (children.length === 0) return member ? MEMBER : undefined;
  return Object.fromEntries(member ? [[DOT, MEMBER], ...children] : children);
}

function merge(a: FieldTree, b: FieldTree): FieldTree {
  const elements = new Set([...elementsOf(a), ...elementsOf(b)]);
  const children = [...elements].map((element) => {
    const [left, right] = [child(a, element), child(b, element)];
    return [element, left && right ? merge(left, right) : (left ?? right ?? MEMBER)] as const;
  });
  return node(isMember(a) || isMember(b), children) ?? MEMBER;
}

// The root of an object is never a member: an empty tree is the empty set.

export function union(a: FieldTree, b: FieldTree): FieldTree {
  if (isEmpty(a)) return b;
  return isEmpty(b) ? a : merge(a, b);
}

function minus(a: FieldTree, b: FieldTree): FieldTree | undefined {
  const children = elementsOf(a).flatMap((element): [string, FieldTree][] => {
    const [left, right] = [child(a, element) ?? MEMBER, child(b, element)];
    const rest = right === undefined ? left : minus(left, right);
    return rest === undefined ? [] : [[element, rest]];
  });
  return node(isMember(a) && !isMember(b), children);
}

/** The members of `a` that are not in `b`. */
export const difference = (a: FieldTree, b: FieldTree): FieldTree =>
  isEmpty(a) || isEmpty(b) ? a : (minus(a, b) ?? MEMBER);

function common(a: FieldTree, b: FieldTree): FieldTree | undefined {
  const children = elementsOf(a).flatMap((element): [string, FieldTree][] => {
    const [left, right] = [child(a, element), child(b, element)];
    const both = left && right && common(left, right);
    return both === undefined ? [] : [[element, both]];
  });
  return node(isMember(a) && isMember(b), children);
}

export const intersection = (a: FieldTree, b: FieldTree): FieldTree =>
  isEmpty(a) || isEmpty(b) ? MEMBER : (common(a, b) ?? MEMBER);

/** The members as paths in Kubernetes' message format: `.spec.cpu`, `.status.conditions[type="Ready"].status`. */
export function pathsOf(tree: FieldTree, prefix = ""): string[] {
  return elementsOf(tree).flatMap((element) => {
    const below = child(tree, element) ?? MEMBER;
    const path = prefix + shown(element);
    return [...(isMember(below) ? [path] : []), ...pathsOf(below, path)];
  });
}

function shown(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith("f:")) return `.${rest}`;
  if (element.startsWith("v:")) return `[=${rest}]`;
  const keys: unknown = JSON.parse(rest);
  const pairs = isJsonObject(keys) ? Object.entries(keys) : [];
  return `[${pairs.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
}
