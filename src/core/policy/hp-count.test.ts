import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { portions, queueAware, roundedShare, staticPartition, withinCluster } from "./hp-count.ts";

const queue = { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 };

describe("rounding", () => {
  it("X-77 rounds halves up in decimal arithmetic", () => {
    expect(roundedShare(5, 0.5)).toBe(3);
    expect(roundedShare(3, 0.5)).toBe(2);
    // 14.499999999999998 in floating point.
    expect(roundedShare(50, 0.29)).toBe(15);
    expect(roundedShare(7, 0.35)).toBe(2);
  });

  it("X-77 is exact for every decimal share of a real cluster", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 }), fc.integer({ min: 0, max: 10_000 }), (nodes, tenThousandths) => {
        const exact = Math.floor((2 * nodes * tenThousandths + 10_000) / 20_000);
        expect(roundedShare(nodes, tenThousandths / 10_000)).toBe(exact);
      }),
      { numRuns: 2000 },
    );
  });

  it("POL-13 is exact for decimal portions as well", () => {
    // In floating point 7 / 0.7 is a little more than 10.
    expect(portions(7, 0.7)).toBe(10);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 1, max: 100_000 }), (pods, thousandths) => {
        expect(portions(pods, thousandths / 1000)).toBe(Math.floor((pods * 1000 + thousandths - 1) / thousandths));
      }),
      { numRuns: 2000 },
    );
  });

  it("returns a defined count for NaN and Infinity", () => {
    expect(roundedShare(10, Number.NaN)).toBe(0);
    expect(portions(0, 0)).toBe(0);
    expect(portions(Number.NaN, 10)).toBe(0);
    expect(portions(5, 0)).toBe(Infinity);
    expect(withinCluster(Number.NaN, 10)).toBe(0);
    expect(withinCluster(Infinity, 10)).toBe(10);
    expect(withinCluster(2.5, 10)).toBe(2);
  });
});

describe("static_partition", () => {
  it("POL-08 rounds the configured share of the nodes", () => {
    expect(staticPartition(10, 0.5)).toBe(5);
    expect(staticPartition(4, 0.6)).toBe(2);
  });

  it("POL-09 clamps to the number of nodes", () => {
    expect(staticPartition(10, 1.4)).toBe(10);
    expect(staticPartition(10, -0.4)).toBe(0);
    expect(staticPartition(10, 1e308)).toBe(10);
    expect(staticPartition(10, Number.NaN)).toBe(0);
    expect(staticPartition(0, 0.5)).toBe(0);
    expect(staticPartition(1, 0.5)).toBe(1);
  });
});

describe("queue_aware_v1", () => {
  it("POL-12 POL-14 uses the base count while the queue is short", () => {
    expect(queueAware(10, 0, queue)).toBe(6);
    expect(queueAware(10, 60, queue)).toBe(6);
    expect(queueAware(5, 0, { ...queue, hpBaseFrac: 0.5 })).toBe(3);
  });

  it("POL-13 POL-14 grows with the queue, rounded up", () => {
    expect(queueAware(10, 61, queue)).toBe(7);
    expect(queueAware(10, 65, queue)).toBe(7);
    expect(queueAware(10, 70, queue)).toBe(7);
    expect(queueAware(10, 71, queue)).toBe(8);
  });

  it("POL-15 stays within the configured bounds", () => {
    expect(queueAware(10, 65, { ...queue, hpMax: 4 })).toBe(4);
    expect(queueAware(10, 0, { ...queue, hpBaseFrac: 0, hpMin: 3 })).toBe(3);
    expect(queueAware(10, 0, { ...queue, hpBaseFrac: 0 })).toBe(1);
  });

  it("POL-16 clamps to the number of nodes after the configured bounds", () => {
    expect(queueAware(10, 1000, queue)).toBe(10);
    expect(queueAware(0, 0, queue)).toBe(0);
    expect(queueAware(2, 0, { ...queue, hpMin: 5 })).toBe(2);
    expect(queueAware(10, 0, { ...queue, hpMin: -5, hpMax: -2 })).toBe(0);
  });

  it("POL-16 returns a defined count for invalid settings", () => {
    expect(queueAware(10, 5, { ...queue, perfPerHpNode: 0 })).toBe(10);
    expect(queueAware(10, 0, { ...queue, perfPerHpNode: 0 })).toBe(6);
    expect(queueAware(10, 99, { ...queue, perfPerHpNode: -1 })).toBe(6);
    expect(queueAware(10, Number.NaN, queue)).toBe(6);
    expect(queueAware(10, 0, { ...queue, hpMin: 8, hpMax: 3 })).toBe(3);
    expect(queueAware(10, 0, { ...queue, hpMin: Number.NaN })).toBe(0);
    expect(queueAware(10, 0, { ...queue, hpMin: 7.5 })).toBe(7);
  });

  it("POL-19 POL-20 never decreases as P rises, and stays within bounds", () => {
    const settings = fc.record({
      hpBaseFrac: fc.double({ min: 0, max: 2, noNaN: true }),
      hpMin: fc.integer({ min: 0, max: 50 }),
      hpMax: fc.integer({ min: 50, max: 200 }),
      perfPerHpNode: fc.double({ min: 0.001, max: 100, noNaN: true }),
    });
    const pods = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), pods, pods, settings, (nodes, some, more, each) => {
        const count = queueAware(nodes, some, each);
        expect(queueAware(nodes, some + more, each)).toBeGreaterThanOrEqual(count);
        expect(Number.isInteger(count)).toBe(true);
        expect(count).toBeGreaterThanOrEqual(Math.min(nodes, each.hpMin));
        expect(count).toBeLessThanOrEqual(Math.min(nodes, each.hpMax));
        expect(queueAware(nodes, some, each)).toBe(count);
      }),
    );
  });
});
