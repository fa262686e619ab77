import { describe, expect, it } from "vitest";
import { instant, milliseconds, watts } from "../../core/units/index.ts";
import { type DemoStatus, plainLine, statusLine } from "./status-line.ts";

const status: DemoStatus = {
  time: instant(Date.UTC(2030, 0, 1, 18, 21, 51)),
  speed: { reached: 60, wanted: 60 },
  running: milliseconds(21_000),
  duration: milliseconds(60_000),
  power: { drawn: watts(40_000), capped: 60_000 },
  pue: 1.21,
  classes: { performance: 1, eco: 3, draining: 1, asleep: 5, unknown: 0 },
  betweenStates: 2,
  sleep: undefined,
  drains: { deferred: 6, completed: 3, takenBack: 1 },
  pods: { waiting: 6, running: 128, performance: 30, finished: 82 },
  energy: {
    usedKwh: 10,
    notUsedKwh: { estimate: 3.3, low: 3, high: 3.6 },
    notUsedPct: { estimate: 24.8, low: 23, high: 26 },
  },
  notice: undefined,
};

describe("statusLine", () => {
  it("has the simulated time, the speed, the real time and the savings", () => {
    expect(statusLine(status)).toBe(
      "demo 18:21:51 at 60 times the speed | 0:21 of 1:00 | 10.0 kWh, 3.3 kWh saved (24.8 %) | PUE 1.21",
    );
  });

  it("X-162 says that it is slower than wanted", () => {
    expect(statusLine({ ...status, speed: { reached: 8.13, wanted: 60 } })).toContain("at 8.1x of 60x");
    expect(statusLine({ ...status, speed: { reached: 0.999, wanted: 1 } })).toContain("in real time");
  });

  it("shows the demo's last message, and leaves out what is unknown", () => {
    const unknown = { ...status, duration: undefined, pue: undefined, energy: undefined, notice: "continuing at 30" };
    expect(statusLine(unknown)).toBe(
      "demo 18:21:51 at 60 times the speed | 0:21 | no energy counted yet | continuing at 30",
    );
  });
});

describe("plainLine", () => {
  it("prints one line for a pipe", () => {
    expect(plainLine(status)).toBe(
      "18:21:51 at 60 times the speed | 40.0 kW of 60.0 kW | 1 performance, 3 eco, 1 draining | drains 6 deferred, 3 completed | pods 128 running, 6 waiting, 82 finished | 10.0 kWh, 3.3 kWh saved (24.8 %)",
    );
  });

  it("counts nodes that sleep apart from those on their way there or back", () => {
    const sleep = {
      asleep: 5,
      sleeps: 9,
      wakes: 4,
      failedWakes: 0,
      podsThatWaited: 0,
      longestWaitSeconds: undefined,
      longestPerformanceWaitSeconds: undefined,
    };
    const line = plainLine({ ...status, drains: undefined, sleep });
    expect(line).toContain("1 performance, 3 eco, 3 asleep, 2 between | sleeps 9, wakes 4 | pods 128");
  });

  it("prints a tiny loss as 0.0", () => {
    const nothing = { estimate: -0.01, low: -0.01, high: 0 };
    const energy = { usedKwh: 0.01, notUsedKwh: nothing, notUsedPct: null };
    expect(plainLine({ ...status, energy })).toContain("| 0.0 kWh, 0.0 kWh saved");
  });
});
