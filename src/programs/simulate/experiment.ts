import type { Milliseconds, Percent, Seconds } from "../../core/units/index.ts";
import type { Contender } from "./contenders.ts";
import type { Trace } from "./trace/trace.ts";

/** What is run for each arm and seed: jobs that wait on one cluster, or the published experiment (`bench/published`). */
export interface Experiment {
  readonly figures: readonly ReportFigure[];
  /** Conditions printed with every result. */
  readonly conditions: Readonly<Record<string, string | number>>;
  /** Per seed. */
  readonly expectedJobs: number;
  traceOf(seed: number): Trace;
  /** `onProgress` receives the completed share of the run, 0–1. */
  run(trace: Trace, contender: Contender, seed: number, onProgress: (share: number) => void): ExperimentRun;
  /** Adds figures that depend on all runs. */
  settle(runs: readonly ExperimentRun[]): readonly ExperimentRun[];
}

export interface ExperimentOptions {
  /** Absent = generate jobs. */
  readonly trace?: Trace | undefined;
  readonly nodes?: number | undefined;
  readonly hours?: number | undefined;
  readonly load?: number | undefined;
  readonly wallPower?: boolean;
  readonly bindBoards?: boolean;
  readonly performanceShare?: number | undefined;
  readonly ecoMaxSlowdown?: Percent | undefined;
  readonly ecoClockShare?: number | undefined;
  readonly sleep?: SleepOptions;
}

/** How nodes sleep and boot in arms with sleep; absent values are the defaults. */
export interface SleepOptions {
  /** Boot times of nodes without and with GPUs. */
  readonly bootCpu?: Seconds | undefined;
  readonly bootGpu?: Seconds | undefined;
  readonly failedBoots?: number | undefined;
  readonly reserveQuantile?: number | undefined;
  /** The share of a zone that may be asleep. */
  readonly zoneShare?: number | undefined;
  /** How long a node is empty before it sleeps. */
  readonly after?: Milliseconds | undefined;
}

/** Result of one arm on the jobs of one seed, and which jobs were done. */
export interface ExperimentRun {
  readonly contender: Contender;
  readonly seed: number;
  /** Undefined figures are omitted, such as energy per job without a job. */
  readonly figures: Readonly<Record<string, number>>;
  /** 1 for each completed job; in the published experiment for each accepted job. */
  readonly done: Uint8Array;
}

/** How a figure is formatted, and when differences are meaningful. */
export interface ReportFigure {
  readonly key: string;
  readonly title: string;
  readonly digits: number;
  /** Shown only if there are other runs. */
  readonly besideOthers?: true;
  /** Shown only if nodes sleep in a run. */
  readonly ofSleep?: true;
  /** Explains the title. */
  readonly about?: string;
  /**
   * `always`: a rate, such as energy per hour of work; `same work`: only between runs that completed the same jobs;
   * `absolute`: the same, in the figure's own unit, because its base is often zero.
   */
  readonly compared?: "always" | "same work" | "absolute";
}

/** Drops undefined figures. */
export function withoutUndefined(figures: Readonly<Record<string, number | undefined>>): Record<string, number> {
  const own: Record<string, number> = {};
  for (const [key, value] of Object.entries(figures)) if (value !== undefined) own[key] = value;
  return own;
}

/** Undefined if the denominator is zero. */
export const ratio = (amount: number, of: number): number | undefined => (of > 0 ? amount / of : undefined);
