import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Watts, watts } from "../units/index.ts";
import { defaultRackCapacity, psuStress, type RackedNode, supplyTotals } from "./psu.ts";

interface NamedNode extends RackedNode {
  readonly name: string;
}

const node = (name: string, rack: string | undefined, measured?: number, capEstimate?: number): NamedNode => ({
  name,
  rack,
  measured: measured as Watts | undefined,
  capEstimate: capEstimate as Watts | undefined,
});
const totals = (nodes: readonly NamedNode[], readings: Record<string, number> = {}) => {
  const totalOf = supplyTotals(nodes, new Map(Object.entries(readings) as [string, Watts][]));
  const known = nodes.filter(({ rack }) => totalOf(rack) !== undefined);
  return Object.fromEntries(known.map(({ name, rack }) => [name, totalOf(rack)]));
};

describe("psuStress", () => {
  it("TWN-19 TWN-20 is the total as a percentage of 50 kW: 30 kW give 60", () => {
    expect(psuStress(watts(30_000))).toBe(60);
    expect(defaultRackCapacity).toBe(50_000);
    expect(psuStress(watts(30_000), watts(120_000))).toBe(25);
  });

  it("TWN-19 stays in 0–100", () => {
    expect(psuStress(watts(50_001))).toBe(100);
    expect(psuStress(watts(0))).toBe(0);
    expect(psuStress(watts(1e308), watts(1e-308))).toBe(100);
    fc.assert(
      fc.property(fc.double({ min: 0 }), fc.double({ min: 1e-308 }), (total, capacity) => {
        const value = psuStress(watts(total), watts(capacity));
        expect(value === undefined || (value >= 0 && value <= 100)).toBe(true);
      }),
    );
  });

  it.each([Number.NaN, Infinity, -1])("X-31 is missing if the total or the capacity is %d W", (bad) => {
    expect(psuStress(watts(bad))).toBeUndefined();
    expect(psuStress(watts(100), watts(bad))).toBeUndefined();
    expect(psuStress(undefined)).toBeUndefined();
    expect(psuStress(watts(100), watts(0))).toBeUndefined();
  });
});

describe("supplyTotals", () => {
  it("TWN-20 X-34 sums the whole cluster if no node names a rack", () => {
    const nodes = Array.from({ length: 8 }, (_, index) => node(`n${index}`, undefined, 3750));
    const [first, ...rest] = Object.values(totals(nodes));
    expect(first).toBe(30_000);
    expect(rest).toEqual(Array.from({ length: 7 }, () => 30_000));
  });

  it("TWN-21 X-34 returns one total per rack", () => {
    expect(totals([node("a", "r1", 100), node("b", "r2", 300), node("c", "r1", 50)])).toEqual({
      a: 150,
      b: 300,
      c: 150,
    });
  });

  it("X-34 sums the nodes without a rack separately", () => {
    expect(totals([node("a", "r1", 100), node("b", undefined, 20), node("c", "", 30)])).toEqual({
      a: 100,
      b: 50,
      c: 50,
    });
  });

  it("TWN-19 adds the measured power of each node, or its cap estimate if there is no measurement", () => {
    expect(totals([node("a", "r", 100, 400), node("b", "r", undefined, 400), node("c", "r", Number.NaN, 50)])).toEqual({
      a: 550,
      b: 550,
      c: 550,
    });
    expect(totals([node("a", "r", 0, 400)])).toEqual({ a: 0 });
  });

  it("skips nodes of unknown power and returns no total if none is known", () => {
    expect(totals([node("a", "r", undefined), node("b", "r", -1, Infinity)])).toStrictEqual({});
    expect(totals([node("a", "r", undefined), node("b", "r", 70)])).toEqual({ a: 70, b: 70 });
    expect(totals([])).toEqual({});
  });

  it("X-34 uses the power reading of a rack instead of the sum", () => {
    const nodes = [node("a", "r1", 100), node("b", "r1", 50), node("c", "r2", 70), node("d", undefined, 5)];
    expect(totals(nodes, { r1: 9000, "": 1, undefined: 1 })).toEqual({ a: 9000, b: 9000, c: 70, d: 5 });
    expect(totals([node("a", "r1")], { r1: 9000 })).toEqual({ a: 9000 });
  });

  it.each([0, -1, Number.NaN, Infinity])("ignores a rack reading of %d", (reading) => {
    expect(totals([node("a", "r1", 100)], { r1: reading })).toEqual({ a: 100 });
  });

  it("TWN-21 gives all nodes of a rack the same total, independent of their order", () => {
    const cluster = fc.uniqueArray(
      fc.tuple(fc.string(), fc.constantFrom("r1", "r2", undefined), fc.integer({ min: 0, max: 5000 })),
      { selector: ([name]) => name, maxLength: 30 },
    );
    fc.assert(
      fc.property(cluster, (drawn) => {
        const nodes = drawn.map(([name, rack, power]) => node(name, rack, power));
        expect(totals(nodes.toReversed())).toEqual(totals(nodes));
        for (const [rack, members] of Map.groupBy(nodes, (one) => one.rack)) {
          const sum = members.reduce((total, { measured }) => total + (measured ?? 0), 0);
          expect(supplyTotals(nodes)(rack)).toBe(sum);
        }
      }),
    );
  });
});
