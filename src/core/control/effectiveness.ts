import { isNonNegative, type MonotonicInstant, type Watts, watts } from "../units/index.ts";

/** Whether a cap is effective. Reading it back proves that the device stored it; enforcement shows only under load. */
export interface CapWatch {
  readonly cap: Watts;
  /** When the cap must hold: the time of its read-back plus the averaging window of the device. */
  readonly trustFrom: MonotonicInstant;
  readonly ema?: Watts;
  /** Number of consecutive ticks above the tolerance. */
  readonly exceeded: number;
  /** Whether power ever exceeded the cap since then. */
  readonly tested: boolean;
  readonly broken: boolean;
}

export type CapVerdict = "not yet tested by load" | "being tested by load" | "effective" | "not effective";

const TOLERANCE_WATTS = 5;
const TOLERANCE_SHARE = 0.05;
const TICKS_TO_FAIL = 3;
const SMOOTHING = 0.3;

/** Starts a new observation after every read-back, for a new cap as well as for one that was written again. */
export const watchCap = (cap: Watts, trustFrom: MonotonicInstant): CapWatch => ({
  cap,
  trustFrom,
  exceeded: 0,
  tested: false,
  broken: false,
});

export const toleratedPower = (cap: Watts): Watts => watts(cap + Math.max(TOLERANCE_WATTS, TOLERANCE_SHARE * cap));

/** Evaluates one tick. A reading whose interval begins (`since`) before the cap had to hold proves nothing. */
export function observeCap(watch: CapWatch, power: Watts | undefined, since: MonotonicInstant): CapWatch {
  if (!isNonNegative(power) || since < watch.trustFrom) return watch;
  const ema = watch.ema === undefined ? power : watts(SMOOTHING * power + (1 - SMOOTHING) * watch.ema);
  const exceeded = ema > toleratedPower(watch.cap) ? watch.exceeded + 1 : 0;
  return {
    ...watch,
    ema,
    exceeded,
    tested: watch.tested || ema > watch.cap,
    // The verdict stays until the next read-back: a drop of the load does not prove that the cap works.
    broken: watch.broken || exceeded >= TICKS_TO_FAIL,
  };
}

export function capVerdict(watch: CapWatch): CapVerdict {
  if (watch.broken) return "not effective";
  if (!watch.tested) return "not yet tested by load";
  return watch.exceeded > 0 ? "being tested by load" : "effective";
}
