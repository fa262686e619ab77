import {
  elapsed,
  inSeconds,
  type Joules,
  joules,
  type MonotonicInstant,
  powerOver,
  type Watts,
  watts,
} from "../units/index.ts";

/** One look at an energy counter. */
export interface EnergySample {
  readonly energy: Joules;
  /** By the clock that never steps: 20 s too many on the calendar's would halve the watts of a tick. */
  readonly at: MonotonicInstant;
}

export interface EnergyCounter {
  /** Where the counter starts over (`max_energy_range_uj`); absent where it is not known. */
  readonly range?: Joules;
  /** More than this is a broken counter and not a load; see `mostPlausible`. Absent where nothing bounds it. */
  readonly mostPower?: Watts;
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
const PLAUSIBLE_TIMES_MAX = 2;
export const mostPlausible = (packageMax: Watts): Watts => watts(PLAUSIBLE_TIMES_MAX * packageMax);

const isEnergy = (value: number) => Number.isFinite(value) && value >= 0;
const known = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && value > 0;

/**
 * Mean power between two looks at a counter. Whatever comes of it, the later sample is the next call's `previous`: a
 * counter that was reset counts on from where it is now.
 */
export function powerBetween(previous: EnergySample, current: EnergySample, counter: EnergyCounter): EnergyReading {
  if (!isEnergy(previous.energy) || !isEnergy(current.energy)) return { dropped: "unreadable" };
  const time = inSeconds(elapsed(previous.at, current.at));
  if (!(time > 0)) return { dropped: "no time passed" };
  const { range, mostPower } = counter;
  // After a gap in which the counter could have gone all the way round, its difference says nothing.
  if (known(range) && known(mostPower) && time * mostPower >= range) return { dropped: "gap too long" };
  const difference = current.energy - previous.energy;
  const power = powerOver(joules(difference), time);
  if (difference >= 0) return known(mostPower) && power > mostPower ? { dropped: "implausible" } : { power };
  // Without both bounds a wrap cannot be told from a reset; losing one reading per wrap is the lesser harm.
  if (!known(range) || !known(mostPower)) return { dropped: "counter reset" };
  const wrapped = powerOver(joules(difference + range), time);
  return wrapped >= 0 && wrapped <= mostPower ? { power: wrapped } : { dropped: "counter reset" };
}

/** The power of all packages together; a missing part makes the total missing, for a part is no total. */
export function totalPower(parts: readonly (Watts | undefined)[]): Watts | undefined {
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return parts.length === 0 ? undefined : watts(total);
}
