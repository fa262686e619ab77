import type { Clock } from "./clock.ts";

/** A clock that takes its time stamps from a calendar. Durations are those of `clock`. */
export const clockWithCalendar = (clock: Clock, calendar: Pick<Clock, "now">): Clock => ({
  now: () => calendar.now(),
  monotonic: () => clock.monotonic(),
  after: (length, callback, options) => clock.after(length, callback, options),
  sleep: async (length, signal) => clock.sleep(length, signal),
});
