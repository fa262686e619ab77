import { describe, expect, it } from "vitest";
import { podRequests } from "../demand/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { ArrivalHistory } from "./arrival-history.ts";
import { decodeArrivals, encodeArrivals } from "./arrival-storage.ts";

const NOW = instant(Date.UTC(2030, 0, 2));
const SLOT = milliseconds(60_000);
const small = podRequests(new Map([["cpu", 1]]));
const board = podRequests(new Map([["nvidia.com/gpu", 2]]));
const anywhere = {};
const ssd = { selector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] };

function history(): ArrivalHistory {
  const recorded = new ArrivalHistory(SLOT);
  for (let minute = 0; minute < 600; minute++) {
    const createdAt = instant(NOW - minute * SLOT);
    recorded.record({ createdAt, requests: small, nodes: anywhere });
    if (minute % 7 === 0) recorded.record({ createdAt, requests: board, nodes: ssd });
  }
  return recorded;
}
const window = { cpu: milliseconds(5 * SLOT), gpu: milliseconds(7 * SLOT) };

describe("stored arrivals", () => {
  it("SLP-51 give the same reserve after a restart, and count pods that still exist once", () => {
    const before = history();
    const stored = decodeArrivals(encodeArrivals(before.recorded(NOW), 1e6));
    const after = history();
    if (stored !== undefined) after.restore(stored);
    for (let minute = 0; minute < 600; minute++)
      if (minute > 2) after.record({ createdAt: instant(NOW - minute * SLOT), requests: small, nodes: anywhere });
    const counted = (one: ArrivalHistory) => {
      const groups = one.reserve(1, NOW, window);
      return groups.reduce((sum, { requests, count }) => sum + count * (1 + 100 * requests.gpus), 0);
    };
    expect(stored).toBeDefined();
    expect(counted(after)).toEqual(counted(before));
  });

  it("SLP-51 stay below the limit: the oldest are left out", () => {
    const text = encodeArrivals(history().recorded(NOW), 4000);
    expect(text.length).toBeLessThanOrEqual(4000);
    const kept = decodeArrivals(text)?.slots.cpu.map(([slot]) => slot) ?? [];
    expect(kept.length).toBeGreaterThan(10);
    expect(Math.max(...kept)).toBe(Math.floor(NOW / SLOT) - 3);
  });

  it("SLP-51 that are damaged are ignored", () => {
    const text = encodeArrivals(history().recorded(NOW), 1e6);
    for (const damaged of ["", "{", "[]", text.slice(0, -9), text.replace('"version":1', '"version":2')])
      expect(decodeArrivals(damaged)).toBeUndefined();
    expect(decodeArrivals(text.replace(/"shapes":.*/, '"shapes":[]}'))?.slots.cpu[0]?.[1]).toEqual([]);
  });
});
