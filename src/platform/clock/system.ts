import { instant, monotonicInstant } from "../../core/units/index.ts";
import { type Clock, checkedTimerLength, sleepOn } from "./clock.ts";

/** Node turns a longer timeout into one of 1 ms. */
const MAX_TIMEOUT = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => instant(Date.now()),

  monotonic: () => monotonicInstant(performance.now()),

  after(length, callback, options) {
    const due = performance.now() + checkedTimerLength(length);
    let timeout: NodeJS.Timeout;
    const arm = (): void => {
      // The process may have been paused since; Node warns about a negative timeout.
      timeout = setTimeout(wake, Math.min(Math.max(0, Math.ceil(due - performance.now())), MAX_TIMEOUT));
      if (options?.background === true) timeout.unref();
    };
    // An early wake-up is normal: a long wait is a chain of timeouts, and Node's timers may fire slightly early.
    const wake = (): void => {
      if (performance.now() < due) arm();
      else callback();
    };
    arm();
    return { cancel: () => clearTimeout(timeout) };
  },

  sleep: async (length, signal) => sleepOn(systemClock, length, signal),
};
