import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { ScaledClock } from "./scaled.ts";
import { VirtualClock } from "./testing/index.ts";

const ms = milliseconds;

function scaled(speed: number, start = instant(1_000_000)) {
  const base = new VirtualClock(instant(500));
  return { base, clock: new ScaledClock(base, speed, start) };
}

describe("a scaled clock", () => {
  it("runs faster than the underlying clock by its speed factor, with its own start date", () => {
    const { base, clock } = scaled(60);
    base.advance(ms(1000));
    expect(clock.monotonic()).toBe(60_000);
    expect(clock.now()).toBe(1_060_000);
    expect(new ScaledClock(base, 2).now()).toBe(base.now());
  });

  it("calls back when its own time is reached, never earlier", () => {
    const { base, clock } = scaled(60);
    const called: string[] = [];
    clock.after(ms(60_000), () => called.push("minute"));
    clock.after(ms(0), () => called.push("now"));
    clock.after(ms(-5), () => called.push("past"));
    expect(called).toEqual([]);
    base.advance(ms(999));
    expect(called).toEqual(["now", "past"]);
    base.advance(ms(1));
    expect(called).toEqual(["now", "past", "minute"]);
    expect(() => clock.after(ms(Number.NaN), () => undefined)).toThrow(RangeError);
  });

  it("reschedules pending timers when the speed changes", () => {
    const { base, clock } = scaled(60);
    let called = 0;
    clock.after(ms(60_000), () => called++);
    base.advance(ms(500));
    clock.speed = 10;
    expect(clock.monotonic()).toBe(30_000);
    base.advance(ms(2999));
    expect(called).toBe(0);
    base.advance(ms(1));
    expect([called, clock.monotonic(), clock.speed]).toEqual([1, 60_000, 10]);
  });

  it("leaves no cancelled timer behind, before or after a change of speed", () => {
    const { base, clock } = scaled(60);
    const timer = clock.after(ms(1000), () => expect.unreachable());
    clock.speed = 1;
    timer.cancel();
    timer.cancel();
    clock.speed = 60;
    expect(base.waiting).toBe(0);
    base.advance(ms(10_000));
  });

  it("sleeps, and ends the sleep at once on abort", async () => {
    const { base, clock } = scaled(10);
    let awake = false;
    const sleeping = clock.sleep(ms(1000)).then(() => (awake = true));
    await base.advanceAsync(ms(99));
    expect(awake).toBe(false);
    await base.advanceAsync(ms(1));
    await sleeping;
    const stop = new AbortController();
    const stopped = clock.sleep(ms(1000), stop.signal);
    stop.abort(new Error("enough"));
    await expect(stopped).rejects.toThrow("enough");
    expect(base.waiting).toBe(0);
  });

  it("rejects an invalid speed", () => {
    const { clock } = scaled(1);
    for (const speed of [0, -1, Number.NaN, Infinity]) {
      expect(() => (clock.speed = speed)).toThrow(RangeError);
      expect(() => scaled(speed)).toThrow(RangeError);
    }
    expect(clock.speed).toBe(1);
  });

  it("has a view whose sleeps last a minimum of real time", async () => {
    const { base, clock } = scaled(60);
    const patient = clock.patient(ms(250));
    const called: string[] = [];
    patient.after(ms(1000), () => called.push("short"));
    patient.after(ms(60_000), () => called.push("long"));
    patient.after(ms(0), () => called.push("none"));
    const slept = patient.sleep(ms(1)).then(() => called.push("slept"));
    base.advance(ms(1));
    expect(called).toEqual(["none"]);
    await base.advanceAsync(ms(249));
    await slept;
    expect(called).toEqual(["none", "short", "slept"]);
    base.advance(ms(750));
    expect(called).toEqual(["none", "short", "slept", "long"]);
    expect([patient.now(), patient.monotonic()]).toEqual([clock.now(), clock.monotonic()]);
  });

  it("X-162 stands still when granted time is used up, and its timers wait for the next grant", async () => {
    const { base, clock } = scaled(10);
    const fired: string[] = [];
    clock.after(ms(500), () => fired.push("early"));
    clock.after(ms(3000), () => fired.push("late"));
    clock.after(ms(3000), () => fired.push("cancelled")).cancel();
    clock.grant(ms(100));
    await base.advanceAsync(ms(5000));
    expect([clock.monotonic(), fired]).toEqual([1000, ["early"]]);
    clock.grant(ms(100));
    await base.advanceAsync(ms(5000));
    expect([clock.monotonic(), fired]).toEqual([2000, ["early"]]);
    clock.speed = 20;
    clock.grant(ms(Infinity));
    await base.advanceAsync(ms(51));
    expect([clock.monotonic(), fired]).toEqual([3020, ["early", "late"]]);
    expect(base.waiting).toBe(0);
  });

  it("X-162 fires a timer that waited for a grant exactly when its time has passed", async () => {
    const { base, clock } = scaled(10);
    const fired: number[] = [];
    clock.after(ms(1500), () => fired.push(clock.monotonic()));
    clock.grant(ms(100));
    await base.advanceAsync(ms(5000));
    clock.grant(ms(100));
    await base.advanceAsync(ms(49));
    expect(fired).toEqual([]);
    await base.advanceAsync(ms(1));
    expect(fired).toEqual([1500]);
  });

  it("never steps back when its speed changes", () => {
    const step = fc.record({
      speed: fc.double({ min: 1e-3, max: 1e4, noNaN: true }),
      pass: fc.integer({ min: 0, max: 5000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const { base, clock } = scaled(1);
        let expected = 0;
        for (const { speed, pass } of steps) {
          const before = clock.monotonic();
          clock.speed = speed;
          base.advance(ms(pass));
          expected += pass * speed;
          expect(clock.monotonic()).toBeGreaterThanOrEqual(before);
        }
        expect(clock.monotonic()).toBeCloseTo(expected, 3);
      }),
    );
  });
});
