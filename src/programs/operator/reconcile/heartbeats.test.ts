import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { Heartbeats } from "./heartbeats.ts";

const NOW = Date.UTC(2030, 0, 1);
const at = (minutes: number) => instant(NOW + minutes * 60_000);
const written = (minutes: number) => new Date(at(minutes)).toISOString();
const names = Array.from({ length: 200 }, (_, index) => `node-${index}`);

describe("Heartbeats", () => {
  const beats = () => new Heartbeats(milliseconds(10 * 60_000));
  const dueAt = (minutes: number, lastUpdated = written(0)) => {
    const own = beats();
    return names.filter((name) => own.isDue(name, lastUpdated, at(minutes))).length;
  };

  it("X-55 are due after 70 to 100 % of the interval, spread over the nodes", () => {
    expect(dueAt(6.9)).toBe(0);
    expect(dueAt(8.5)).toBeGreaterThan(60);
    expect(dueAt(8.5)).toBeLessThan(140);
    expect(dueAt(10)).toBe(200);
  });

  it("have a different due time after each refresh, and the same one in every replica", () => {
    const momentAfter = (minutes: number) => {
      for (let later = 7; later <= 10; later += 0.05)
        if (beats().isDue("n", written(minutes), at(minutes + later))) return later.toFixed(2);
      return undefined;
    };
    expect(new Set([0, 1, 2, 3].map(momentAfter)).size).toBeGreaterThan(1);
    expect(momentAfter(1)).toBe(momentAfter(1));
  });

  it("are due at once if lastUpdated is far in the future or invalid", () => {
    expect(dueAt(0, written(9.9))).toBe(0);
    expect(dueAt(0, written(10))).toBe(200);
    expect(dueAt(0, "yesterday")).toBe(200);
  });

  it("may be due while no refresh is known, and then by the last known one", () => {
    const own = beats();
    expect(own.mayBeDue("n", at(0))).toBe(true);
    own.isDue("n", written(0), at(0));
    expect([own.mayBeDue("n", at(6)), own.mayBeDue("n", at(10))]).toEqual([false, true]);
    own.keepOnly(new Set(["other"]));
    expect(own.mayBeDue("n", at(6))).toBe(true);
  });
});
