import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { percent } from "../units/index.ts";
import { type FrequencyPolicy, kilohertz, spreadThrottle, throttledCount } from "./throttle-spread.ts";

const GHZ = 1_000_000;
const policy = (id: number, socket: number, originalMax = 3.8 * GHZ, min = 0.8 * GHZ): FrequencyPolicy => ({
  id,
  socket,
  min: kilohertz(min),
  originalMax: kilohertz(originalMax),
});
const LOWEST = kilohertz(1.5 * GHZ);
const twoSockets = [0, 1, 2, 3].flatMap((index) => [policy(index, 0), policy(index + 4, 1)]);

const throttled = (policies: readonly FrequencyPolicy[], pct: number) =>
  spreadThrottle(policies, percent(pct), LOWEST)
    .filter(({ max }) => max === LOWEST)
    .map(({ id }) => id);

describe("throttledCount", () => {
  it.each([
    [8, 0, 0],
    [8, 1, 1],
    [8, 12.5, 1],
    [8, 12.6, 2],
    [10, 30, 3],
    [128, 10, 13],
    [7, 100, 7],
    [0, 50, 0],
    [8, 250, 8],
    [8, -10, 0],
    [8, Number.NaN, 0],
  ])("X-86 AGT-36 throttles of %d policies, at %d %%, %d", (policies, pct, count) => {
    expect(throttledCount(policies, percent(pct))).toBe(count);
  });
});

describe("spreadThrottle", () => {
  it("X-86 selects policies from the sockets in turn", () => {
    expect(throttled(twoSockets, 25)).toEqual([0, 4]);
    expect(throttled(twoSockets, 50)).toEqual([0, 4, 1, 5]);
    expect(throttled(twoSockets, 51)).toEqual([0, 4, 1, 5, 2]);
  });

  it("AGT-34 AGT-36 lowers throttled policies to DVFS_MIN_FREQ_KHZ and leaves the others at their original maximum", () => {
    const limits = spreadThrottle([policy(0, 0), policy(1, 0, 3.5 * GHZ)], percent(50), LOWEST);
    expect(limits).toEqual([
      { id: 0, max: 1.5 * GHZ },
      { id: 1, max: 3.5 * GHZ },
    ]);
  });

  it.each([
    [2 * GHZ, 2.1 * GHZ],
    [1.5 * GHZ, 1.6 * GHZ],
    [1.5 * GHZ - 1, 1.5 * GHZ],
  ])("AGT-34 stays above the hardware minimum of %d kHz: %d kHz", (min, max) => {
    expect(spreadThrottle([policy(0, 0, 3.8 * GHZ, min)], percent(100), LOWEST)).toStrictEqual([{ id: 0, max }]);
  });

  describe("with a table of frequencies", () => {
    const table = (...gigahertz: number[]) => gigahertz.map((frequency) => kilohertz(frequency * GHZ));
    const floor = (min: number | undefined, originalMax: number, ...available: number[]) => {
      const { min: _, ...bare } = policy(0, 0, originalMax * GHZ);
      const known = min === undefined ? bare : { ...bare, min: kilohertz(min * GHZ) };
      return spreadThrottle([{ ...known, available: table(...available) }], percent(100), LOWEST);
    };

    it("AGT-34 uses the lowest entry above the minimum: acpi-cpufreq with 1.5, 1.7 and 2 GHz uses 1.7", () => {
      expect(floor(1.5, 2, 2, 1.7, 1.5)).toStrictEqual([{ id: 0, max: 1.7 * GHZ }]);
      expect(floor(undefined, 2, 2, 1.7, 1.5)).toStrictEqual([{ id: 0, max: 1.7 * GHZ }]);
    });

    it("AGT-34 uses only table entries, so that rounding cannot go below DVFS_MIN_FREQ_KHZ", () => {
      expect(floor(1.2, 2, 2, 1.7, 1.2)).toStrictEqual([{ id: 0, max: 1.7 * GHZ }]);
      expect(floor(1.2, 2, 2, 1.7, 1.5, 1.2)).toStrictEqual([{ id: 0, max: 1.5 * GHZ }]);
    });

    it("is saturated if the table has no entry between minimum and maximum", () => {
      expect(floor(1.5, 2, 2, 1.5)).toStrictEqual([{ id: 0, max: 2 * GHZ, saturated: true }]);
      expect(floor(1, 1.4, 1.4, 1.2, 1)).toStrictEqual([{ id: 0, max: 1.4 * GHZ, saturated: true }]);
    });

    it("ignores an empty table", () => {
      expect(floor(0.8, 2)).toStrictEqual([{ id: 0, max: 1.5 * GHZ }]);
    });
  });

  it("AGT-34 uses DVFS_MIN_FREQ_KHZ if the hardware minimum is unknown", () => {
    const [limit] = spreadThrottle([{ id: 0, socket: 0, originalMax: kilohertz(3 * GHZ) }], percent(100), LOWEST);
    expect(limit?.max).toBe(1.5 * GHZ);
  });

  it.each([
    [1.2, 0.4],
    [1.5, 0.4],
    [1.2, 1.2],
    [2.1, 2],
  ])(
    "AGT-34 does not throttle a policy at %d GHz that has no lower frequency (minimum %d GHz), and reports it",
    (max, min) => {
      expect(spreadThrottle([policy(0, 0, max * GHZ, min * GHZ)], percent(100), LOWEST)).toStrictEqual([
        { id: 0, max: max * GHZ, saturated: true },
      ]);
    },
  );

  it("marks only throttled policies as saturated", () => {
    expect(spreadThrottle([policy(0, 0, 1.2 * GHZ)], percent(0), LOWEST)).toStrictEqual([{ id: 0, max: 1.2 * GHZ }]);
  });

  it("X-86 gives a small and a large socket the same share", () => {
    const uneven = [...[0, 1, 2, 3, 4, 5].map((id) => policy(id, 0)), ...[6, 7].map((id) => policy(id, 1))];
    expect(throttled(uneven, 50)).toEqual([0, 1, 6, 2]);
  });

  it("counts a duplicate policy once and sorts policies by number", () => {
    expect(throttled([policy(1, 0), policy(0, 0), policy(1, 0)], 50)).toEqual([0]);
    expect(throttled(twoSockets.toReversed(), 50)).toEqual([0, 4, 1, 5]);
  });

  it("returns no changes without policies", () => {
    expect(spreadThrottle([], percent(50), LOWEST)).toEqual([]);
  });

  const machine = fc
    .array(fc.integer({ min: 0, max: 3 }), { maxLength: 60 })
    .map((sockets) => sockets.map((socket, id) => policy(id, socket)));
  const share = fc.double({ min: 0, max: 100, noNaN: true });

  it("X-86 AGT-36 throttles exactly ceil(n·pct/100) policies, and a higher percentage only adds policies", () => {
    fc.assert(
      fc.property(machine, share, share, (policies, a, b) => {
        const fewer = throttled(policies, Math.min(a, b));
        const more = throttled(policies, Math.max(a, b));
        expect(more).toHaveLength(Math.ceil((policies.length * Math.max(a, b)) / 100));
        expect(more.slice(0, fewer.length)).toEqual(fewer);
      }),
    );
  });

  it("X-86 keeps every socket within two policies of its share for any socket sizes", () => {
    fc.assert(
      fc.property(machine, share, (policies, pct) => {
        const hit = new Set(throttled(policies, pct));
        for (const members of Map.groupBy(policies, ({ socket }) => socket).values()) {
          const taken = members.filter(({ id }) => hit.has(id)).length;
          const fair = (members.length * hit.size) / policies.length;
          expect(Math.abs(taken - fair)).toBeLessThanOrEqual(2);
        }
      }),
    );
  });

  it("X-86 keeps sockets of one size within one policy of each other", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 32 }), share, (sockets, size, pct) => {
        const policies = Array.from({ length: sockets * size }, (_, id) => policy(id, Math.floor(id / size)));
        const counts = Array.from({ length: sockets }, () => 0);
        for (const id of throttled(policies, pct)) {
          const socket = Math.floor(id / size);
          counts[socket] = (counts[socket] ?? 0) + 1;
        }
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
