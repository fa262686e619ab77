import { instant } from "../../../core/units/index.ts";
import { type Clock, VirtualClock } from "../../clock/index.ts";

/** Time that moves on as soon as somebody sleeps: what waits in real life is over at once, and the clock says it was waited. */
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
