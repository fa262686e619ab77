import { expect, it } from "vitest";
import { DrainHistory, SleepHistory } from "./state-history.ts";

it("counts a drain once, however often the twin is refreshed, and counts its outcome", () => {
  const history = new DrainHistory();
  for (const published of ["performance", "draining", "draining", "eco"] as const) history.record("a", published);
  for (const published of ["draining", "performance"] as const) history.record("b", published);
  expect(history.counts).toEqual({ deferred: 2, completed: 1, takenBack: 1 });
  history.record("c", "draining");
  history.forget("c");
  history.record("c", "eco");
  expect(history.counts).toEqual({ deferred: 3, completed: 1, takenBack: 1 });
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
