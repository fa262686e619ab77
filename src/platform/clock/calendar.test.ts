import { expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { clockWithCalendar } from "./clock.ts";
import { VirtualClock } from "./testing/index.ts";

it("shows the time of the calendar and measures the durations of the clock", async () => {
  const clock = new VirtualClock(instant(1000));
  const other = clockWithCalendar(clock, { now: () => instant(2 * clock.now()) });
  expect([other.now(), other.monotonic()]).toEqual([2000, clock.monotonic()]);
  let woken = false;
  void other.sleep(milliseconds(50)).then(() => (woken = true));
  await clock.advanceAsync(milliseconds(49));
  expect(woken).toBe(false);
  await clock.advanceAsync(milliseconds(1));
  expect([woken, other.now()]).toEqual([true, 2100]);
});
