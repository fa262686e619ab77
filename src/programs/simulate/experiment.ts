import type { Contender } from "./contenders.ts";
import type { ExperimentRun, ReportFigure } from "./run.ts";
import type { Trace } from "./trace/trace.ts";

/** One mode on one cluster: what to run each arm and seed with. */
export interface Experiment {
  readonly figures: readonly ReportFigure[];
  /** What every output says of the conditions. */
  readonly conditions: Readonly<Record<string, string | number>>;
  /** Of one seed. */
  readonly expectedJobs: number;
  traceOf(seed: number): Trace;
  /** `onProgress` is told shares of the run, 0–1. */
  run(trace: Trace, contender: Contender, seed: number, onProgress: (share: number) => void): ExperimentRun;
  /** What can be told of a run only once all are done. */
  settle(runs: readonly ExperimentRun[]): readonly ExperimentRun[];
}

export interface ExperimentOptions {
  /** Absent = jobs are generated. */
  readonly trace?: Trace | undefined;
  readonly nodes?: number | undefined;
  readonly hours?: number | undefined;
  readonly load?: number | undefined;
}
