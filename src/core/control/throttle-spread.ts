import type { Percent, Quantified } from "../units/index.ts";

export type Kilohertz = Quantified<"kHz">;
export const kilohertz = (value: number): Kilohertz => value as Kilohertz;

/** A cpufreq policy: a group of CPUs that change frequency together. */
export interface FrequencyPolicy {
  /** The N of `policyN`. */
  readonly id: number;
  readonly socket: number;
  /** `cpuinfo_min_freq`, if readable. */
  readonly min?: Kilohertz;
  /** `scaling_available_frequencies`, if the driver supports only these. */
  readonly available?: readonly Kilohertz[];
  /** `scaling_max_freq` before the first throttle, for restoring it. */
  readonly originalMax: Kilohertz;
}

export interface FrequencyLimit {
  readonly id: number;
  readonly max: Kilohertz;
  /** The policy should be throttled, but its maximum is already at its floor: the throttle has no effect here. */
  readonly saturated?: true;
}

/**
 * The `scaling_max_freq` of each policy for a throttle percentage: ceil(n·pct/100) policies at their floor, the others at
 * their original maximum. The throttled policies are spread over all sockets. A higher percentage only adds policies.
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

/** A throttle of NaN throttles no policy. */
export const throttledCount = (policies: number, throttlePct: Percent): number =>
  Math.ceil((policies * Math.min(100, Math.max(0, throttlePct || 0))) / 100);

/**
 * The order in which policies are throttled: by relative position within the socket, so that any number of policies takes
 * the same share of every socket, whatever its size. Duplicate policies count once.
 */
function throttleOrder(policies: readonly FrequencyPolicy[]): readonly FrequencyPolicy[] {
  const distinct = [...new Map(policies.map((policy) => [policy.id, policy])).values()].toSorted((a, b) => a.id - b.id);
  const bySocket = Map.groupBy(distinct, ({ socket }) => socket);
  return [...bySocket.values()]
    .flatMap((members) => members.map((policy, rank) => ({ policy, depth: (2 * rank + 1) / (2 * members.length) })))
    .toSorted((a, b) => a.depth - b.depth || a.policy.socket - b.policy.socket || a.policy.id - b.policy.id)
    .map(({ policy }) => policy);
}

/** The frequency step of x86 CPUs. Drivers without a frequency table accept any value. */
const GRAIN = kilohertz(100_000);

/**
 * The lowest frequency of a policy: at least DVFS_MIN_FREQ_KHZ and above the hardware minimum, because some machines get
 * stuck if the maximum equals the minimum. With a frequency table it is an entry of the table, because the driver would
 * round any other value down. Infinite if there is no such frequency.
 */
function floorOf({ min, available }: FrequencyPolicy, lowest: Kilohertz): Kilohertz {
  if (available !== undefined && available.length > 0) {
    const least = min ?? Math.min(...available);
    return kilohertz(Math.min(...available.filter((frequency) => frequency >= lowest && frequency > least)));
  }
  return min !== undefined && min >= lowest ? kilohertz(min + GRAIN) : lowest;
}
