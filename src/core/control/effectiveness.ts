import { isNonNegative, type MonotonicInstant, type Watts, watts } from "../units/index.ts";

/**
 * A cap is a promise. That the device reads it back proves only that it was stored; whether it holds shows when load pushes
 * against it.
 */
export interface CapWatch {
  readonly cap: Watts;
  /** When the cap had to hold: its read-back, plus the time the device itself averages over. */
  readonly trustFrom: MonotonicInstant;
  readonly ema?: Watts;
  /** Ticks in a row above the tolerance. */
  readonly exceeded: number;
  /** Whether power was ever above the cap since. */
  readonly tested: boolean;
  readonly broken: boolean;
}

export type CapVerdict = "not yet tested by load" | "being tested by load" | "effective" | "not effective";

const TOLERANCE_WATTS = 5;
const TOLERANCE_SHARE = 0.05;
const TICKS_TO_FAIL = 3;
const SMOOTHING = 0.3;

/** Starts over after every read-back: a new cap, or an old one asserted again, has yet to be judged. */
export const watchCap = (cap: Watts, trustFrom: MonotonicInstant): CapWatch => ({
  cap,
  trustFrom,
  exceeded: 0,
  tested: false,
  broken: false,
});

export const toleratedPower = (cap: Watts): Watts => watts(cap + Math.max(TOLERANCE_WATTS, TOLERANCE_SHARE * cap));

/**
 * One tick. `since` is when the reading's time span began: a span that reaches back before the cap held says nothing about
 * it. A missing reading says nothing either.
 */
export function observeCap(watch: CapWatch, power: Watts | undefined, since: MonotonicInstant): CapWatch {
  if (!isNonNegative(power) || since < watch.trustFrom) return watch;
  const ema = watch.ema === undefined ? power : watts(SMOOTHING * power + (1 - SMOOTHING) * watch.ema);
  const exceeded = ema > toleratedPower(watch.cap) ? watch.exceeded + 1 : 0;
  return {
    ...watch,
    ema,
    exceeded,
    tested: watch.tested || ema > watch.cap,
    // It stays broken until the next read-back: load that goes away does not mend a cap.
    broken: watch.broken || exceeded >= TICKS_TO_FAIL,
  };
}

export function capVerdict(watch: CapWatch): CapVerdict {
  if (watch.broken) return "not effective";
  if (!watch.tested) return "not yet tested by load";
  return watch.exceeded > 0 ? "being tested by load" : "effective";
}
