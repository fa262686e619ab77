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

/** One look at an energy counter. */
export interface EnergyCounterSample {
  readonly energy: Joules;
  /** By the clock that never steps: 20 s too many on the calendar's would halve the watts of a tick. */
  readonly at: MonotonicInstant;
}

export interface EnergyCounter {
  /** Where the counter starts over (`max_energy_range_uj`); absent where it is not known. */
  readonly range?: Joules | undefined;
  /** What the package is rated for; absent where it is not known. */
  readonly ratedPower?: Watts | undefined;
  /** Its long-term limit, and the highest of all its limits and maxima: boards ship 4090 W on a part rated for 95 W. */
  readonly longTermLimit?: Watts | undefined;
  readonly highestLimit?: Watts | undefined;
}

/** Why two samples make no reading: it is said, so that a missing figure has a reason and never becomes 0 W. */
export type DroppedReading = "no time passed" | "unreadable" | "gap too long" | "counter reset" | "implausible";

export type EnergyReading =
  | { readonly power: Watts; readonly dropped?: never }
  | { readonly power?: never; readonly dropped: DroppedReading };

/**
 * Packages exceed their rated power for a while, but a mean over a tick never doubles it. A counter that restarts from
 * nothing looks like a wrap of nearly its whole range, which is far more than that.
 */
const BRIEFLY_TIMES_RATED = 2;
/** Over the minutes in which a counter goes round, turbo is over and the firmware holds the mean at its long-term limit. */
const SUSTAINED_TIMES_RATED = 1.05;
/** A long-term limit far above the rating means "no limit": no cooler carries off more than this for minutes. */
const LASTING_TIMES_RATED = 3;
/** Where nothing is known of the package: none draws a megawatt. */
const UNHEARD_OF = watts(1e6);

/**
 * After a longer gap a counter may have gone all the way round, and its difference says nothing. An interval beyond this
 * means no reading at all: worth a warning at start. Absent where range or rating is unknown.
 */
export function longestSafeGap(counter: EnergyCounter): Seconds | undefined {
  const { range } = counter;
  const lasting = lastingPower(counter);
  if (!isPositive(range) || lasting === undefined) return undefined;
  return seconds(range / (SUSTAINED_TIMES_RATED * lasting));
}

/** What the package may draw for minutes: its rating, or its long-term limit where that is higher. */
function lastingPower({ ratedPower, longTermLimit }: EnergyCounter): Watts | undefined {
  if (!isPositive(ratedPower)) return undefined;
  const limit = isPositive(longTermLimit) ? longTermLimit : ratedPower;
  return watts(Math.max(ratedPower, Math.min(limit, LASTING_TIMES_RATED * ratedPower)));
}

/**
 * The most a mean over this time can be; where twice the power could go round unseen, only what lasts is believed. A counter that
 * moved forwards is judged by the highest limit; one that went back is a reset unless a wrap at lasting power explains it.
 */
function mostPlausible(counter: EnergyCounter, time: Seconds, wentBack: boolean): Watts {
  const { range, highestLimit } = counter;
  const lasting = lastingPower(counter);
  if (lasting === undefined) return UNHEARD_OF;
  const highest = wentBack || !isPositive(highestLimit) ? lasting : Math.max(lasting, highestLimit);
  const mayGoRound = isPositive(range) && time * BRIEFLY_TIMES_RATED * lasting >= range;
  return watts(mayGoRound ? SUSTAINED_TIMES_RATED * lasting : BRIEFLY_TIMES_RATED * highest);
}

/**
 * Mean power between two looks at a counter. Whatever comes of it, the later sample is the next call's `previous`: a
 * counter that was reset counts on from where it is now.
 */
export function powerBetween(previous: EnergyCounterSample, current: EnergyCounterSample, counter: EnergyCounter): EnergyReading {
  if (!isNonNegative(previous.energy) || !isNonNegative(current.energy)) return { dropped: "unreadable" };
  const time = inSeconds(elapsed(previous.at, current.at));
  if (!(time > 0)) return { dropped: "no time passed" };
  const safe = longestSafeGap(counter);
  if (safe !== undefined && time >= safe) return { dropped: "gap too long" };
  const difference = current.energy - previous.energy;
  const most = mostPlausible(counter, time, difference < 0);
  if (difference >= 0) {
    const power = powerOver(joules(difference), time);
    return power <= most ? { power } : { dropped: "implausible" };
  }
  // Without both bounds a wrap cannot be told from a reset; losing one reading per wrap is the lesser harm.
  if (safe === undefined) return { dropped: "counter reset" };
  const wrapped = powerOver(joules(difference + (counter.range ?? 0)), time);
  return wrapped >= 0 && wrapped <= most ? { power: wrapped } : { dropped: "counter reset" };
}

/** The power of all packages together; a part that is missing or no power makes the total missing, for a part is no total. */
export function totalPower(parts: readonly (Watts | undefined)[]): Watts | undefined {
  let total = 0;
  for (const part of parts) {
    if (!isNonNegative(part)) return undefined;
    total += part;
  }
  return parts.length > 0 && Number.isFinite(total) ? watts(total) : undefined;
}
