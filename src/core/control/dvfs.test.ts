import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MonotonicInstant, milliseconds, monotonicInstant, percent, watts } from "../units/index.ts";
import {
  afterRestore,
  afterThrottle,
  type DvfsAction,
  type DvfsSettings,
  type DvfsState,
  dvfsBand,
  initialDvfsState,
  percentThrottle,
  stepDvfs,
} from "./dvfs.ts";

/** The defaults of the DVFS_* variables. */
const settings: DvfsSettings = {
  alpha: 0.3,
  highMargin: watts(10),
  lowMargin: watts(15),
  step: percent(10),
  cooldown: milliseconds(20_000),
  tripCount: 2,
};
const TARGET = watts(480);
const state = (over: Partial<DvfsState> = {}): DvfsState => ({ ...initialDvfsState, ...over });
const step = (from: DvfsState, observed: number | undefined, atSeconds = 0, using: DvfsSettings = settings) =>
  stepDvfs(
    from,
    observed === undefined ? undefined : watts(observed),
    TARGET,
    monotonicInstant(atSeconds * 1000),
    using,
  );

/** Feeds readings 20 s apart and returns every action with its tick. */
function play(readings: readonly (number | undefined)[], from = initialDvfsState, using = settings, every = 20) {
  let now = from;
  const actions: (DvfsAction & { tick: number })[] = [];
  readings.forEach((observed, tick) => {
    const next = step(now, observed, tick * every, using);
    now = next.state;
    if (next.action) actions.push({ ...next.action, tick });
  });
  return { actions, state: now };
}

describe("smoothing", () => {
  it("AGT-24 computes a·observed + (1−a)·ema: 0.3, 100 and 200 W give 130 W", () => {
    expect(step(state({ ema: watts(100) }), 200).state.ema).toBe(130);
    expect(step(state({ ema: watts(100) }), 200, 0, { ...settings, alpha: 1 }).state.ema).toBe(200);
  });

  it("X-85 seeds the average with the first sample", () => {
    expect(step(initialDvfsState, 333).state.ema).toBe(333);
    expect(step(initialDvfsState, 0).state.ema).toBe(0);
  });

  it.each([undefined, Number.NaN, Infinity, -1])("X-52 X-31 changes nothing on a reading of %s", (bad) => {
    const before = state({ ema: watts(600), above: 5, throttlePct: percent(30) });
    expect(step(before, bad)).toEqual({ state: before, ifWriteFails: before });
  });
});

describe("an average that is not finite", () => {
  it.each([Number.NaN, Infinity])("resets from %d with the next reading", (ema) => {
    const next = step(state({ ema: watts(ema), throttlePct: percent(20) }), 600);
    expect(next.state).toMatchObject({ ema: 600, above: 1, throttlePct: 20 });
  });
});

describe("the hand-over", () => {
  const busy = state({ ema: watts(600), above: 3, below: 1, throttlePct: percent(40) });

  it("AGT-20 resets throttle, average and counters after a restore, but keeps the cooldown", () => {
    const at = monotonicInstant(7000);
    expect(afterRestore({ ...busy, lastActionAt: at })).toStrictEqual({ ...initialDvfsState, lastActionAt: at });
    expect(afterRestore(busy)).toStrictEqual(initialDvfsState);
  });

  it("X-87 starts from the throttle of the percent path and waits one cooldown before it changes it", () => {
    const now = monotonicInstant(5000);
    const taken = afterThrottle(percent(40), now);
    expect(taken).toStrictEqual({ above: 0, below: 0, throttlePct: 40, lastActionAt: now });
    const eager = { ...settings, tripCount: 1 };
    expect(step(taken, 600, 24.9, eager).action).toBeUndefined();
    expect(step(taken, 600, 25, eager).action).toEqual({ kind: "throttle_up", throttlePct: 50 });
  });
});

describe("the band", () => {
  it("AGT-25 spans from the cap minus the low margin to the cap plus the high margin", () => {
    expect(dvfsBand(TARGET, settings)).toEqual({ upper: 490, lower: 465 });
  });

  it.each([
    [490, 0, 0],
    [490.001, 1, 0],
    [465, 0, 0],
    [464.999, 0, 1],
    [480, 0, 0],
  ])("AGT-26 AGT-27 counts a smoothed %d W as %d above, %d below", (ema, above, below) => {
    expect(step(initialDvfsState, ema).state).toMatchObject({ above, below });
  });

  it("AGT-28 resets the count after a tick inside the band", () => {
    const direct = { ...settings, alpha: 1 };
    expect(step(state({ ema: watts(0), above: 1 }), 480, 0, direct).state.above).toBe(0);
    expect(step(state({ ema: watts(0), below: 1 }), 480, 0, direct).state.below).toBe(0);
    expect(step(state({ ema: watts(0), below: 1 }), 500, 0, direct).state).toMatchObject({ above: 1, below: 0 });
    expect(play([500, 480, 500, 480, 500, 480], initialDvfsState, direct).actions).toEqual([]);
  });

  it("AGT-33 causes no action, however long power stays inside", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 465, max: 490, noNaN: true }), { maxLength: 50 }), (readings) => {
        const { actions, state: end } = play(readings, state({ throttlePct: percent(50) }));
        expect(actions).toEqual([]);
        expect(end).toMatchObject({ above: 0, below: 0, throttlePct: 50 });
      }),
    );
  });

  it("AGT-33 causes no action with a trip count of 0 either", () => {
    expect(play([480, 480, 480], state({ throttlePct: percent(50) }), { ...settings, tripCount: 0 }).actions).toEqual(
      [],
    );
  });
});

describe("acting", () => {
  it("AGT-29 AGT-31 throttles by the step once the count reaches the trip count, not before", () => {
    const first = step(initialDvfsState, 600);
    expect(first.action).toBeUndefined();
    expect(first.state.above).toBe(1);
    const second = step(first.state, 600, 20);
    expect(second.action).toEqual({ kind: "throttle_up", throttlePct: 10 });
    expect(second.state).toEqual({ ema: 600, above: 0, below: 0, throttlePct: 10, lastActionAt: 20_000 });
  });

  it("AGT-30 AGT-31 releases by the step once the count reaches the trip count", () => {
    const first = step(state({ throttlePct: percent(40) }), 300);
    expect(first.action).toBeUndefined();
    expect(first.state.below).toBe(1);
    const second = step(first.state, 300, 20);
    expect(second.action).toEqual({ kind: "throttle_down", throttlePct: 30 });
    expect(second.state).toEqual({ ema: 300, above: 0, below: 0, throttlePct: 30, lastActionAt: 20_000 });
  });

  it("X-85 zeroes the counter that tripped, so the next action needs a full count again", () => {
    expect(play([600, 600, 600, 600, 600]).actions.map(({ tick }) => tick)).toEqual([1, 3]);
  });

  it("AGT-32 acts again exactly when the cooldown has passed", () => {
    const hot = state({ ema: watts(600), above: 9, lastActionAt: monotonicInstant(10_000) });
    expect(step(hot, 600, 29.999).action).toBeUndefined();
    expect(step(hot, 600, 30).action).toEqual({ kind: "throttle_up", throttlePct: 10 });
  });

  it("X-37 keeps smoothing and counting during the cooldown and delays only the action", () => {
    const hot = state({ ema: watts(600), above: 1, lastActionAt: monotonicInstant(0) });
    const waiting = step(hot, 500, 5);
    expect(waiting.action).toBeUndefined();
    expect(waiting.state).toMatchObject({ ema: 570, above: 2, lastActionAt: 0 });
    expect(step(waiting.state, 500, 10).state.above).toBe(3);
  });

  it("restarts the cooldown when the clock restarts", () => {
    const hot = state({ ema: watts(600), above: 9, lastActionAt: monotonicInstant(1e12) });
    const early = step(hot, 600, 5);
    expect(early.action).toBeUndefined();
    expect(early.state.lastActionAt).toBe(5000);
    expect(step(early.state, 600, 24.9).action).toBeUndefined();
    expect(step(early.state, 600, 25).action?.kind).toBe("throttle_up");
  });

  it.each([
    [95, 600, 100],
    [5, 300, 0],
  ])("X-85 limits a step from %d %% to the range 0–100", (throttlePct, observed, end) => {
    expect(play([observed, observed], state({ throttlePct: percent(throttlePct) })).actions).toMatchObject([
      { throttlePct: end },
    ]);
  });

  it.each([
    [100, 600, { above: 4, below: 0 }],
    [0, 300, { above: 0, below: 4 }],
  ])("X-52 emits no action at %d %% if nothing would change", (throttlePct, observed, counts) => {
    const { actions, state: end } = play(
      [observed, observed, observed, observed],
      state({ throttlePct: percent(throttlePct) }),
    );
    expect(actions).toEqual([]);
    expect(end).toMatchObject({ ...counts, throttlePct });
    expect(end.lastActionAt).toBeUndefined();
  });

  it("X-52 keeps the throttle when the write fails and retries at the next tick", () => {
    const { ifWriteFails } = step(step(initialDvfsState, 600).state, 600, 20);
    expect(ifWriteFails).toEqual({ ema: 600, above: 2, below: 0, throttlePct: 0 });
    expect(step(ifWriteFails, 600, 40).action).toEqual({ kind: "throttle_up", throttlePct: 10 });
  });

  it.each([0, -10, Number.NaN])("does nothing with a step of %d", (size) => {
    const using = { ...settings, step: percent(size) };
    expect(play([600, 600, 600], state({ throttlePct: percent(50) }), using).actions).toEqual([]);
    expect(play([300, 300, 300], state({ throttlePct: percent(50) }), using).actions).toEqual([]);
  });

  it("takes no action for a target that is not a number", () => {
    const { state: next, action } = stepDvfs(
      state({ above: 3 }),
      watts(600),
      watts(Number.NaN),
      monotonicInstant(0),
      settings,
    );
    expect(action).toBeUndefined();
    expect(next).toMatchObject({ ema: 600, above: 0, below: 0 });
  });

  const reading = fc.option(fc.oneof(fc.double({ min: 0, max: 2000 }), fc.constant(1e308)), { nil: undefined });
  const ticks = fc.array(fc.tuple(reading, fc.integer({ min: 0, max: 40_000 })), { maxLength: 80 });

  it("X-85 AGT-32 keeps the throttle in 0–100 and acts at most once per cooldown for any readings", () => {
    fc.assert(
      fc.property(ticks, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 60 }), (played, start, size) => {
        let now: MonotonicInstant = monotonicInstant(0);
        let current = state({ throttlePct: percent(start) });
        const actedAt: number[] = [];
        for (const [observed, elapsed] of played) {
          now = monotonicInstant(now + elapsed);
          const next = stepDvfs(current, observed as Parameters<typeof stepDvfs>[1], TARGET, now, {
            ...settings,
            step: percent(size),
          });
          const change = next.state.throttlePct - current.throttlePct;
          expect(next.action?.kind).toBe({ "1": "throttle_up", "-1": "throttle_down" }[Math.sign(change)]);
          if (next.action) actedAt.push(now);
          expect(next.state.throttlePct).toBeGreaterThanOrEqual(0);
          expect(next.state.throttlePct).toBeLessThanOrEqual(100);
          expect(Number.isFinite(next.state.ema ?? 0)).toBe(true);
          current = next.state;
        }
        const gaps = actedAt.slice(1).map((at, index) => at - (actedAt[index] ?? 0));
        expect(Math.min(settings.cooldown, ...gaps)).toBe(settings.cooldown);
      }),
    );
  });

  it("AGT-33 converges: takes no further action once the power of the node is inside the band", () => {
    fc.assert(
      fc.property(fc.double({ min: 500, max: 800, noNaN: true }), (full) => {
        // A step of 2 % changes power by less than the band width, so some throttle is inside the band.
        const using = { ...settings, step: percent(2), cooldown: milliseconds(200_000) };
        let current = initialDvfsState;
        let lastAction = -1;
        for (let tick = 0; tick < 1000; tick++) {
          const next = step(current, full * (1 - current.throttlePct / 100), tick * 20, using);
          if (next.action) lastAction = tick;
          current = next.state;
        }
        expect(lastAction).toBeLessThan(600);
        expect(current.ema).toBeLessThanOrEqual(490);
        expect(current.ema).toBeGreaterThanOrEqual(465);
      }),
      { numRuns: 30 },
    );
  });
});

describe("percentThrottle", () => {
  it.each([
    [60, 40],
    [99.6, 0],
    [99.5, 1],
    [33.3, 67],
    [100, 0],
    [0, 100],
    [150, 0],
    [-5, 100],
    [Number.NaN, 0],
  ])("X-87 AGT-19 throttles for a cap of %d %% by %d %%", (pct, throttle) => {
    expect(percentThrottle(percent(pct))).toBe(throttle);
  });
});
