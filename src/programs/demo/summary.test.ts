import { describe, expect, it } from "vitest";
import { joules, seconds } from "../../core/units/index.ts";
import { type DemoSummary, summaryText } from "./summary.ts";

describe("summaryText", () => {
  const summary: DemoSummary = {
    ok: false,
    nodes: 40,
    preset: "partition",
    policy: "queue_aware_v1",
    seed: 7,
    seconds: 60.4,
    simulatedSeconds: seconds(3600),
    speed: { asked: 60, last: 30 },
    classes: { performance: 16, eco: 24 },
    drains: { deferred: 3, completed: 1, takenBack: 2 },
    pods: { waiting: 1, running: 2, performance: 1, finished: 258 },
    power: { watts: 34_000, cappedWatts: 58_000, uncappedWatts: 66_000 },
    energy: {
      account: {
        usedKwh: 33.3,
        notUsedKwh: { estimate: 8.4, low: 7, high: 9 },
        notUsedPct: { estimate: 20.1, low: 17, high: 21 },
      },
      simulated: { wallJoules: joules(120e6), alwaysOnJoules: joules(150e6) },
      pue: 1.2,
    },
    ready: { twins: 2.1, jobs: 4.3 },
    cores: 0.4,
    memory: { rssBytes: 400 * 2 ** 20, peakRssBytes: 405 * 2 ** 20 },
    eventLoop: { medianMs: 1, worstMs: 80 },
    notices: ["this machine cannot keep up with speed 60; continuing at 30"],
    checks: [
      { name: "every node has a fresh twin", ok: true, figures: {} },
      {
        name: "no performance pod ran under eco caps",
        ok: false,
        figures: { pods: 2, podSeconds: 5, examples: ["a"] },
      },
    ],
  };

  it("prints results, resource usage and the figures of failed checks", () => {
    const text = summaryText(summary);
    expect(text).toContain(
      "40 nodes with partition (queue_aware_v1) for 60 s: 60 minutes simulated, 258 jobs finished\n",
    );
    expect(text).toContain("drains: 3 deferred, 1 completed, 2 taken back; at most 405 MiB of memory");
    expect(text).toContain(
      "energy at the wall: 33.3 kWh; saved by caps and sleep: 8.4 kWh (20.1 %), estimated as by `joulie savings`",
    );
    expect(text).toContain("this machine cannot keep up with speed 60; continuing at 30");
    expect(text).toContain('FAILED no performance pod ran under eco caps: {"pods":2,"podSeconds":5,"examples":["a"]}');
    expect(text).toContain("ok     every node has a fresh twin\n");
  });

  it("prints sleeps, wakes and waits instead of drains if nodes may sleep", () => {
    const sleep = {
      asleep: 5,
      sleeps: 9,
      wakes: 1,
      failedWakes: 0,
      podsThatWaited: 3,
      longestWaitSeconds: 420,
      longestPerformanceWaitSeconds: 300,
    };
    const line = "9 sleeps, 1 wake; 3 pods waited for a wake, longest 7.0 min (performance 5.0 min); at most 405 MiB";
    expect(summaryText({ ...summary, sleep })).toContain(line);
    const quiet = { ...sleep, failedWakes: 2, longestWaitSeconds: undefined };
    expect(summaryText({ ...summary, sleep: quiet })).toContain("9 sleeps, 1 wake, 2 failed; no pod waited for a wake");
  });

  it("does not report ok for events that did not happen", () => {
    const checks = [{ name: "every node has a fresh twin", ok: true, note: "no", figures: {} }];
    expect(summaryText({ ...summary, checks })).toContain("-      every node has a fresh twin (no)\n");
  });

  it("prints hours for long runs", () => {
    expect(summaryText({ ...summary, simulatedSeconds: seconds(86_400) })).toContain("24.0 hours simulated");
  });
});
