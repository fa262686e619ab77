import type { EnergyTotals } from "../../core/report/index.ts";
import { counter, type ProgramMetrics } from "../../platform/metrics/index.ts";

export const definitions = {
  energy: counter(
    "joulie_dashboard_energy_joules_total",
    "Energy that the managed nodes used at the wall, in joules, by class of pods or idle.",
    ["class"],
  ),
  used: counter(
    "joulie_dashboard_used_energy_joules_total",
    "Energy that the managed nodes used at the wall, in joules; the base of the counterfactual.",
    [],
  ),
  counterfactual: counter(
    "joulie_dashboard_counterfactual_energy_joules_total",
    "Model: energy of the same pods on uncapped nodes that are always on, in joules.",
    ["bound"],
  ),
  asleep: counter(
    "joulie_dashboard_asleep_energy_joules_total",
    "Model: energy that sleeping nodes would have used on and idle, in joules.",
    [],
  ),
} as const;

const classes = ["performance", "standard", "idle"] as const;
const bounds = ["estimate", "low", "high"] as const;

/** Counts the account for Prometheus. What was not used can shrink, so the counterfactual is counted instead. */
export function countEnergy(metrics: ProgramMetrics): (totals: EnergyTotals) => void {
  const energy = metrics.counter(definitions.energy);
  const used = metrics.counter(definitions.used);
  const counterfactual = metrics.counter(definitions.counterfactual);
  const asleep = metrics.counter(definitions.asleep);
  let last: EnergyTotals | undefined;
  return (totals) => {
    const before = last;
    last = totals;
    const grown = (of: (one: EnergyTotals) => number): number =>
      before === undefined ? 0 : Math.max(0, of(totals) - of(before));
    for (const name of classes)
      energy.inc(
        { class: name },
        grown(({ byClass }) => byClass[name]),
      );
    used.inc(grown((one) => one.used));
    for (const bound of bounds)
      counterfactual.inc(
        { bound },
        grown((one) => one.used + one.notUsed[bound]),
      );
    asleep.inc(grown(({ byCause }) => byCause.sleep));
  };
}
