import { instant } from "../../../core/units/index.ts";
import { type Clock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";

/** A clock that advances by itself during each sleep: sleeps end at once, and the clock shows the slept time. */
export function hastyClock(): Clock & { readonly virtual: VirtualClock } {
  const virtual = new VirtualClock(instant(0));
  return {
    virtual,
    now: () => virtual.now(),
    monotonic: () => virtual.monotonic(),
    after: (length, callback) => virtual.after(length, callback),
    sleep: async (length, signal) => {
      signal?.throwIfAborted();
      await virtual.advanceAsync(length);
    },
  };
}
