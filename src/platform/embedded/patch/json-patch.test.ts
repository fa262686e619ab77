import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StatusError } from "../api/status.ts";
import { jsonPatched, mergePatched } from "./json-patch.ts";
import { strategicallyPatched } from "./strategic-patch.ts";

describe("jsonPatched", () => {
  const document = { a: { b: [1, 2, 3] }, "x/y": 1, "m~n": 2 };
  const cases: [says: string, patch: object[], result: unknown][] = [
    ["adds a field", [{ op: "add", path: "/c", value: null }], { ...document, c: null }],
    ["inserts into a list", [{ op: "add", path: "/a/b/1", value: 9 }], { ...document, a: { b: [1, 9, 2, 3] } }],
    ["appends", [{ op: "add", path: "/a/b/-", value: 9 }], { ...document, a: { b: [1, 2, 3, 9] } }],
    ["replaces an item", [{ op: "replace", path: "/a/b/0", value: 9 }], { ...document, a: { b: [9, 2, 3] } }],
    ["replaces everything", [{ op: "replace", path: "", value: {} }], {}],
    ["removes an item", [{ op: "remove", path: "/a/b/2" }], { ...document, a: { b: [1, 2] } }],
    [
      "removes an escaped field",
      [
        { op: "remove", path: "/x~1y" },
        { op: "remove", path: "/m~0n" },
      ],
      { a: document.a },
    ],
    ["moves", [{ op: "move", from: "/a/b/0", path: "/c" }], { ...document, a: { b: [2, 3] }, c: 1 }],
    ["copies", [{ op: "copy", from: "/a/b", path: "/c" }], { ...document, c: [1, 2, 3] }],
    ["tests", [{ op: "test", path: "/a", value: { b: [1, 2, 3] } }], document],
  ];
  it.each(cases)("%s", (_says, patch, result) => {
    const before = structuredClone(document);
    expect(jsonPatched(document, patch)).toEqual(result);
    expect(document).toEqual(before);
  });

  const refused: [says: string, patch: unknown][] = [
    ["no list", {}],
    ["no operation", ["add"]],
    ["an unknown operation", [{ op: "merge", path: "/a" }]],
    ["a path without a slash", [{ op: "add", path: "a", value: 1 }]],
    ["a field that is not there", [{ op: "remove", path: "/nothing" }]],
    ["a replacement of nothing", [{ op: "replace", path: "/nothing", value: 1 }]],
    ["a parent that is not there", [{ op: "add", path: "/nothing/more", value: 1 }]],
    ["an index beyond the list", [{ op: "add", path: "/a/b/4", value: 1 }]],
    ["an index that is none", [{ op: "add", path: "/a/b/01", value: 1 }]],
    ["the end where there has to be an item", [{ op: "remove", path: "/a/b/-" }]],
    ["a field of the prototype", [{ op: "test", path: "/constructor", value: 1 }]],
    ["a test that fails", [{ op: "test", path: "/a", value: 1 }]],
    ["a move from nowhere", [{ op: "move", path: "/a" }]],
  ];
  it.each(refused)("rejects %s", (_says, patch) => {
    expect(() => jsonPatched(document, patch)).toThrow(StatusError);
  });
});

describe("jsonPatched within bounds", () => {
  const tests = (count: number) => Array.from({ length: count }, () => ({ op: "test", path: "/a", value: 1 }));
  it("accepts at most 10,000 operations: 413", () => {
    expect(jsonPatched({ a: 1 }, tests(10_000))).toEqual({ a: 1 });
    expect(() => jsonPatched({ a: 1 }, tests(10_001))).toThrow(expect.objectContaining({ code: 413 }));
  });

  const copies = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ op: "copy", from: "/a", path: `/a/${index}` }));
  it("rejects nested copies that exceed the body limit: 422", () => {
    const document = { a: { text: "x".repeat(1000) } };
    expect(Object.keys((jsonPatched(document, copies(10)) as typeof document).a)).toHaveLength(11);
    expect(() => jsonPatched(document, copies(60))).toThrow(expect.objectContaining({ code: 422 }));
  });

  it("copies a value that is undefined", () => {
    const patch = [
      { op: "add", path: "/b" },
      { op: "copy", from: "/b", path: "/c" },
    ];
    expect(JSON.stringify(jsonPatched({ a: 1 }, patch))).toBe('{"a":1}');
  });

  const chain = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
  const end = (depth: number) => `/x${"/a".repeat(depth)}`;
  it("rejects a result that is too deep: 422", () => {
    const onto = (depth: number) => [{ op: "move", from: "/y", path: end(depth) }];
    // 1 for the document itself, 998 for the path, 1 more.
    expect(jsonPatched({ x: chain(998), y: { z: 1 } }, onto(998))).toHaveProperty("x");
    expect(() => jsonPatched({ x: chain(999), y: { z: 1 } }, onto(999))).toThrow(
      expect.objectContaining({ code: 422, message: expect.stringContaining("1000 levels") }),
    );
  });

  it("rejects an intermediate result that is too deep to traverse: 422", () => {
    const patch = [
      { op: "add", path: "/y", value: 1 },
      { op: "copy", from: "/x", path: "/z" },
    ];
    expect(() => jsonPatched({ x: chain(100_000) }, patch)).toThrow(expect.objectContaining({ code: 422 }));
  });
});

describe("mergePatched", () => {
  it("neither copies from nor pollutes the prototype", () => {
    const patch = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": null, "b": 1}}') as unknown;
    const merged = mergePatched({ a: {} }, patch);
    expect((merged as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(merged).toHaveProperty("a.b", 1);
  });

  it("follows RFC 7386: patching nothing with an object gives that object without its nulls", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
        const once = mergePatched(target, patch);
        // The same patch again changes nothing.
        expect(mergePatched(once, patch)).toEqual(once);
      }),
    );
  });
});

describe("strategicallyPatched", () => {
  it("treats a list named like a prototype field as an ordinary list", () => {
    for (const name of ["constructor", "toString"]) {
      expect(strategicallyPatched({ [name]: [{ a: 1 }] }, { [name]: [{ a: 2 }] })).toEqual({ [name]: [{ a: 2 }] });
    }
  });

  it("merges known lists by key, replaces others, and follows directives", () => {
    const target = {
      status: { conditions: [{ type: "A", status: "True" }, { type: "B" }], images: [{ names: ["x"] }] },
      metadata: { finalizers: ["a"], labels: { x: "1", y: "1" } },
    };
    expect(
      strategicallyPatched(target, {
        status: {
          conditions: [{ type: "A", status: "False" }, { type: "B", $patch: "delete" }, { type: "C" }],
          images: [],
        },
        metadata: { finalizers: ["b", "a"], labels: { x: null }, "$setElementOrder/finalizers": ["b", "a"] },
      }),
    ).toEqual({
      status: { conditions: [{ type: "A", status: "False" }, { type: "C" }], images: [] },
      metadata: { finalizers: ["a", "b"], labels: { y: "1" } },
    });
  });

  it("supports $patch: replace, $retainKeys and deletion from primitive lists", () => {
    expect(strategicallyPatched({ a: 1, b: 2 }, { $patch: "replace", c: 3 })).toEqual({ c: 3 });
    expect(strategicallyPatched({ a: 1, b: 2 }, { $retainKeys: ["b"] })).toEqual({ b: 2 });
    expect(strategicallyPatched({ finalizers: ["a", "b"] }, { "$deleteFromPrimitiveList/finalizers": ["a"] })).toEqual({
      finalizers: ["b"],
    });
    const conditions = [{ type: "A" }, { type: "B" }];
    expect(strategicallyPatched({ conditions }, { conditions: [{ $patch: "replace" }, { type: "C" }] })).toEqual({
      conditions: [{ type: "C" }],
    });
  });
});
