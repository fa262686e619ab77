import { expect, it } from "vitest";
import type { PowerOperation } from "../../../core/api/index.ts";
import { instant, isoTime, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { StepTimes } from "./node-case.ts";

it("SLP-22 counts a step that another process began from its beginning, and one in the future from now", () => {
  const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const times = new StepTimes(clock);
  const stepAt = (after: number): PowerOperation => ({
    type: "sleep",
    step: "shutdown",
    stepAt: isoTime(instant(clock.now() + after)),
  });
  const [before, ahead] = [stepAt(-60_000), stepAt(3_600_000)];
  expect(times.since("a", before)).toBe(60_000);
  clock.advance(milliseconds(1000));
  expect(times.since("a", before)).toBe(61_000);
  expect(times.since("a", ahead)).toBe(0);
  clock.advance(milliseconds(1000));
  expect(times.since("a", ahead)).toBe(1000);
  expect(times.since("a", undefined)).toBe(0);
});
