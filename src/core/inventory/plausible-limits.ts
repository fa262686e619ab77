import type { Exactness } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import type { CpuEntry, GpuEntry } from "./catalogue/entry.ts";

/** Turbo limits are a fifth above the TDP. A proxy may also be smaller than the real model. */
const MAX_OVER_RATED = 1.5;

/**
 * The highest plausible maximum of a socket. The firmware may report only a technical ceiling: 2 kW, or 4 kW on a TDP of
 * 95 W. Only the agent applies this limit to discovered values; the other programs use what the agent published.
 */
export function plausibleSocketWatts(entry: CpuEntry, match: Exactness): Watts {
  const tdp = entry.tdp.value;
  const configurable = entry.configurable?.max.value;
  if (match === "exact" && configurable !== undefined) return watts(Math.max(tdp, configurable));
  return watts(tdp * MAX_OVER_RATED);
}

/** The highest plausible maximum of a board: vendors sell some with a higher limit than that of the model. */
export const plausibleBoardWatts = (entry: GpuEntry): Watts => watts(entry.maxWatts.value * MAX_OVER_RATED);
