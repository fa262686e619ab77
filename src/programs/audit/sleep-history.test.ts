import { expect, it } from "vitest";
import { SleepHistory } from "./sleep-history.ts";

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
