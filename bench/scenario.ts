/** One measured value with its unit. */
export interface BenchFigure {
  readonly unit: string;
  readonly value: number;
}

/** A target for a figure: a ratio of two figures of one run, or a size. Not a test, because machines differ. */
export interface Goal {
  readonly says: string;
  readonly of: (figures: Readonly<Record<string, number>>) => number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A file `bench/NAME.ts` exports one as `scenario`; `npm run bench -- NAME` runs it. */
export interface Scenario {
  readonly about: string;
  readonly repeats: number;
  /** Measures every figure once, in one pass, so that all see the same machine load. `say` receives each longer step. */
  readonly measure: (say: (step: string) => void) => Promise<Record<string, BenchFigure>> | Record<string, BenchFigure>;
  readonly goals: readonly Goal[];
  /** The table of a document, printed after the others. */
  readonly document?: (figures: ReadonlyMap<string, { readonly unit: string; readonly median: number }>) => string;
  readonly close?: () => Promise<void> | void;
}

/** Nanoseconds per call of `work`, called often enough to last at least `forMs`. */
export function nanosecondsPerCall(work: () => void, forMs = 100): BenchFigure {
  for (let calls = 1; ; calls *= 4) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) work();
    const took = performance.now() - start;
    if (took >= forMs) return { unit: "ns", value: (took * 1e6) / calls };
  }
}
