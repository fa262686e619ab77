import type { Milliseconds, Percent, Seconds } from "../../core/units/index.ts";
import type { Contender } from "./contenders.ts";
import type { ExperimentRun, ReportFigure } from "./run.ts";
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
  readonly wallPower?: boolean | undefined;
  readonly boardSpeeds?: boolean | undefined;
  readonly bindBoards?: boolean | undefined;
  readonly performanceShare?: number | undefined;
  readonly ecoMaxSlowdown?: Percent | undefined;
  readonly ecoClockShare?: number | undefined;
  readonly sleep?: SleepOptions | undefined;
}

/** How nodes sleep and boot in arms with sleep; absent values are the defaults. */
export interface SleepOptions {
  /** Boot times of nodes without and with GPUs. */
  readonly bootCpu?: Seconds | undefined;
  readonly bootGpu?: Seconds | undefined;
  /** Share of boots that fail. */
  readonly failedBoots?: number | undefined;
  readonly reserveQuantile?: number | undefined;
  /** How long a node is empty before it sleeps. */
  readonly after?: Milliseconds | undefined;
}
