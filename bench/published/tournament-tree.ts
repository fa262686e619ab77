/**
 * Finds the maximum of many scores while few change at a time: a tree of winners, where the lower index wins a tie.
 * −Infinity is excluded. An update walks up until the winner stays the same, usually one or two steps.
 */
export class TournamentTree {
  readonly scores: Float64Array;
  readonly #winners: Int32Array;
  readonly #size: number;
  #best = -1;
  #grown = false;

  constructor(size: number) {
    this.#size = size;
    this.scores = new Float64Array(size).fill(-Infinity);
    this.#winners = new Int32Array(2 * size);
    for (let i = 0; i < size; i++) this.#winners[size + i] = i;
  }

  /**
   * Call after filling `scores`. Finds only the best; the tree is built on the first `set`, which often never comes.
   */
  rebuild(): void {
    const scores = this.scores;
    let best = -1;
    let highest = -Infinity;
    for (let index = 0; index < scores.length; index++) {
      const score = scores[index] as number;
      if (score <= highest) continue;
      best = index;
      highest = score;
    }
    this.#best = best;
    this.#grown = false;
  }

  set(index: number, score: number): void {
    const scores = this.scores;
    if (scores[index] === score) return;
    if (!this.#grown) this.#grow();
    scores[index] = score;
    const winners = this.#winners;
    for (let at = (index + this.#size) >> 1; at >= 1; at >>= 1) {
      const winner = better(scores, winners[2 * at] as number, winners[2 * at + 1] as number);
      if (winner !== index && winner === winners[at]) break;
      winners[at] = winner;
    }
    const winner = winners[1] as number;
    this.#best = scores[winner] === -Infinity ? -1 : winner;
  }

  /** Returns −1 if there is no candidate. */
  best(): number {
    return this.#best;
  }

  #grow(): void {
    const winners = this.#winners;
    const scores = this.scores;
    for (let at = this.#size - 1; at >= 1; at--) {
      winners[at] = better(scores, winners[2 * at] as number, winners[2 * at + 1] as number);
    }
    this.#grown = true;
  }
}

function better(scores: Float64Array, left: number, right: number): number {
  const of = scores[left] as number;
  const other = scores[right] as number;
  if (of === other) return left < right ? left : right;
  return of > other ? left : right;
}
