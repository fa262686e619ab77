import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { difference, type FieldTree, intersection, pathsOf, union } from "./field-tree.ts";

/** Trees over few names, so that two trees overlap. */
const tree = fc
  .letrec<{ tree: FieldTree }>((tie) => ({
    tree: fc.dictionary(
      fc.constantFrom("f:a", "f:b", 'k:{"type":"x"}', "."),
      fc.oneof({ depthSize: "small" }, fc.constant({}), tie("tree")),
      {
        maxKeys: 3,
      },
    ),
  }))
  .tree.map(tidy);

/** Only "." may be a marker without children; the root is never a member. */
function tidy(given: FieldTree, depth = 0): FieldTree {
  const entries = Object.entries(given)
    .filter(([element]) => element !== "." || (depth > 0 && Object.keys(given).length > 1))
    .map(([element, below]) => [element, element === "." ? {} : tidy(below, depth + 1)] as const);
  return Object.fromEntries(entries);
}

const members = (one: FieldTree): Set<string> => new Set(pathsOf(one));

describe("field trees are sets", () => {
  it("union, difference and intersection hold member by member", () => {
    fc.assert(
      fc.property(tree, tree, (a, b) => {
        const [left, right] = [members(a), members(b)];
        const inBoth = [...left].filter((path) => right.has(path));
        expect(members(union(a, b))).toEqual(new Set([...left, ...right]));
        expect(members(difference(a, b))).toEqual(new Set([...left].filter((path) => !right.has(path))));
        expect(members(intersection(a, b))).toEqual(new Set(inBoth));
      }),
    );
  });

  it("names members as Kubernetes does", () => {
    const one: FieldTree = {
      "f:spec": { "f:cpu": {}, "f:list": { 'v:"x"': {} } },
      "f:status": { "f:conditions": { 'k:{"type":"Ready"}': { ".": {}, "f:status": {} } } },
    };
    expect(pathsOf(one)).toEqual([
      ".spec.cpu",
      '.spec.list[="x"]',
      '.status.conditions[type="Ready"]',
      '.status.conditions[type="Ready"].status',
    ]);
  });
});
