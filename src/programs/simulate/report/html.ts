import { contenderName } from "../contenders.ts";
import { WAIT_SHARES } from "../queue/queue-figures.ts";
import { nodeStates } from "../queue/simulated-cluster.ts";
import type { ExperimentRun, ReportFigure, RunDetail } from "../run.ts";
import type { ArmComparison } from "./compare.ts";
import type { Estimate } from "./interval.ts";
import { formatNumber, formatSigned } from "./render.ts";
import { type Axis, escaped, line, linearAxis, pixel, svgChart } from "./svg-chart.ts";

/** Colours that people with any kind of colour vision can tell apart (Okabe and Ito). */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000"] as const;
const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? "#000000";

export interface HtmlReport {
  readonly conditions: Readonly<Record<string, string | number>>;
  readonly runs: readonly ExperimentRun[];
  readonly figures: readonly ReportFigure[];
  /** Absent for a single arm. */
  readonly comparison?: ArmComparison | undefined;
}

interface Arm {
  readonly name: string;
  readonly colour: string;
  readonly runs: readonly ExperimentRun[];
}

/** A page that needs no other file: tables and plots. */
export function htmlReport({ conditions, runs, figures, comparison }: HtmlReport): string {
  const arms = armsOf(runs);
  const facts = Object.entries(conditions).map(([name, value]) => `${name} ${value}`);
  const seeds = new Set(runs.map(({ seed }) => seed)).size;
  const plots = [
    section("Power over time", `The first seed, one value a minute.${legendOf(arms)}`, powerOverTime(arms)),
    section(
      "Energy by state of the node",
      `Mean of ${seeds} seed(s). ${nodeStates.map((state, index) => swatch(STATE_COLOURS[index] ?? "#000", STATES[state])).join(" ")}`,
      energyByState(arms),
    ),
    section(
      "Waits by class",
      `Mean of ${seeds} seed(s); solid: performance jobs, dashed: standard jobs.${legendOf(arms)}`,
      waitsByClass(arms),
    ),
    section(
      "Energy against the wait of performance jobs",
      "Every arm, mean and 95 % interval. Left and below is better.",
      energyAgainstWait(arms, comparison),
    ),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>joulie simulate</title>
<style>${STYLE}</style>
</head>
<body>
<h1>joulie simulate</h1>
<p>${escaped(facts.join(", "))}</p>
${comparison === undefined ? "" : `<p>${escaped(comparison.note)}</p>\n${tableOf(comparison, figures)}`}
${plots.join("\n")}
<dl>${figures.map(({ title, about }) => (about === undefined ? "" : `<dt>${escaped(title)}</dt><dd>${escaped(about)}</dd>`)).join("")}</dl>
</body>
</html>
`;
}

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }
table { border-collapse: collapse; font-size: 13px; } td { white-space: nowrap; } th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; } div.wide { overflow-x: auto; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: #555; } svg .grid { stroke: #e4e4e4; }
span.key { display: inline-block; width: 0.8em; height: 0.8em; margin: 0 0.3em 0 0.9em; } dt { font-weight: 600; }
`;

function armsOf(runs: readonly ExperimentRun[]): readonly Arm[] {
  const byName = new Map<string, ExperimentRun[]>();
  for (const run of runs) {
    const name = contenderName(run.contender);
    const own = byName.get(name);
    if (own === undefined) byName.set(name, [run]);
    else own.push(run);
  }
  return Array.from(byName, ([name, own], index) => ({ name, colour: colourOf(index), runs: own }));
}

const swatch = (colour: string, text: string): string =>
  `<span class="key" style="background:${colour}"></span>${escaped(text)}`;
const legendOf = (arms: readonly Arm[]): string => arms.map(({ colour, name }) => swatch(colour, name)).join(" ");
const section = (title: string, about: string, chart: string): string =>
  `<h2>${escaped(title)}</h2>\n<p>${about}</p>\n${chart}`;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const detailsOf = ({ runs }: Arm): readonly RunDetail[] => runs.flatMap(({ detail }) => detail ?? []);

function powerOverTime(arms: readonly Arm[]): string {
  const series = arms.map((arm) => ({ ...arm, watts: detailsOf(arm)[0]?.wattsByMinute ?? new Float64Array(0) }));
  const minutes = Math.max(...series.map(({ watts }) => watts.length));
  const highest = Math.max(...series.map(({ watts }) => watts.reduce((most, power) => Math.max(most, power), 0)));
  return svgChart({
    x: linearAxis("hours", 0, minutes / 60, 12),
    y: linearAxis("kW", 0, highest / 1000),
    draw: (x, y) =>
      series
        .map(({ watts, colour }) =>
          line(
            Array.from(watts, (power, minute) => [x(minute / 60), y(power / 1000)]),
            colour,
          ),
        )
        .join("\n"),
  });
}

const STATES: Readonly<Record<(typeof nodeStates)[number], string>> = {
  empty: "empty nodes",
  eco: "busy under caps",
  full: "busy at full speed",
  off: "off",
  stopping: "shutting down",
  waking: "booting",
  failed: "failed boots",
};
const STATE_COLOURS = ["#bbbbbb", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#e69f00", "#000000"] as const;

function energyByState(arms: readonly Arm[]): string {
  const parts = arms.map((arm) =>
    nodeStates.map((state) => mean(detailsOf(arm).map(({ kWhByState }) => kWhByState[state] ?? 0))),
  );
  const highest = Math.max(...parts.map((own) => own.reduce((sum, part) => sum + part, 0)));
  const x: Axis = {
    label: "arm",
    min: -0.6,
    max: arms.length - 0.4,
    ticks: arms.map(({ name }, at) => ({ at, text: name })),
  };
  return svgChart({
    x,
    y: linearAxis("kWh, whole run", 0, highest),
    draw: (toX, toY) =>
      parts
        .flatMap((own, index) => {
          let below = 0;
          return own.map((part, state) => {
            const [left, top] = [toX(index - 0.3), toY(below + part)];
            const rectangle = `<rect x="${pixel(left)}" y="${pixel(top)}" width="${pixel(toX(index + 0.3) - left)}" height="${pixel(toY(below) - top)}" fill="${STATE_COLOURS[state] ?? "#000"}"><title>${escaped(`${nodeStates[state] ?? ""}: ${formatNumber(part, 1)} kWh`)}</title></rect>`;
            below += part;
            return rectangle;
          });
        })
        .join("\n"),
  });
}

/** Waits span seconds to hours: a logarithmic axis that starts at 1 s. */
const logOf = (seconds: number): number => Math.log10(Math.max(1, seconds));
const LOG_TICKS = [
  [1, "≤ 1 s"],
  [10, "10 s"],
  [60, "1 min"],
  [600, "10 min"],
  [3600, "1 h"],
  [36_000, "10 h"],
  [360_000, "100 h"],
] as const;

const logAxis = (label: string, most: number): Axis => {
  const max = logOf(Math.max(10, most));
  const ticks = LOG_TICKS.map(([seconds, text]) => ({ at: logOf(seconds), text })).filter(({ at }) => at <= max);
  return { label, min: 0, max, ticks };
};

function waitsByClass(arms: readonly Arm[]): string {
  const quantiles = (arm: Arm, workloadClass: "performance" | "standard"): readonly number[] =>
    WAIT_SHARES.map((_, index) =>
      mean(detailsOf(arm).flatMap(({ waitQuantiles }) => waitQuantiles[workloadClass][index] ?? [])),
    ).filter(Number.isFinite);
  const rows = arms.flatMap((arm) =>
    (["performance", "standard"] as const).map((workloadClass) => ({
      colour: arm.colour,
      dashed: workloadClass === "standard",
      waits: quantiles(arm, workloadClass),
    })),
  );
  return svgChart({
    x: {
      label: "share of the jobs of the class that waited at most this long",
      min: 0,
      max: WAIT_SHARES.length - 1,
      ticks: WAIT_SHARES.map((share, at) => ({ at, text: `${Number((share * 100).toFixed(1))} %` })),
    },
    y: logAxis("wait", Math.max(...rows.flatMap(({ waits }) => waits), 1)),
    draw: (x, y) =>
      rows
        .map(({ colour, dashed, waits }) => {
          const path = line(
            waits.map((wait, index) => [x(index), y(logOf(wait))]),
            colour,
          );
          return dashed ? path.replace("<polyline", '<polyline stroke-dasharray="5 4"') : path;
        })
        .join("\n"),
  });
}

function energyAgainstWait(arms: readonly Arm[], comparison: ArmComparison | undefined): string {
  const points = arms.map(({ name, colour, runs }) => {
    const own = comparison?.arms.find(({ arm }) => arm === name)?.figures;
    const alone = (key: string): Estimate => ({ mean: mean(runs.map(({ figures }) => figures[key] ?? Number.NaN)) });
    const energy = own?.["windowKWhPerWork"] ?? alone("windowKWhPerWork");
    return { name, colour, energy, wait: own?.["performanceWaitP99Sec"] ?? alone("performanceWaitP99Sec") };
  });
  const energies = points.flatMap(({ energy }) => [energy.low ?? energy.mean, energy.high ?? energy.mean]);
  return svgChart({
    x: logAxis("P99 wait of performance jobs", Math.max(...points.map(({ wait }) => wait.high ?? wait.mean), 1)),
    y: linearAxis("kWh per work in the window", Math.min(...energies), Math.max(...energies)),
    draw: (x, y) =>
      points
        .map(({ name, colour, energy, wait }) => {
          const [at, height] = [x(logOf(wait.mean)), y(energy.mean)];
          const bars = [
            line(
              [
                [x(logOf(wait.low ?? wait.mean)), height],
                [x(logOf(wait.high ?? wait.mean)), height],
              ],
              colour,
            ),
            line(
              [
                [at, y(energy.low ?? energy.mean)],
                [at, y(energy.high ?? energy.mean)],
              ],
              colour,
            ),
          ];
          return `${bars.join("")}<circle cx="${pixel(at)}" cy="${pixel(height)}" r="5" fill="${colour}"/><text x="${pixel(at + 9)}" y="${pixel(height + 4)}">${escaped(name)}</text>`;
        })
        .join("\n"),
  });
}

/** Means of all figures, and the differences that may be compared. */
function tableOf({ arms, baseline }: ArmComparison, figures: readonly ReportFigure[]): string {
  const cell = (arm: ArmComparison["arms"][number], { key, digits }: ReportFigure): string => {
    const value = arm.figures[key];
    const percent = arm.difference[key];
    const off = percent ?? arm.change[key];
    const range =
      off?.low === undefined || off.high === undefined
        ? ""
        : ` [${formatSigned(off.low, 2)}, ${formatSigned(off.high, 2)}]`;
    const unit = percent === undefined ? "" : " %";
    const difference = off === undefined ? "" : `<br>${formatSigned(off.mean, 2)}${unit}${range}`;
    return `<td>${value === undefined ? "–" : formatNumber(value.mean, digits)}${difference}</td>`;
  };
  const head = figures.map(({ title }) => `<th>${escaped(title)}</th>`).join("");
  const rows = arms.map(
    (arm) => `<tr><td>${escaped(arm.arm)}</td>${figures.map((figure) => cell(arm, figure)).join("")}</tr>`,
  );
  return `<p>Differences: against ${escaped(baseline)}, paired by seed, in percent or in the unit of the column.</p>\n<div class="wide"><table><tr><th>arm</th>${head}</tr>${rows.join("")}</table></div>`;
}
