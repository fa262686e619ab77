import { after, type Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "./clock.ts";

/** A clock whose wall-clock time is ahead of another's, or behind it with a negative shift. Durations are the same. */
export const shiftedClock = (clock: Clock, shift: Milliseconds): Clock => ({
  now: () => after(clock.now(), shift),
  monotonic: () => clock.monotonic(),
  after: (length, callback, options) => clock.after(length, callback, options),
  sleep: async (length, signal) => clock.sleep(length, signal),
});
