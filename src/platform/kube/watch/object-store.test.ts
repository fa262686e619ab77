import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ObjectStore } from "./object-store.ts";
import { comesAfter } from "./resource-version.ts";

interface Pod {
  readonly node: string | undefined;
  readonly size: number;
}
const version = (uid: string, resourceVersion = "1") => ({ uid, resourceVersion });

describe("Store", () => {
  it("distinguishes an update from a recreated object", () => {
    const store = new ObjectStore<Pod>({});
    const [a, b, c] = [1, 2, 3].map((size): Pod => ({ node: undefined, size }));
    if (a === undefined || b === undefined || c === undefined) throw new Error("three pods");
    expect(store.set("ns/p", version("u1"), a)).toEqual([{ type: "added", key: "ns/p", new: a }]);
    expect(store.set("ns/p", version("u1", "2"), b)).toEqual([{ type: "updated", key: "ns/p", old: a, new: b }]);
    expect(store.set("ns/p", version("u2", "3"), c)).toEqual([
      { type: "deleted", key: "ns/p", old: b },
      { type: "added", key: "ns/p", new: c },
    ]);
    expect(store.getByKey("ns/p")).toBe(c);
    expect(store.delete("ns/p")).toEqual([{ type: "deleted", key: "ns/p", old: c }]);
    expect(store.delete("ns/p")).toEqual([]);
    expect(store.size).toBe(0);
  });

  it("removes a value from the index key under which it was added, even if its key has changed", () => {
    let node: string | undefined = "n1";
    const store = new ObjectStore<Pod, "node">({ node: () => node });
    store.set("p", version("u"), { node: undefined, size: 1 });
    node = "n2";
    store.delete("p");
    expect([...store.by("node", "n1")]).toEqual([]);
  });

  it("keeps indexes equal to freshly built ones", () => {
    const key = fc.constantFrom("a", "b", "c", "d", "e");
    const node = fc.constantFrom("n1", "n2", "", undefined);
    const step = fc.oneof(fc.tuple(key, node, fc.nat()), key);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const store = new ObjectStore<Pod, "node" | "even">({
          node: (pod) => pod.node,
          even: ({ size }) => (size % 2 === 0 ? "yes" : undefined),
        });
        const truth = new Map<string, Pod>();
        for (const each of steps) {
          if (typeof each === "string") {
            store.delete(each);
            truth.delete(each);
          } else {
            const pod: Pod = { node: each[1], size: each[2] };
            store.set(each[0], version("u"), pod);
            truth.set(each[0], pod);
          }
        }
        expect(new Map(store.entries())).toEqual(truth);
        for (const word of ["n1", "n2", ""]) {
          expect(new Set(store.by("node", word))).toEqual(
            new Set([...truth.values()].filter((pod) => pod.node === word)),
          );
        }
        expect(new Set(store.by("even", "yes"))).toEqual(
          new Set([...truth.values()].filter(({ size }) => size % 2 === 0)),
        );
        expect([...store.by("node", "absent")]).toEqual([]);
      }),
    );
  });
});

describe("comesAfter", () => {
  it.each([
    ["2", "1", true],
    ["10", "9", true],
    ["9", "10", false],
    ["5", "5", false],
    ["007", "6", true],
    ["9223372036854775807", "9223372036854775806", true],
    ["abc", "abc", false],
    ["abc", "abd", undefined],
    ["", "1", undefined],
    ["1", "", undefined],
    ["-1", "1", undefined],
  ])("%j after %j: %s", (a, b, expected) => {
    expect(comesAfter(a, b)).toBe(expected);
  });
});
