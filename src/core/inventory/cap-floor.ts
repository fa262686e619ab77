import type { Exactness } from "../api/index.ts";
import { isPositive, type Watts, watts } from "../units/index.ts";
import type { CpuEntry, GpuEntry } from "./entry.ts";

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

/** Turbo limits are a fifth above the TDP. A proxy may also be smaller than the real model. */
const MAX_OVER_RATED = 1.5;

/**
 * The highest plausible maximum of a socket. The firmware may report only a technical ceiling: 2 kW, or 4 kW on a TDP of
 * 95 W. Only the agent applies this limit to discovered values; the other programs use what the agent published.
 */
export function plausibleSocketWatts(entry: CpuEntry, match: Exactness): Watts {
  const tdp = entry.tdpWatts;
  const configurable = entry.maxWatts;
  if (match === "exact" && configurable !== undefined) return watts(Math.max(tdp, configurable));
  return watts(tdp * MAX_OVER_RATED);
}

/** The highest plausible maximum of a board: vendors sell some with a higher limit than that of the model. */
export const plausibleBoardWatts = (entry: GpuEntry): Watts => watts(entry.maxWatts * MAX_OVER_RATED);
