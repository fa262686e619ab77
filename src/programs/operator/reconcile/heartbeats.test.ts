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

  /** Minutes at which a node is refreshed over an hour, if each write takes three seconds. */
  const refreshes = (name: string) => {
    const own = beats();
    const minutes: number[] = [];
    for (let now = 0, last = 0; now < 60; now += 0.05) {
      if (!own.isDue(name, written(last), at(now))) continue;
      minutes.push(now);
      last = now + 0.05;
    }
    return minutes;
  };

  it("X-55 are due after 45 to 100 % of the interval", () => {
    expect(dueAt(4.4)).toBe(0);
    expect(dueAt(10)).toBe(200);
  });

  it("X-55 come once per interval, spread evenly over it after all twins were written at once", () => {
    const perMinute = Array<number>(10).fill(0);
    for (const name of names) {
      const [, second = 0, ...later] = refreshes(name);
      expect(later.length).toBeLessThanOrEqual(5);
      for (const [index, minute] of later.entries()) expect(minute - second).toBeCloseTo(10 * (index + 1), 0);
      const slot = Math.floor(second % 10);
      perMinute[slot] = (perMinute[slot] ?? 0) + 1;
    }
    for (const count of perMinute) {
      expect(count).toBeGreaterThan(5);
      expect(count).toBeLessThan(40);
    }
  });

  it("are due at the same time in every replica", () => {
    expect(refreshes("n")).toEqual(refreshes("n"));
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
    expect([own.mayBeDue("n", at(4)), own.mayBeDue("n", at(10))]).toEqual([false, true]);
    own.keepOnly(new Set(["other"]));
    expect(own.mayBeDue("n", at(4))).toBe(true);
  });
});
