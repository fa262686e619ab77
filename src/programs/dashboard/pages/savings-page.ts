import {
  type EnergyFactors,
  type EnergyTotals,
  type FigureInterval,
  kilowattHours,
  savingsReport,
} from "../../../core/report/index.ts";
import type { Interval, SavingsAnswer } from "../wire.ts";

const TOP_NODES = 8;

export function savingsPage(totals: EnergyTotals, factors: EnergyFactors): SavingsAnswer {
  const { method, notUsedPct, bias, cost, carbonKg } = savingsReport(totals, factors);
  const { byClass, byCause, byNode } = totals;
  return {
    from: totals.from ?? null,
    to: totals.to ?? null,
    usedKwh: kilowattHours(totals.used),
    modelledKwh: kilowattHours(totals.modelled ?? 0),
    notUsedKwh: inKilowattHours(totals.notUsed),
    notUsedPct: notUsedPct ?? null,
    byClassKwh: [
      ["Performance pods", kilowattHours(byClass.performance)],
      ["Standard pods", kilowattHours(byClass.standard)],
      ["Idle", kilowattHours(byClass.idle)],
    ],
    byCauseKwh: [
      ["Caps", kilowattHours(byCause.caps)],
      ["Sleep", kilowattHours(byCause.sleep)],
    ],
    topNodes: byNode
      .toSorted((one, other) => other.used - one.used)
      .slice(0, TOP_NODES)
      .map(({ node, used, notUsed }) => [node, kilowattHours(used), kilowattHours(notUsed?.estimate ?? 0)]),
    coverage: totals.coverage ?? null,
    cost: cost ?? null,
    carbonKg: carbonKg ?? null,
    factors: factorsInWords(factors),
    method,
    bias: `In ${bias.runs} simulated runs, where the truth is known, the estimate was off by ${signed(bias.meanPct)} % of the counterfactual on average (${signed(bias.lowestPct)} to ${signed(bias.highestPct)} %).`,
  };
}

function factorsInWords({ pricePerKilowattHour, currency, gramsCo2PerKilowattHour, pue = 1 }: EnergyFactors): string {
  const parts = [
    ...(pricePerKilowattHour === undefined ? [] : [`${pricePerKilowattHour} ${currency} per kWh`]),
    ...(gramsCo2PerKilowattHour === undefined ? [] : [`${gramsCo2PerKilowattHour} g of CO2 per kWh`]),
  ];
  if (parts.length > 0 && pue !== 1) parts.push(`PUE ${pue}`);
  return parts.join(", ");
}

const inKilowattHours = ({ estimate, low, high }: FigureInterval): Interval => ({
  estimate: kilowattHours(estimate),
  low: kilowattHours(low),
  high: kilowattHours(high),
});

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
