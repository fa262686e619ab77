import type { Percent, Quantified } from "../units/index.ts";

export type Kilohertz = Quantified<"kHz">;
export const kilohertz = (value: number): Kilohertz => value as Kilohertz;

/** A cpufreq policy: the CPUs that change frequency together. */
export interface FrequencyPolicy {
  /** The N of `policyN`. */
  readonly id: number;
  readonly socket: number;
  /** `cpuinfo_min_freq`, where it can be read. */
  readonly min?: Kilohertz;
  /** `scaling_available_frequencies`, where the driver knows no others. */
  readonly available?: readonly Kilohertz[];
  /** `scaling_max_freq` as it was before the first throttle, so that restoring it undoes just what was done. */
  readonly originalMax: Kilohertz;
}

export interface FrequencyLimit {
  readonly id: number;
  readonly max: Kilohertz;
  /** The policy is to be throttled, and there is nothing between its floor and where it stands: the throttle is idle here. */
  readonly saturated?: true;
}

/**
 * What each policy's `scaling_max_freq` has to be for a throttle percentage: ceil(n·pct/100) policies at their floor, the
 * others at their original maximum. Every socket gives its share, and raising the percentage only adds policies.
 */
export function spreadThrottle(
  policies: readonly FrequencyPolicy[],
  throttlePct: Percent,
  lowest: Kilohertz,
): readonly FrequencyLimit[] {
  const order = throttleOrder(policies);
  const hit = throttledCount(order.length, throttlePct);
  return order.map((policy, index) => {
    const { id, originalMax } = policy;
    if (index >= hit) return { id, max: originalMax };
    const floor = floorOf(policy, lowest);
    return floor < originalMax ? { id, max: floor } : { id, max: originalMax, saturated: true };
  });
}

/** A throttle that is no number throttles nobody. */
export const throttledCount = (policies: number, throttlePct: Percent): number =>
  Math.ceil((policies * Math.min(100, Math.max(0, throttlePct || 0))) / 100);

/**
 * The order in which policies are throttled: by how far into its socket each one is, so that any number of them takes the
 * same share of every socket, whatever its size. A policy listed twice counts once.
 */
function throttleOrder(policies: readonly FrequencyPolicy[]): readonly FrequencyPolicy[] {
  const distinct = [...new Map(policies.map((policy) => [policy.id, policy])).values()].toSorted((a, b) => a.id - b.id);
  const bySocket = Map.groupBy(distinct, ({ socket }) => socket);
  return [...bySocket.values()]
    .flatMap((members) => members.map((policy, rank) => ({ policy, depth: (2 * rank + 1) / (2 * members.length) })))
    .toSorted((a, b) => a.depth - b.depth || a.policy.socket - b.policy.socket || a.policy.id - b.policy.id)
    .map(({ policy }) => policy);
}

/** The grain in which x86 counts its frequencies. Drivers without a table of them take any figure. */
const GRAIN = kilohertz(100_000);

/**
 * How far down a policy may go: not below DVFS_MIN_FREQ_KHZ, and to a frequency above the hardware's own minimum, for with its
 * maximum equal to its minimum some machines get stuck there. Where the driver has a table it is an entry of it, as any
 * other figure would end at the next entry below. Infinite where there is none.
 */
function floorOf({ min, available }: FrequencyPolicy, lowest: Kilohertz): Kilohertz {
  if (available !== undefined && available.length > 0) {
    const least = min ?? Math.min(...available);
    return kilohertz(Math.min(...available.filter((frequency) => frequency >= lowest && frequency > least)));
  }
  return min !== undefined && min >= lowest ? kilohertz(min + GRAIN) : lowest;
}
