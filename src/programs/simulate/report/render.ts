import { renderTable, type TextTableRows } from "../../../core/units/index.ts";
import { contenderName } from "../contenders.ts";
import type { ExperimentRun, ReportFigure } from "../experiment.ts";
import type { ArmComparison } from "./compare.ts";
import type { Estimate } from "./interval.ts";

const figureTable = (rows: TextTableRows): string => renderTable(rows, "numbers");

export function renderRuns(runs: readonly ExperimentRun[], all: readonly ReportFigure[]): string {
  const figures = all.filter(({ besideOthers }) => besideOthers !== true);
  const head = ["arm", "seed", ...figures.map(({ title }) => title)];
  const rows = runs.map((run) => [
    contenderName(run.contender),
    String(run.seed),
    ...figures.map(({ key, digits }) => cell(run.figures[key], digits)),
  ]);
  return `${figureTable([head, ...rows])}${legend(figures)}`;
}

const cell = (value: number | undefined, digits: number): string =>
  value === undefined ? "–" : formatNumber(value, digits);

/** Explanations of columns. */
function legend(figures: readonly ReportFigure[]): string {
  const told = figures.flatMap(({ title, about }) => (about === undefined ? [] : `${title}: ${about}\n`));
  return told.length === 0 ? "" : `\n${told.join("")}`;
}

/** Renders means over the seeds, differences with intervals, and a sentence on how to read them. */
export function renderComparison(comparison: ArmComparison, figures: readonly ReportFigure[]): string {
  const { baseline, seeds, sameWork, note, arms } = comparison;
  const means = figureTable([
    ["arm", ...figures.map(({ title }) => title)],
    ...arms.map(({ arm, figures: own }) => [arm, ...figures.map(({ key, digits }) => cell(own[key]?.mean, digits))]),
  ]);
  const against = (unit: string, kind: "difference" | "change", columns: readonly ReportFigure[]): string =>
    figureTable([
      [`against ${baseline}, ${unit}`, ...columns.map(({ title }) => title)],
      ...arms
        .filter(({ arm }) => arm !== baseline)
        .map((one) => [one.arm, ...columns.map(({ key }) => interval(one[kind][key]))]),
    ]);
  const relative = figures.filter(({ compared }) => compared === "always" || (compared === "same work" && sameWork));
  const absolute = figures.filter(({ compared }) => compared === "absolute" && sameWork);
  const differences =
    against("%", "difference", relative) +
    (absolute.length === 0 ? "" : `\n${against("in its unit", "change", absolute)}`);
  const seedText =
    seeds.length === 1 ? `seed ${seeds[0]}, one seed has no interval` : `seeds ${seeds[0]}–${seeds.at(-1)}`;
  return `${means}\n${differences}${legend(figures)}\n${note}\n(${seedText})\n`;
}

function interval(estimate: Estimate | undefined): string {
  if (estimate === undefined) return "–";
  const { mean, low, high } = estimate;
  const range = low === undefined || high === undefined ? "" : ` [${formatSigned(low, 2)}, ${formatSigned(high, 2)}]`;
  return `${formatSigned(mean, 2)}${range}`;
}

/** Uses thousands separators, independent of the locale. */
export const formatNumber = (value: number, digits: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Omits the sign if the value rounds to zero. */
export function formatSigned(value: number, digits: number): string {
  const rounded = Number(value.toFixed(digits));
  return `${rounded > 0 ? "+" : ""}${formatNumber(rounded === 0 ? 0 : rounded, digits)}`;
}
