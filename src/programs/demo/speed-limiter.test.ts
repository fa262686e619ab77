import { describe, expect, it } from "vitest";
import { ScaledClock } from "../../platform/clock/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { SpeedLimiter } from "./speed-limiter.ts";

const calm = { delay: 1, unseen: 0, lateness: 0.9 };

function paced(speed: number, asked = speed) {
  const clock = new ScaledClock(new VirtualClock(), speed);
  const output: string[] = [];
  return { clock, said: output, pace: new SpeedLimiter(clock, (text) => output.push(text), asked) };
}

describe("SpeedLimiter", () => {
  it("keeps the speed while nothing is late, and through short delays", () => {
    const { clock, said: output, pace } = paced(60);
    for (const strain of [
      calm,
      { ...calm, delay: 500 },
      { ...calm, unseen: 30 },
      calm,
      { ...calm, lateness: 9 },
      calm,
    ]) {
      pace.observe(strain);
    }
    pace.observe({ delay: 0, unseen: 0, lateness: undefined });
    expect([clock.speed, output]).toEqual([60, []]);
  });

  it.each([
    ["the event loop is late", { ...calm, delay: 80 }, "the median event-loop delay is 80 ms"],
    ["twins are refreshed late", { ...calm, lateness: 2 }, "the oldest twin is 2.0 refresh intervals old"],
    ["jobs wait for the scheduler", { ...calm, unseen: 12 }, "jobs wait 12 s for their first scheduling attempt"],
  ])("halves the speed and reports it after three seconds in which %s", (_, strain, why) => {
    const { clock, said: output, pace } = paced(60);
    for (let second = 0; second < 3; second++) pace.observe(strain);
    expect([clock.speed, pace.requestedSpeed]).toEqual([30, 60]);
    expect(output).toEqual([`this machine cannot keep up with speed 60: ${why}; continuing at 30`]);
    for (let second = 0; second < 9; second++) pace.observe(calm);
    expect(clock.speed).toBe(30);
  });

  it("X-162 doubles the speed again after ten calm seconds, up to what was asked for", () => {
    const { clock, pace } = paced(60);
    for (let second = 0; second < 13; second++) pace.observe({ ...calm, delay: 80 });
    expect(clock.speed).toBe(15);
    for (let second = 0; second < 10; second++) pace.observe(calm);
    expect(clock.speed).toBe(30);
    for (let second = 0; second < 60; second++) pace.observe(calm);
    expect(clock.speed).toBe(60);
  });

  it("X-162 does not go faster while programs are late, or the first jobs are not placed", () => {
    const { clock, pace } = paced(10, 60);
    for (let second = 0; second < 60; second++) pace.observe({ ...calm, reached: 0.6 });
    for (let second = 0; second < 60; second++) pace.observe({ ...calm, isStarting: true });
    expect([clock.speed, pace.requestedSpeed]).toEqual([10, 60]);
  });

  it("X-162 waits longer each time that a doubling was too much", () => {
    const { clock, pace } = paced(10, 60);
    const secondsToDouble = () => {
      let second = 0;
      for (const speed = clock.speed; clock.speed === speed && second < 100; second++) pace.observe(calm);
      for (let strained = 0; clock.speed > 10 && strained < 100; strained++) pace.observe({ ...calm, delay: 80 });
      return second;
    };
    expect([secondsToDouble(), secondsToDouble(), secondsToDouble()]).toEqual([10, 20, 40]);
  });

  it("waits for the backlog to clear before it halves the speed again", () => {
    const { clock, pace } = paced(60);
    const speeds = Array.from({ length: 13 }, () => {
      pace.observe({ ...calm, unseen: 12 });
      return clock.speed;
    });
    expect(speeds).toEqual([60, 60, ...Array.from({ length: 10 }, () => 30), 15]);
  });

  it("stops at a minimum speed and reports that once", () => {
    const { clock, said: output, pace } = paced(1);
    for (let second = 0; second < 60; second++) pace.observe({ ...calm, delay: 900 });
    expect(clock.speed).toBe(0.25);
    expect(output).toHaveLength(3);
    expect(output.at(-1)).toContain("use fewer --nodes");
  });
});
