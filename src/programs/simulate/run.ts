import type { Contender } from "./contenders.ts";

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
