/** Power slopes of all nodes: the same sums as `slope`, in the same order, by column. */
export class PowerSlopes {
  readonly slopes: Float64Array;
  readonly #count: number;
  readonly #history: Float64Array;
  readonly #means: Float64Array;
  #steps = 0;

  constructor(count: number) {
    this.#count = count;
    this.slopes = new Float64Array(count);
    this.#means = new Float64Array(count);
    this.#history = new Float64Array(count * HISTORY);
  }

  /** Starts a step with new values; `amend` replaces them when the step ends. */
  push(values: Float64Array): void {
    this.#steps++;
    this.amend(values);
    this.#work();
  }

  amend(values: Float64Array): void {
    this.#history.set(values, ((this.#steps - 1) % HISTORY) * this.#count);
  }

  #work(): void {
    const known = Math.min(this.#steps, HISTORY);
    if (known < 2) return;
    const count = this.#count;
    const history = this.#history;
    const means = this.#means.fill(0);
    const slopes = this.slopes.fill(0);
    const middle = (known - 1) / 2;
    const columnOf = (age: number): number => ((this.#steps - known + age) % HISTORY) * count;
    for (let age = 0; age < known; age++) {
      const column = columnOf(age);
      for (let i = 0; i < count; i++) means[i] = (means[i] as number) + (history[column + i] as number);
    }
    for (let i = 0; i < count; i++) means[i] = (means[i] as number) / known;
    let below = 0;
    for (let age = 0; age < known; age++) {
      const column = columnOf(age);
      const weight = age - middle;
      below += weight * weight;
      for (let i = 0; i < count; i++) {
        slopes[i] = (slopes[i] as number) + weight * ((history[column + i] as number) - (means[i] as number));
      }
    }
    for (let i = 0; i < count; i++) slopes[i] = (slopes[i] as number) / below;
  }
}

/** Number of steps used for a trend. */
export const HISTORY = 10;

/**
 * Least-squares slope of values one step apart, oldest first; 0 for fewer than two values. The order of the sums is
 * fixed, so that equal histories give bit-identical slopes.
 */
export function slope(values: ArrayLike<number>): number {
  const count = values.length;
  if (count < 2) return 0;
  const middle = (count - 1) / 2;
  let mean = 0;
  for (let i = 0; i < count; i++) mean += values[i] as number;
  mean /= count;
  let above = 0;
  let below = 0;
  for (let i = 0; i < count; i++) {
    above += (i - middle) * ((values[i] as number) - mean);
    below += (i - middle) * (i - middle);
  }
  return above / below;
}
