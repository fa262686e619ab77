import { isPositive, type Watts, watts } from "../units/index.ts";

/** A target below this share of the maximum is almost certainly a typo: 0.5 % for 50 %. */
export const LOWEST_CAP_SHARE = 0.25;

/**
 * The lowest cap that a CPU package gets: the minimum that the device exposes, else a quarter of its maximum. RAPL and HSMP both
 * accept 2 W, and a package capped at 2 W takes its node out of service. The agent clamps to it, and the operator plans with it,
 * so that a twin predicts what the agent sets.
 */
export const packageCapFloor = (cpu: {
  readonly minWattsPerSocket?: Watts | undefined;
  readonly maxWattsPerSocket: Watts;
}): Watts => {
  const { minWattsPerSocket: min, maxWattsPerSocket: max } = cpu;
  if (isPositive(min)) return min;
  return watts(isPositive(max) ? LOWEST_CAP_SHARE * max : 0);
};
