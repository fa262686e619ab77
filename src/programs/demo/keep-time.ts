import { milliseconds } from "../../core/units/index.ts";
import { type Clock, type ScaledClock, withTimeLimit } from "../../platform/clock/index.ts";

/** Real time that one answer of the API grants to the simulated clock: seconds of it, at the usual speed. */
export const GRANT = milliseconds(100);
const PAUSE = milliseconds(50);
const RETRY = milliseconds(1000);
/** A connection that is gone without a word must not stop the time for ever. */
const ANSWER = milliseconds(10_000);
const FOR_EVER = milliseconds(Infinity);

export interface KeepTimeOptions {
  readonly clock: ScaledClock;
  readonly ioClock: Clock;
  readonly call: (signal: AbortSignal) => Promise<void>;
  readonly onGranted: () => void;
}

/** Lets simulated time pass only as fast as the API answers, which is late if the programs are. */
export async function keepTime(options: KeepTimeOptions, signal: AbortSignal): Promise<void> {
  const { clock, ioClock, call, onGranted } = options;
  try {
    while (!signal.aborted) {
      clock.grant(GRANT);
      onGranted();
      const pause = await withTimeLimit(ioClock, ANSWER, call, { signal }).then(
        () => PAUSE,
        () => RETRY,
      );
      await ioClock.sleep(pause, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    // Programs that shut down may wait for simulated time.
    clock.grant(FOR_EVER);
  }
}
