import type { BenchFigure, Scenario } from "../bench/scenario.ts";
import { renderTable } from "../src/core/units/index.ts";

interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
}

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface BenchmarkReport {
  readonly scenario: string;
  readonly machine: Machine;
  readonly repeats: number;
  readonly figures: Record<string, Spread & { unit: string }>;
  readonly goals: (Spread & { says: string; target: string; met: boolean })[];
}

/**
 * Medians with their spread. A goal is evaluated per repeat first, so that its ratio compares values of the same
 * repeat.
 */
export function summarise(
  name: string,
  scenario: Scenario,
  samples: Record<string, BenchFigure>[],
  machine: Machine,
): BenchmarkReport {
  const first = samples[0] ?? {};
  const figures = Object.fromEntries(
    Object.entries(first).map(([figure, { unit }]) => [
      figure,
      { unit, ...spread(samples.map((sample) => sample[figure]?.value ?? Number.NaN)) },
    ]),
  );
  const goals = scenario.goals.map(({ says, of, atLeast, atMost }) => {
    const values = samples.map((sample) =>
      of(Object.fromEntries(Object.entries(sample).map(([figure, { value }]) => [figure, value]))),
    );
    const seen = spread(values);
    const met =
      seen.median >= (atLeast ?? Number.NEGATIVE_INFINITY) && seen.median <= (atMost ?? Number.POSITIVE_INFINITY);
    const target = [
      atLeast === undefined ? "" : `at least ${atLeast}`,
      atMost === undefined ? "" : `at most ${atMost}`,
    ];
    return { says, target: target.filter(Boolean).join(", "), met, ...seen };
  });
  return { scenario: name, machine, repeats: samples.length, figures, goals };
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const lower = sorted.length % 2 === 0 ? (sorted[middle - 1] ?? Number.NaN) : upper;
  return { median: (lower + upper) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

export function renderReport(about: string, report: BenchmarkReport): string {
  const { machine } = report;
  const rows = [["figure", "median", "min – max", "unit"]];
  for (const [name, { median, min, max, unit }] of Object.entries(report.figures)) {
    rows.push([name, short(median), `${short(min)} – ${short(max)}`, unit]);
  }
  const goals = report.goals.map(
    ({ says, median, min, max, target, met }) =>
      `${met ? "met   " : "missed"} ${says}: ${short(median)} (${short(min)} – ${short(max)}), asked ${target}`,
  );
  return [
    about,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}, ${report.repeats} repeats`,
    "",
    renderTable(rows),
    ...goals,
  ].join("\n");
}

const short = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));
