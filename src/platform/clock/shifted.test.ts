import { expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { shiftedClock } from "./shifted.ts";
import { VirtualClock } from "./virtual.ts";

it("shows another time of day and measures the same durations", async () => {
  const clock = new VirtualClock(instant(1000));
  const shifted = shiftedClock(clock, milliseconds(-300));
  const before = shifted.monotonic();
  expect([shifted.now(), before]).toEqual([700, clock.monotonic()]);
  let woken = false;
  void shifted.sleep(milliseconds(50)).then(() => (woken = true));
  await clock.advanceAsync(milliseconds(49));
  expect(woken).toBe(false);
  await clock.advanceAsync(milliseconds(1));
  expect([woken, shifted.now()]).toEqual([true, 750]);
});
