import { expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { inTimeSlices, TimeSlice } from "./time-slice.ts";

it("continues without a pause during the slice, and yields to the event loop when it is over", async () => {
  const clock = new VirtualClock();
  const turns = new TimeSlice(clock);
  await turns.next();
  clock.advance(milliseconds(1));
  let ours = false;
  const next = turns.next().then(() => {
    ours = true;
  });
  expect(clock.waiting).toBe(1);
  await Promise.resolve();
  expect(ours).toBe(false);
  await clock.advanceAsync(milliseconds(0));
  await next;
  // A new slice starts.
  await turns.next();
});

it("spreads a page of many chunks over many slices", async () => {
  const clock = new VirtualClock();
  let made = 0;
  const pieces = function* () {
    for (; made < 10; made++) {
      clock.advance(milliseconds(0.5));
      yield String(made);
    }
  };
  let text = "";
  const read = (async () => {
    for await (const piece of inTimeSlices(pieces(), clock)) text += piece;
  })();
  for (let i = 0; i < 1000 && clock.waiting === 0; i++) await Promise.resolve();
  expect(made).toBeLessThan(4);
  for (let turn = 0; turn < 10; turn++) await clock.advanceAsync(milliseconds(0));
  await read;
  expect(text).toBe("0123456789");
});
