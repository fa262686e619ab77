import type { NodeTwinSpec } from "../api/index.ts";
import { isNonNegative, isPositive, type Percent, percent, type Watts } from "../units/index.ts";
import type { PowerEnvelope } from "./envelope.ts";

/** The caps in percent of the maximum, for predictions and effectiveCapState; 100 means uncapped. */
export interface EffectiveCaps {
  readonly cpuPct: Percent;
  readonly gpuPct: Percent;
}

const UNCAPPED = percent(100);

/** Whether predictions can use the value and the API accepts it. */
export const isPercentage = (pct: Percent): boolean => isNonNegative(pct) && pct <= UNCAPPED;

/** Watts take precedence over a percentage, as in the agent, and are converted to percent of the maximum. */
export function effectiveCaps(spec: Pick<NodeTwinSpec, "cpu" | "gpu">, hardware: PowerEnvelope): EffectiveCaps {
  const cap = spec.gpu?.powerCap;
  return {
    cpuPct: capShare(spec.cpu?.packagePowerCapWatts, spec.cpu?.packagePowerCapPctOfMax, hardware.cpu.maxWattsPerSocket),
    // Without GPUs a GPU cap has no effect.
    gpuPct:
      (hardware.gpu?.count ?? 0) > 0
        ? capShare(cap?.capWattsPerGpu, cap?.capPctOfMax, hardware.gpu?.maxWatts)
        : UNCAPPED,
  };
}

function capShare(capWatts: Watts | undefined, pctOfMax: Percent | undefined, max: Watts | undefined): Percent {
  const share = isPositive(capWatts) && isPositive(max) ? (capWatts * 100) / max : pctOfMax;
  return isPositive(share) ? percent(Math.min(UNCAPPED, share)) : UNCAPPED;
}
