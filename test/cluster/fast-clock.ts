// Real time with all of a program's timers shortened by one factor.
import { type Milliseconds, milliseconds, monotonicInstant } from "../../src/core/units/index.ts";
import { type Clock, systemClock } from "../../src/platform/clock/index.ts";

export function fastClock(factor: number): Clock {
  const shorter = (length: Milliseconds) => milliseconds(length / factor);
  return {
    now: () => systemClock.now(),
    monotonic: () => monotonicInstant(systemClock.monotonic() * factor),
    after: (length, callback, options) => systemClock.after(shorter(length), callback, options),
    sleep: async (length, signal) => systemClock.sleep(shorter(length), signal),
  };
}
