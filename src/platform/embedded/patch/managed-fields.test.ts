import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Schema } from "../kinds/builtin-schemas.ts";
import type { JsonObject } from "../storage/json.ts";
import type { ManagedFields } from "../storage/kube-object.ts";
import { difference, intersection, isEmpty, union } from "./field-tree.ts";
import { applied, type FieldManager, fieldTreeOf, ownersAfterUpdate } from "./managed-fields.ts";

const schema: Schema = {
  properties: {
    spec: {
      properties: {
        items: { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items: {} },
        tags: { "x-kubernetes-list-type": "set" },
        whole: { "x-kubernetes-map-type": "atomic" },
      },
    },
  },
};

const writer = (manager: string, operation: FieldManager["operation"] = "Apply"): FieldManager => ({
  manager,
  operation,
  apiVersion: "v1",
  time: "2030-01-01T00:00:00Z",
});

/** Configurations over few fields and values, so that managers conflict. */
const value = fc.constantFrom(1, 2);
const config: fc.Arbitrary<JsonObject> = fc.record({
  spec: fc.record(
    {
      a: value,
      b: fc.record({ c: value, d: value }, { requiredKeys: [] }),
      items: fc.uniqueArray(fc.record({ name: fc.constantFrom("x", "y"), size: value }), {
        selector: (item) => item.name,
      }),
      tags: fc.uniqueArray(fc.constantFrom("p", "q")),
      whole: fc.record({ k: value }),
      list: fc.array(value, { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
});

describe("applied", () => {
  it("keeps its invariants over any sequence of forced applies", () => {
    const step = fc.record({ manager: fc.constantFrom("one", "two", "three"), config });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let object: JsonObject = {};
        let owners: readonly ManagedFields[] = [];
        for (const { manager, config: wanted } of steps) {
          ({ object, owners } = applied(object, wanted, owners, writer(manager), schema, {
            force: true,
            hasStatus: false,
          }));
          // Applying the same configuration again without force changes nothing and causes no conflict.
          const again = applied(object, wanted, owners, writer(manager), schema, { force: false, hasStatus: false });
          expect(again.object).toEqual(object);
          // A missing field has no owner.
          const present = fieldTreeOf(object, schema);
          for (const { fieldsV1 } of owners) {
            const leaves = difference(fieldsV1, union(present, prefixes(object)));
            expect(isEmpty(leaves) ? [] : [leaves]).toEqual([]);
          }
        }
        // When all managers release all fields, only the empty object is left.
        for (const manager of ["one", "two", "three"]) {
          ({ object, owners } = applied(object, {}, owners, writer(manager), schema, {
            force: true,
            hasStatus: false,
          }));
        }
        expect(object).toEqual({});
        expect(owners).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("never lets two managers with disjoint fields affect each other", () => {
    const left = fc.record({ left: fc.dictionary(fc.constantFrom("a", "b", "c"), value) }, { requiredKeys: [] });
    const right = fc.record({ right: fc.dictionary(fc.constantFrom("a", "b", "c"), value) }, { requiredKeys: [] });
    const turns = fc.array(
      fc.oneof(
        left.map((spec) => ["one", spec] as const),
        right.map((spec) => ["two", spec] as const),
      ),
    );
    fc.assert(
      fc.property(turns, (sequence) => {
        let object: JsonObject = {};
        let owners: readonly ManagedFields[] = [];
        const last: Record<string, JsonObject> = { one: {}, two: {} };
        for (const [manager, spec] of sequence) {
          last[manager] = spec;
          const options = { force: false, hasStatus: false };
          ({ object, owners } = applied(object, { spec }, owners, writer(manager), schema, options));
          const { left: a, right: b } = { ...last.one, ...last.two } as JsonObject;
          const found = (object.spec ?? {}) as JsonObject;
          expect(found.left ?? {}).toEqual(a ?? {});
          expect(found.right ?? {}).toEqual(b ?? {});
        }
      }),
    );
  });
});

/** The interior nodes of an object; each may have been a leaf such as `{}` before. */
function prefixes(object: JsonObject): ReturnType<typeof fieldTreeOf> {
  const spec = object.spec as JsonObject | undefined;
  return spec === undefined
    ? {}
    : { "f:spec": { ".": {}, ...Object.fromEntries(Object.keys(spec).map((key) => [`f:${key}`, {}])) } };
}

describe("ownersAfterUpdate", () => {
  it("makes the writer the only owner of a changed field", () => {
    fc.assert(
      fc.property(config, config, (first, second) => {
        const start = applied({}, first, [], writer("applier"), schema, { force: false, hasStatus: false });
        const owners = ownersAfterUpdate(start.object, second, start.owners, writer("editor", "Update"), schema, false);
        const sets = owners.map(({ fieldsV1 }) => fieldsV1);
        const [a, b] = [sets[0] ?? {}, sets[1] ?? {}];
        expect(isEmpty(intersection(a, b))).toBe(true);
      }),
    );
  });

  it("records no owner for a write that changes nothing", () => {
    const { object, owners } = applied({}, { spec: { a: 1 } }, [], writer("one"), schema, {
      force: false,
      hasStatus: false,
    });
    expect(ownersAfterUpdate(object, { spec: { a: 1 } }, owners, writer("two", "Update"), schema, false)).toBe(owners);
  });
});
