import {
  elapsed,
  inSeconds,
  isNonNegative,
  isPositive,
  type Joules,
  joules,
  type MonotonicInstant,
  powerOver,
  type Seconds,
  seconds,
  type Watts,
  watts,
} from "../units/index.ts";

export interface EnergyCounterSample {
  readonly energy: Joules;
  /** Monotonic time: a step of 20 s on the wall clock would halve the watts of a tick. */
  readonly at: MonotonicInstant;
}

export interface EnergyCounter {
  /** Where the counter wraps (`max_energy_range_uj`); absent if unknown. */
  readonly range?: Joules | undefined;
  /** The rated power of the package; absent if unknown. */
  readonly ratedPower?: Watts | undefined;
  /** The long-term limit, and the highest of all limits and maxima: some boards ship 4090 W on a part rated for 95 W. */
  readonly longTermLimit?: Watts | undefined;
  readonly highestLimit?: Watts | undefined;
}

/** Why two samples give no reading. It is reported, so that a missing value has a reason and never becomes 0 W. */
type DroppedReading = "no time passed" | "unreadable" | "gap too long" | "counter reset" | "implausible";

export type EnergyReading =
  | { readonly power: Watts; readonly dropped?: never }
  | { readonly power?: never; readonly dropped: DroppedReading };

/**
 * A package may exceed its rated power for a while, but its mean over a tick is never twice the rating. A counter that
 * restarts from zero looks like a wrap of almost the whole range, which is far more than that.
 */
const MAX_BRIEF_TIMES_RATED = 2;
/** A counter wraps within minutes. By then turbo has ended, and the firmware holds the mean at the lasting power. */
const MAX_MEAN_TIMES_LASTING = 1.05;
/** A long-term limit far above the rating means "no limit". No cooler removes more heat than this for minutes. */
const MAX_LASTING_TIMES_RATED = 3;
/** The limit if nothing is known about the package: no package draws a megawatt. */
const MAX_POWER_OF_UNKNOWN = watts(1e6);

/**
 * After a longer gap the counter may have wrapped completely, so the difference proves nothing. A polling interval beyond
 * this gap never gives a reading and is worth a warning at start. Absent if range or rating is unknown.
 */
export function maxSafeGap(counter: EnergyCounter): Seconds | undefined {
  const { range } = counter;
  const lasting = lastingPower(counter);
  if (!isPositive(range) || lasting === undefined) return undefined;
  return seconds(range / (MAX_MEAN_TIMES_LASTING * lasting));
}

/** The power that the package can sustain for minutes: its rating, or its long-term limit if that is higher. */
function lastingPower({ ratedPower, longTermLimit }: EnergyCounter): Watts | undefined {
  if (!isPositive(ratedPower)) return undefined;
  const limit = isPositive(longTermLimit) ? longTermLimit : ratedPower;
  return watts(Math.max(ratedPower, Math.min(limit, MAX_LASTING_TIMES_RATED * ratedPower)));
}

/**
 * The highest plausible mean power over this time. In a short time the package may have drawn twice its lasting power, or twice the
 * highest limit if the counter moved forwards. In a time in which the counter could wrap at twice the lasting power, only lasting
 * power is plausible.
 */
function maxPlausible(counter: EnergyCounter, time: Seconds, wentBack: boolean): Watts {
  const { range, highestLimit } = counter;
  const lasting = lastingPower(counter);
  if (lasting === undefined) return MAX_POWER_OF_UNKNOWN;
  const highest = wentBack || !isPositive(highestLimit) ? lasting : Math.max(lasting, highestLimit);
  const mayWrap = isPositive(range) && time * MAX_BRIEF_TIMES_RATED * lasting >= range;
  return watts(mayWrap ? MAX_MEAN_TIMES_LASTING * lasting : MAX_BRIEF_TIMES_RATED * highest);
}

/** Mean power between two samples. The later one is the `previous` of the next call, also after a reset. */
export function powerBetween(
  previous: EnergyCounterSample,
  current: EnergyCounterSample,
  counter: EnergyCounter,
): EnergyReading {
  if (!isNonNegative(previous.energy) || !isNonNegative(current.energy)) return { dropped: "unreadable" };
  const time = inSeconds(elapsed(previous.at, current.at));
  if (!(time > 0)) return { dropped: "no time passed" };
  const maxGap = maxSafeGap(counter);
  if (maxGap !== undefined && time >= maxGap) return { dropped: "gap too long" };
  const difference = current.energy - previous.energy;
  const maxPower = maxPlausible(counter, time, difference < 0);
  if (difference >= 0) {
    const power = powerOver(joules(difference), time);
    return power <= maxPower ? { power } : { dropped: "implausible" };
  }
  // Without both bounds a wrap cannot be distinguished from a reset. Losing one reading per wrap is acceptable.
  if (maxGap === undefined) return { dropped: "counter reset" };
  const wrapped = powerOver(joules(difference + (counter.range ?? 0)), time);
  return wrapped >= 0 && wrapped <= maxPower ? { power: wrapped } : { dropped: "counter reset" };
}

/** The power of all packages together. If one part is missing or invalid, the total is missing. */
export function totalPower(parts: readonly (Watts | undefined)[]): Watts | undefined {
  let total = 0;
  for (const part of parts) {
    if (!isNonNegative(part)) return undefined;
    total += part;
  }
  return parts.length > 0 && Number.isFinite(total) ? watts(total) : undefined;
}
