/**
 * Who is best of many when a few change at a time: a tree of winners over scores, the lower index on a tie. −Infinity takes no
 * part. A change costs the way up to where the winner stays the same, mostly a step or two.
 */
export class Contest {
  readonly scores: Float64Array;
  readonly #winners: Int32Array;
  readonly #size: number;

  constructor(size: number) {
    this.#size = size;
    this.scores = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    this.#winners = new Int32Array(2 * size);
    for (let i = 0; i < size; i++) this.#winners[size + i] = i;
  }

  /** After `scores` was filled. */
  rebuild(): void {
    const winners = this.#winners;
    const scores = this.scores;
    for (let at = this.#size - 1; at >= 1; at--) {
      const left = winners[2 * at] as number;
      const right = winners[2 * at + 1] as number;
      winners[at] = better(scores, left, right);
    }
  }

  set(index: number, score: number): void {
    const scores = this.scores;
    if (scores[index] === score) return;
    scores[index] = score;
    const winners = this.#winners;
    for (let at = (index + this.#size) >> 1; at >= 1; at >>= 1) {
      const winner = better(scores, winners[2 * at] as number, winners[2 * at + 1] as number);
      if (winner !== index && winner === winners[at]) return;
      winners[at] = winner;
    }
  }

  /** −1 when nobody takes part. */
  best(): number {
    if (this.#size === 0) return -1;
    const winner = this.#winners[1] as number;
    return this.scores[winner] === Number.NEGATIVE_INFINITY ? -1 : winner;
  }
}

function better(scores: Float64Array, left: number, right: number): number {
  const of = scores[left] as number;
  const other = scores[right] as number;
  if (of === other) return left < right ? left : right;
  return of > other ? left : right;
}
