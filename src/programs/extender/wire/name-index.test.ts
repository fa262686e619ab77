import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NameIndex } from "./name-index.ts";

function slotOf(index: NameIndex, name: string): number {
  // Surrounded by other bytes, as in a request.
  const bytes = Buffer.from(`"${name}"`);
  return index.slotOf(bytes, 1, bytes.length - 1);
}

describe("NameIndex", () => {
  it("behaves like a Map from names to slots under any sequence of changes", () => {
    const name = fc.oneof(
      fc.integer({ min: 0, max: 30 }).map((i) => `worker-${i}`),
      fc.string({ unit: "grapheme", maxLength: 6 }),
      fc.string({ minLength: 300, maxLength: 900 }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.record({ name, slot: fc.option(fc.nat(5000), { nil: undefined }) }), { maxLength: 400 }),
        (steps) => {
          const index = new NameIndex();
          const model = new Map<string, number>();
          for (const step of steps) {
            if (step.slot === undefined) {
              index.delete(step.name);
              model.delete(step.name);
            } else {
              index.set(step.name, step.slot);
              model.set(step.name, step.slot);
            }
          }
          for (const { name: one } of steps) expect(slotOf(index, one)).toBe(model.get(one) ?? -1);
          expect(slotOf(index, "never-there")).toBe(-1);
        },
      ),
    );
  });

  it("finds each of 5,000 names, and none of 5,000 other names", () => {
    const index = new NameIndex();
    for (let i = 0; i < 5000; i++) index.set(`ip-10-0-${i >> 8}-${i & 255}.eu-west-1.compute.internal`, i);
    for (let i = 0; i < 5000; i++) {
      expect(slotOf(index, `ip-10-0-${i >> 8}-${i & 255}.eu-west-1.compute.internal`)).toBe(i);
      expect(slotOf(index, `ip-10-1-${i >> 8}-${i & 255}.eu-west-1.compute.internal`)).toBe(-1);
    }
  });

  it("distinguishes names with the same hash", () => {
    const index = new NameIndex();
    // Known collisions of FNV-1a in 32 bits.
    const names = ["costarring", "liquid", "declinate", "macallums", "altarage", "zinke"];
    names.forEach((name, slot) => index.set(name, slot));
    expect(names.map((name) => slotOf(index, name))).toEqual([0, 1, 2, 3, 4, 5]);
    index.delete("costarring");
    expect([slotOf(index, "costarring"), slotOf(index, "liquid")]).toEqual([-1, 1]);
  });

  it("rejects a negative slot, which would mean unknown", () => {
    expect(() => new NameIndex().set("a", -1)).toThrow(RangeError);
    expect(() => new NameIndex().set("a", Number.NaN)).toThrow(RangeError);
  });
});
