import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../units/index.ts";
import { HistoryRing } from "./history-ring.ts";

const START = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const second = (count: number) => instant(START + count * 1000);
const ring = () => new HistoryRing(["power", "cap"]);

/** A day and a half, one sample each 10 seconds: its power is the number of the sample. */
function filled(samples = 12_960): HistoryRing<"power" | "cap"> {
  const history = ring();
  for (let sample = 0; sample < samples; sample++)
    history.record(second(sample * 10), { power: sample, cap: sample < 6000 ? 500 : undefined });
  return history;
}

describe("the history ring", () => {
  it("DSH-05 keeps 24 hours: the last hour in 10 s, six hours in minutes, a day in 5 minutes", () => {
    const history = filled();
    const now = second(12_959 * 10);
    const read = (hours: number) => history.read(instant(now - hours * HOUR), now);
    expect([read(1).step, read(6).step, read(24).step]).toEqual([10_000, 60_000, 300_000]);
    expect([read(1), read(6), read(24), read(100)].map(({ at }) => at.length)).toEqual([360, 360, 288, 288]);
    expect(read(1).values.power.at(-1)).toBe(12_959);
    // The mean of the six samples of a minute and of the thirty of five minutes.
    expect(read(6).values.power.at(-1)).toBe(12_956.5);
    expect(read(24).values.power.at(0)).toBeCloseTo(12_960 - 288 * 30 + 14.5, 5);
  });

  it("DSH-05 shows a missing value as null and a silent time as a gap, never as 0", () => {
    const history = ring();
    history.record(second(0), { power: 100 });
    history.record(second(60), { power: Number.NaN, cap: 300 });
    const { at, values } = history.read(second(0), second(120));
    expect(at).toEqual([second(0), second(60)]);
    expect(values).toEqual({ power: [100, null], cap: [null, 300] });
  });

  it("DSH-05 has a row of null where a restart or a pause left time without samples, also in the next file", () => {
    const before = ring();
    for (let sample = 0; sample < 3; sample++) before.record(second(sample * 10), { power: 100 });
    const history = ring();
    history.restore(before.save());
    history.record(second(600), { power: 200 });
    const powerOf = (of: typeof history, length: number) => of.read(instant(second(600) - length * HOUR), second(600));
    expect(powerOf(history, 1).values.power).toEqual([100, 100, 100, null, 200]);
    expect(powerOf(history, 1).at.at(3)).toBe(second(30));
    expect(powerOf(history, 24).values.power).toEqual([100, null, 200]);
    const again = ring();
    again.restore(history.save());
    again.record(second(610), { power: 300 });
    // The second restart was over before a bucket was missed.
    expect(again.read(second(0), second(610)).values.power).toEqual([100, 100, 100, null, 200, 300]);
    again.interrupt();
    again.record(second(700), { power: 400 });
    expect(again.read(second(0), second(700)).values.power).toEqual([100, 100, 100, null, 200, 300, null, 400]);
  });

  it("averages the values that a bucket has", () => {
    const history = ring();
    history.record(second(0), { power: 100, cap: 5 });
    history.record(second(3), { power: 200 });
    history.record(second(6), { power: 600 });
    expect(history.read(second(0), second(9)).values).toEqual({ power: [300], cap: [5] });
  });

  it("ignores a late sample, and starts again where the clock was set back", () => {
    const history = ring();
    history.record(second(100), { power: 1 });
    history.record(second(90), { power: 9 });
    expect(history.read(second(0), second(200)).values.power).toEqual([1]);
    history.record(second(7200), { power: 7 });
    history.record(second(110), { power: 2 });
    expect(history.read(second(0), second(200)).values.power).toEqual([1, 2]);
    expect(history.read(second(0), second(7200)).at.at(-1)).toBeLessThan(second(7200));
  });

  it("DSH-05 continues from a saved history and tolerates one of another version", () => {
    const history = filled(1000);
    const saved = JSON.parse(JSON.stringify(history.save())) as ReturnType<typeof history.save>;
    const restored = ring();
    restored.restore(saved);
    const now = second(9990);
    expect(restored.read(instant(now - HOUR), now)).toEqual(history.read(instant(now - HOUR), now));
    expect(restored.read(instant(now - 24 * HOUR), now)).toEqual(history.read(instant(now - 24 * HOUR), now));

    const other = new HistoryRing(["heat", "power"], [{ step: milliseconds(10_000), length: 360 }]);
    other.restore(saved);
    const { values } = other.read(instant(now - HOUR), now);
    expect(values.heat.every((value) => value === null)).toBe(true);
    expect(values.power.at(-1)).toBe(999);
    other.restore({ series: ["power"], tiers: [{ step: 10_000, buckets: [[null, 1], [Number.NaN]] }] });
    expect(other.read(instant(now - HOUR), now).values.power.at(-1)).toBe(999);
  });
});
