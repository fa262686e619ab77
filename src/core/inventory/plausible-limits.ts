import type { Exactness } from "../api/index.ts";
import { type Watts, watts } from "../units/index.ts";
import type { CpuEntry, GpuEntry } from "./catalogue/entry.ts";

/** Turbo limits are a fifth above the TDP; a stand-in may also be the smaller brother of what it stands in for. */
const MOST_OVER_RATED = 1.5;

/**
 * The highest maximum that is believed of a socket. A power file may hold a mere ceiling of the firmware: 2 kW, or 4 kW over a
 * TDP of 95 W. Only the agent goes by it, where it discovers such a maximum; everybody else takes what the agent published.
 */
export function plausibleSocketWatts(entry: CpuEntry, match: Exactness): Watts {
  const tdp = entry.tdp.value;
  const configurable = entry.configurable?.max.value;
  if (match === "exact" && configurable !== undefined) return watts(Math.max(tdp, configurable));
  return watts(tdp * MOST_OVER_RATED);
}

/** The highest maximum that is believed of a board: makers sell some of them with a higher limit than the model's own. */
export const plausibleBoardWatts = (entry: GpuEntry): Watts => watts(entry.maxWatts.value * MOST_OVER_RATED);
