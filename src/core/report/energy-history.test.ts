import { describe, expect, it } from "vitest";
import { instant, watts } from "../units/index.ts";
import type { NodeEnergySample } from "./energy-account.ts";
import { EARLIER_NODES, EnergyHistory } from "./energy-history.ts";

const START = Date.UTC(2030, 0, 1);
const minute = (count: number) => instant(START + count * 60_000);
const hour = (count: number) => minute(60 * count);

/** 100 W used, 10 W not used because of caps. */
const node = (name: string): NodeEnergySample => ({
  node: name,
  drawn: watts(100),
  modelled: watts(0),
  idle: watts(40),
  shares: { performance: 0, standard: 1 },
  savedByCaps: { estimate: watts(10), low: watts(5), high: watts(20) },
  savedInChips: watts(10),
  asleep: false,
});

function sampled(history: EnergyHistory, from: number, to: number, names: readonly string[] = ["a"]): EnergyHistory {
  for (let at = from; at <= to; at += 5) history.add({ at: minute(at), nodes: names.map(node) });
  return history;
}

describe("the energy of the last day", () => {
  it("SAV-06 adds up the whole hours that contain the time since then, and says where they begin", () => {
    const history = sampled(new EnergyHistory(), 0, 6 * 60);
    const all = history.totals(hour(0));
    expect(all).toMatchObject({ from: hour(0), to: hour(6), used: 6 * 360_000, coverage: 1 });
    expect(all.notUsed).toEqual({ estimate: 6 * 36_000, low: 6 * 18_000, high: 6 * 72_000 });
    const last = history.totals(minute(5 * 60 + 30));
    expect(last.used).toBe(65 * 6000);
    expect(last.from).toBe(minute(4 * 60 + 55));
    expect(last.byNode).toMatchObject([{ node: "a", used: 65 * 6000 }]);
    expect(history.totals(hour(7))).toMatchObject({ used: 0, from: undefined, coverage: undefined });
  });

  it("SAV-06 forgets what is older than a day", () => {
    const history = sampled(new EnergyHistory(), 0, 30 * 60);
    const { from = 0, used } = history.totals(hour(0));
    expect((hour(30) - from) / 3_600_000).toBeGreaterThanOrEqual(24);
    expect((hour(30) - from) / 3_600_000).toBeLessThanOrEqual(26);
    expect(used).toBe(((hour(30) - from) / 1000) * 100);
    expect(history.stored.hours.length).toBeLessThanOrEqual(26);
  });

  it("SAV-06 continues after a restart; the time in between is not covered", () => {
    const stored = JSON.parse(JSON.stringify(sampled(new EnergyHistory(), 0, 90).stored)) as never;
    const restored = sampled(new EnergyHistory(stored), 150, 210);
    expect(restored.totals(hour(0))).toMatchObject({ from: hour(0), used: 150 * 6000, coverage: 150 / 210 });
  });

  it("SAV-06 counts at most a day as not covered after days without the dashboard", () => {
    const stored = JSON.parse(JSON.stringify(sampled(new EnergyHistory(), 0, 90).stored)) as never;
    const restored = sampled(new EnergyHistory(stored), 96 * 60, 97 * 60);
    const { from, used, coverage } = restored.totals(hour(97 - 24));
    expect([from, used]).toEqual([hour(72), 60 * 6000]);
    expect(coverage).toBeCloseTo(1 / 25, 5);
  });

  it("SAV-06 adds up the nodes of older hours once there are too many rows; sums stay", () => {
    const history = sampled(new EnergyHistory(undefined, 7), 0, 240, ["a", "b"]);
    const { used, byNode, byClass } = history.totals(hour(0));
    expect(used).toBe(2 * 240 * 6000);
    expect(byClass.standard).toBe(2 * 240 * 60 * 60);
    expect(byNode.map((one) => one.node)).toEqual([EARLIER_NODES, "a", "b"]);
    expect(byNode.reduce((sum, one) => sum + one.used, 0)).toBe(used);
  });

  it("SAV-06 ignores a late sample and starts again where the clock was set back", () => {
    const history = sampled(new EnergyHistory(), 0, 300);
    history.add({ at: minute(290), nodes: [node("a")] });
    expect(history.totals(hour(0)).used).toBe(300 * 6000);
    sampled(history, 120, 180);
    const { from, to, used } = history.totals(hour(0));
    expect([from, to]).toEqual([hour(0), minute(180)]);
    expect(used).toBeLessThanOrEqual(180 * 6000);
  });
});
