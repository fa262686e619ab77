/** Where chance comes from. Core never makes its own: who needs it is given one, so that a seed repeats a run. */
export interface RandomSource {
  /** A number in [0, 1). */
  next(): number;
}
