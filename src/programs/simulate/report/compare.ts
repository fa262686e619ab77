import { seededRandom } from "../../../platform/random/index.ts";
import { contenderName } from "../contenders.ts";
import type { ExperimentRun, ReportFigure } from "../experiment.ts";
import { type Estimate, estimateOf } from "./interval.ts";

interface ComparedArm {
  readonly arm: string;
  readonly figures: Readonly<Record<string, Estimate>>;
  /** Percent difference to the first arm, paired by seed; absent for the first arm and where it would mislead. */
  readonly difference: Readonly<Record<string, Estimate>>;
  /** The same in the figure's own unit, for figures that are compared so. */
  readonly change: Readonly<Record<string, Estimate>>;
}

export interface ArmComparison {
  readonly baseline: string;
  readonly seeds: readonly number[];
  /** Whether all arms completed the same jobs on every seed. Totals are compared only in that case. */
  readonly sameWork: boolean;
  readonly note: string;
  readonly arms: readonly ComparedArm[];
}

const SAME = "Every arm did the same jobs on every seed.";
const DIFFERENT =
  "The arms did DIFFERENT WORK: not the same jobs were done. Figures that depend on the work are not compared: doing less is no saving.";

const INTERVALS =
  "Intervals: 95 %, bootstrap over the seeds, widened as Student's t is for so few; differences are of pairs, seed by seed.";

/** Compares runs of the same seeds. The bootstrap is seeded as well: the same seeds give the same intervals. */
export function compareArms(runs: readonly ExperimentRun[], figures: readonly ReportFigure[]): ArmComparison {
  const byArm = new Map<string, ExperimentRun[]>();
  for (const run of runs)
    byArm.set(contenderName(run.contender), [...(byArm.get(contenderName(run.contender)) ?? []), run]);
  const [first] = byArm;
  if (first === undefined) throw new RangeError("there is nothing to compare");
  const [baseline, baseRuns] = first;
  const sameWork = [...byArm.values()].every((own) => own.every((run, index) => sameJobs(run, baseRuns[index])));
  const seeds = baseRuns.map(({ seed }) => seed);
  const random = () => seededRandom(seeds[0] ?? 0);
  const arms = [...byArm].map(([arm, own]): ComparedArm => {
    const shown: Record<string, Estimate> = {};
    const difference: Record<string, Estimate> = {};
    const change: Record<string, Estimate> = {};
    for (const { key, compared } of figures) {
      const values = own.map((run) => run.figures[key]).filter((value) => value !== undefined);
      if (values.length === own.length) shown[key] = estimateOf(values, random());
      if (own === baseRuns || compared === undefined || (compared !== "always" && !sameWork)) continue;
      const [off, into] = compared === "absolute" ? [absoluteOff, change] : [percentOff, difference];
      const pairs = own.map((run, index) => off(run.figures[key], baseRuns[index]?.figures[key]));
      if (pairs.every(Number.isFinite)) into[key] = estimateOf(pairs, random());
    }
    return { arm, figures: shown, difference, change };
  });
  const note = `${sameWork ? SAME : DIFFERENT}${seeds.length > 1 ? ` ${INTERVALS}` : ""}`;
  return { baseline, seeds, sameWork, note, arms };
}

const sameJobs = (run: ExperimentRun, other: ExperimentRun | undefined): boolean =>
  other !== undefined &&
  run.done.length === other.done.length &&
  run.done.every((done, index) => done === other.done[index]);

const absoluteOff = (value: number | undefined, base: number | undefined): number =>
  (value ?? Number.NaN) - (base ?? Number.NaN);

const percentOff = (value: number | undefined, base: number | undefined): number =>
  ((value ?? Number.NaN) / (base ?? Number.NaN) - 1) * 100;
