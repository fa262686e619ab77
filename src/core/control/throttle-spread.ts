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
  /** `scaling_max_freq` as it was before the first throttle, so that restoring it undoes just what was done. */
  readonly originalMax: Kilohertz;
}

export interface FrequencyLimit {
  readonly id: number;
  readonly max: Kilohertz;
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
  return order.map((policy, index) => ({
    id: policy.id,
    max: index < hit ? floorOf(policy, lowest) : policy.originalMax,
  }));
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

/**
 * Never below DVFS_MIN_FREQ_KHZ nor the hardware's own minimum, and never above where the policy stood: a policy already
 * slower than the floor is left alone rather than pinned at its minimum, where some machines get stuck.
 */
function floorOf({ min, originalMax }: FrequencyPolicy, lowest: Kilohertz): Kilohertz {
  const floor = min !== undefined && min > lowest ? min : lowest;
  return floor < originalMax ? floor : originalMax;
}
