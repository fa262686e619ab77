/** A source of random numbers. Core code never creates its own; it is passed in, so that a seed reproduces a run. */
export interface RandomSource {
  /** A number in [0, 1). */
  next(): number;
}
