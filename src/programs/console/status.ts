import {
  ageText,
  type ClusterObjects,
  type ClusterProblem,
  type ClusterTotals,
  counted,
  defaultReportSettings,
  findProblems,
  type InstalledWorkload,
  presetText,
  summarizeNodes,
  totalsOver,
} from "../../core/report/index.ts";
import { whyUnknown } from "./cluster/cluster-reader.ts";
import { type AdvisingContext, advised, type Screen } from "./context.ts";
import type { Printable } from "./output/output.ts";
import { bar, cut, paintFor, powerText, wrap } from "./output/screen.ts";

export function statusReport(objects: ClusterObjects, { screen, target }: AdvisingContext): Printable {
  const summaries = summarizeNodes(objects, defaultReportSettings);
  const problems = findProblems(objects, defaultReportSettings, summaries).map((problem) => ({
    ...problem,
    command: advised(problem.command, target),
  }));
  const totals = totalsOver(summaries);
  return {
    text: () => [problemLines(problems, screen), totalLines(totals, objects, screen)].join("\n"),
    value: () => ({ problems, totals, installation: objects.installation }),
    names: () => problems.map(({ id }) => `problem/${id}`),
  };
}

const PROBLEMS_LIMIT = 8;
const INDENT = 2;

function problemLines(problems: readonly ClusterProblem[], screen: Screen): string {
  const paint = paintFor(screen);
  if (problems.length === 0) return `${paint.green("No problems.")}\n`;
  const colours = { critical: paint.red, warning: paint.yellow, notice: paint.cyan } as const;
  const width = screen.columns === undefined ? undefined : screen.columns - INDENT;
  const shown = problems.slice(0, PROBLEMS_LIMIT).flatMap(({ severity, subject, what, meaning, command }) => {
    const [first = "", ...rest] = wrap(`${severity.toUpperCase()}  ${subject}: ${what}`, width);
    return [
      colours[severity](first),
      ...rest.map((line) => `  ${line}`),
      ...wrap(meaning, width).map((line) => `  ${line}`),
      ...wrap(`-> ${command}`, undefined).map((line) => `  ${paint.bold(line)}`),
    ];
  });
  const more = problems.length - PROBLEMS_LIMIT;
  if (more > 0) shown.push(`and ${more} more: joulie status -o json`);
  return `${paint.bold(problems.length === 1 ? "1 PROBLEM" : `${problems.length} PROBLEMS`)}\n${shown.join("\n")}\n`;
}

const BAR = 20;

/** The chart has a DaemonSet for each kind of node; most clusters have few kinds. */
const hasNodes = ({ kind, desired }: InstalledWorkload, _: number, programs: readonly InstalledWorkload[]): boolean =>
  kind !== "DaemonSet" || desired > 0 || programs.every((other) => other.kind !== "DaemonSet" || other.desired === 0);

function totalLines(totals: ClusterTotals, objects: ClusterObjects, screen: Screen): string {
  const { installation } = objects;
  const paint = paintFor(screen);
  const { drawn, budgetWithPower, budget, uncapped, managed, byClass, measured, withPower, pods, podsByClass } = totals;
  const lines: [string, string][] = [];
  if (drawn === undefined) lines.push(["POWER", "unknown: no node that is awake has a reading"]);
  else {
    const share = budgetWithPower > 0 ? drawn / budgetWithPower : undefined;
    lines.push([
      "POWER",
      `${powerText(drawn)} of ${powerText(budgetWithPower)} allowed by caps${share === undefined ? "" : ` ${bar(share, BAR)} ${Math.round(share * 100)} %`}`,
    ]);
    const saved = uncapped > 0 ? `, ${Math.round((100 * budget) / uncapped)} % of ${powerText(uncapped)} uncapped` : "";
    lines.push(["LIMIT", `${powerText(budget)}${saved}`]);
    lines.push(["READINGS", `${withPower} of ${counted(managed, "node")}, ${measured} of them measured`]);
  }
  const classes = (["performance", "eco", "draining", "asleep", "unknown"] as const)
    .filter((name) => byClass[name] > 0 || name === "performance" || name === "eco")
    .map((name) => `${byClass[name]} ${name}`);
  lines.push(["NODES", `${managed} managed: ${classes.join(", ")}`]);
  lines.push([
    "PODS",
    podsByClass === undefined
      ? `unknown: ${whyUnknown(objects, "pods")}`
      : `${pods}: ${podsByClass.performance} performance, ${podsByClass.standard} standard`,
  ]);
  const preset = installation && presetText(installation);
  if (preset !== undefined) lines.push(["PRESET", preset]);
  const { holder, age } = installation?.operatorLease ?? {};
  // Without Deployments, as in the demo, the Lease shows that an operator runs.
  if (installation?.programs.length === 0 && holder !== undefined)
    lines.push(["OPERATOR", `${holder} leads, renewed ${ageText(age)} ago`]);
  for (const { name, ready, desired, version } of (installation?.programs ?? []).filter(hasNodes))
    lines.push(["PROGRAM", `${name} ${ready}/${desired}${version === undefined ? "" : ` (${version})`}`]);
  return lines
    .map(([head, text]) => {
      const line = `${head.padEnd(9)} ${text}`;
      const fitted = screen.columns === undefined ? line : cut(line, screen.columns);
      return `${paint.bold(fitted.slice(0, 9))}${fitted.slice(9)}\n`;
    })
    .join("");
}
