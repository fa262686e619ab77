import { describe, expect, it } from "vitest";
import { podRequests } from "../demand/index.ts";
import { instant } from "../units/index.ts";
import { ArrivalHistory, PROMOTION_TIME } from "./arrival-history.ts";

/** In the middle of a window. */
const NOW = instant(Date.UTC(2030, 0, 2) + PROMOTION_TIME / 2);
const WINDOW = PROMOTION_TIME / 1000;
const small = podRequests(new Map([["cpu", 1]]));
const large = podRequests(new Map([["cpu", 8]]));
const gpu = podRequests(new Map([["nvidia.com/gpu", 1]]));
const anywhere = {};

/** A history with pods that arrived this many seconds ago. */
function history(...arrivals: readonly (readonly [secondsAgo: number, requests: typeof small])[]): ArrivalHistory {
  const recorded = new ArrivalHistory();
  for (const [secondsAgo, requests] of arrivals)
    recorded.record({ createdAt: instant(NOW - secondsAgo * 1000), requests, nodes: anywhere });
  return recorded;
}
const coresOf = (recorded: ArrivalHistory, quantile: number) =>
  recorded
    .reserve(quantile, NOW)
    .reduce((sum, { requests, count }) => sum + count * (requests.amounts.get("cpu") ?? 0), 0);

describe("reserve", () => {
  it("POL-31 is the pods of the window at the quantile of the last day", () => {
    // Ten windows: nine with one small pod, one with three large ones.
    const arrivals = Array.from({ length: 9 }, (_, index) => [(index + 1) * WINDOW, small] as const);
    const recorded = history(...arrivals, [1, large], [2, large], [3, large]);
    expect(coresOf(recorded, 0.9)).toBe(1);
    expect(coresOf(recorded, 1)).toBe(24);
    expect(coresOf(recorded, 0)).toBe(0);
  });

  it("POL-31 takes the later one of two busiest windows, by any way to compute it", () => {
    const wide = podRequests(new Map([["cpu", 2]]));
    const recorded = history([WINDOW, wide], [3 * WINDOW, small], [3 * WINDOW + 1, small], [9 * WINDOW, small]);
    const latest = [{ requests: wide, nodes: anywhere, count: 1 }];
    expect(recorded.reserve(1, NOW)).toEqual(latest);
    expect(recorded.reserve(0.999, NOW)).toEqual(latest);
  });

  it("POL-31 counts windows without arrivals", () => {
    // One busy window of a hundred: its pods are above the 0.9 quantile.
    expect(coresOf(history([99 * WINDOW, small], [WINDOW, large]), 0.9)).toBe(0);
    expect(coresOf(history([99 * WINDOW, small], [WINDOW, large]), 1)).toBe(8);
  });

  it("POL-31 judges pods with GPUs and pods without apart", () => {
    const recorded = history([1, gpu], [2, small], [3, small]);
    expect(recorded.reserve(0.9, NOW)).toEqual([
      { requests: gpu, nodes: anywhere, count: 1 },
      { requests: small, nodes: anywhere, count: 2 },
    ]);
  });

  it("POL-31 forgets arrivals of more than a day ago, and ignores times ahead of the clock", () => {
    expect(coresOf(history([86_400 + WINDOW, large]), 1)).toBe(0);
    expect(coresOf(history([-2 * WINDOW, large]), 1)).toBe(0);
    expect(new ArrivalHistory().reserve(1, NOW)).toEqual([]);
  });

  it("POL-31 stays bounded: a window stores few shapes, and still counts every pod", () => {
    const recorded = new ArrivalHistory();
    for (let pod = 0; pod < 1000; pod++)
      recorded.record({ createdAt: NOW, requests: podRequests(new Map([["cpu", 1 + pod / 1000]])), nodes: anywhere });
    const groups = recorded.reserve(1, NOW);
    expect(groups.length).toBeLessThanOrEqual(16);
    expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(1000);
  });

  it("ignores pods without an arrival time or requests", () => {
    const recorded = new ArrivalHistory();
    recorded.record({ requests: small, nodes: anywhere });
    recorded.record({ createdAt: NOW });
    expect(recorded.reserve(1, NOW)).toEqual([]);
  });
});

describe("largest", () => {
  const pods = podRequests(new Map([["nvidia.com/gpu", 8]]));

  it("POL-31 is the largest pod of the last day, with GPUs and without", () => {
    const recorded = history([10 * WINDOW, small], [20 * WINDOW, large], [1, small], [2, gpu], [30 * WINDOW, pods]);
    expect(recorded.largest(NOW)).toEqual([
      { requests: pods, nodes: anywhere, count: 1 },
      { requests: large, nodes: anywhere, count: 1 },
    ]);
  });

  it("POL-31 forgets arrivals of more than a day ago, and ignores times ahead of the clock", () => {
    expect(history([86_400 + WINDOW, large], [-2 * WINDOW, large]).largest(NOW)).toEqual([]);
    const [only] = history([86_400 + WINDOW, large], [-2 * WINDOW, large], [1, small]).largest(NOW);
    expect(only?.requests).toBe(small);
  });
});
