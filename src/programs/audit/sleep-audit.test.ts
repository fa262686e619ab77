import { describe, expect, it } from "vitest";
import type { PowerEndpointStatus } from "../../core/api/index.ts";
import { SleepAudit, SleepHistory } from "./sleep-audit.ts";

const operation = (type: "sleep" | "wake", step: string) => ({ operation: { type, step } }) as PowerEndpointStatus;
const off: PowerEndpointStatus = { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } };

describe("SleepAudit", () => {
  const judged = (act: (audit: SleepAudit) => void) => {
    const audit = new SleepAudit();
    act(audit);
    audit.judge();
    expect(audit.figures).toEqual({ pods: 0, violations: 0, examples: [] });
    audit.judge();
    return audit.figures;
  };

  it("accepts a pod that was bound before a sleep began, or in time to stop it", () => {
    const figures = judged((audit) => {
      audit.bound("default/early", "a", 10, true);
      audit.endpointChanged("a", 20, operation("sleep", "count"));
      audit.bound("default/late", "a", 30, true);
      audit.endpointChanged("a", 40, {});
    });
    expect(figures).toEqual({ pods: 2, violations: 0, examples: [] });
  });

  it("reports a pod that did not stop the sleep, unless it has ended before", () => {
    const story = (audit: SleepAudit) => {
      audit.endpointChanged("a", 20, operation("sleep", "count"));
      audit.bound("default/job", "a", 30, true);
      audit.endpointChanged("a", 50, off);
    };
    expect(judged(story).examples).toEqual([
      "default/job was bound to a before it was switched off, and did not stop that",
    ]);
    const withEnd = (audit: SleepAudit) => {
      story(audit);
      audit.ended("default/job", 40);
    };
    expect(judged(withEnd).violations).toBe(0);
  });

  it("reports a pod on a node that sleeps or wakes, by the order of writes and not by that of the watches", () => {
    const figures = judged((audit) => {
      audit.bound("default/during", "a", 30, true);
      audit.bound("default/waking", "a", 40, true);
      audit.bound("default/after", "a", 60, true);
      audit.bound("default/before", "a", 10, true);
      audit.endpointChanged("a", 20, off);
      audit.endpointChanged("a", 35, operation("wake", "ready"));
      audit.endpointChanged("a", 50, operation("wake", "untaint"));
    });
    expect(figures.pods).toBe(4);
    expect(figures.examples).toEqual([
      "default/during was bound to a, which was off",
      "default/waking was bound to a, which was waking",
    ]);
  });

  it("waits for a step that arrives on its watch in the next round", () => {
    const audit = new SleepAudit();
    audit.endpointChanged("a", 20, off);
    audit.bound("default/during", "a", 30, true);
    audit.bound("default/after", "a", 60, true);
    audit.judge();
    audit.endpointChanged("a", 50, operation("wake", "untaint"));
    audit.judge();
    audit.judge();
    expect(audit.figures).toEqual({
      pods: 2,
      violations: 1,
      examples: ["default/during was bound to a, which was off"],
    });
  });

  it("accepts a pod on a node that came back by itself after its wake failed, if its machine is on", () => {
    const failed: PowerEndpointStatus = { ...off, lastWake: { at: "2030-01-01T00:10:00Z", result: "failed" } };
    const figures = judged((audit) => {
      audit.endpointChanged("a", 20, failed);
      audit.bound("default/job", "a", 30, true);
      audit.bound("default/lost", "a", 40, false);
    });
    expect(figures.examples).toEqual(["default/lost was bound to a, whose machine was switched off"]);
  });

  it("reports a pod on a machine that was switched off, whatever the power program says", () => {
    const figures = judged((audit) => audit.bound("default/job", "a", 10, false));
    expect(figures.examples).toEqual(["default/job was bound to a, whose machine was switched off"]);
  });

  it("keeps the first violations as examples and counts all", () => {
    const figures = judged((audit) => {
      for (let pod = 1; pod <= 9; pod++) audit.bound(`default/${pod}`, "a", pod, false);
    });
    expect([figures.violations, figures.examples.length]).toEqual([9, 5]);
  });
});

it("counts machines that were switched off, came back or failed, from the published states", () => {
  const history = new SleepHistory();
  for (const state of ["on", "stopping", "stopping", "off", "waking", "on"] as const) history.record("a", state);
  for (const state of ["on", "stopping", "on"] as const) history.record("b", state);
  for (const state of ["off", "waking", "failed", "failed", "on"] as const) history.record("c", state);
  history.record("d", undefined);
  expect(history.counts).toEqual({ sleeps: 2, wakes: 2, failedWakes: 1 });
});

it("forgets a node on request", () => {
  const history = new SleepHistory();
  history.record("a", "off");
  history.forget("a");
  history.record("a", "off");
  expect(history.counts.sleeps).toBe(2);
});
