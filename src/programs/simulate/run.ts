import type { Contender } from "./contenders.ts";

/** One arm on one seed's jobs: what is reported, and which jobs were done, so that runs are compared like with like. */
export interface ExperimentRun {
  readonly contender: Contender;
  readonly seed: number;
  /** A figure that cannot be known, such as energy per job without a job, is missing. */
  readonly figures: Readonly<Record<string, number>>;
  /** 1 for each job that was done (in `drop` mode: taken). */
  readonly done: Uint8Array;
}

/** How a figure is shown, and whether a difference in it means something. */
export interface ReportFigure {
  readonly key: string;
  readonly title: string;
  readonly digits: number;
  /** Says something only beside other runs. */
  readonly besideOthers?: true;
  /** What it is, where its title does not tell. */
  readonly about?: string;
  /** `always`: a rate, such as energy for an hour of work, whatever was done; `same work`: only between runs that did the same. */
  readonly compared?: "always" | "same work";
}

/** The figures that are known. */
export function withoutUndefined(figures: Readonly<Record<string, number | undefined>>): Record<string, number> {
  const own: Record<string, number> = {};
  for (const [key, value] of Object.entries(figures)) if (value !== undefined) own[key] = value;
  return own;
}

/** Of nothing there is no share. */
export const ratio = (amount: number, of: number): number | undefined => (of > 0 ? amount / of : undefined);
