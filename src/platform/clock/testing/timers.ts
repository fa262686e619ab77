/** A pending callback; `order` is the tie-breaker for equal times. */
export interface WaitingTimer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
  /** The index in the queue, -1 if not queued, so that a timer can be cancelled without a search. */
  place: number;
}

const comesBefore = (a: WaitingTimer, b: WaitingTimer): boolean =>
  a.due < b.due || (a.due === b.due && a.order < b.order);

/** Timers by due time, then by registration. A binary heap: the children of i are at 2i+1 and 2i+2. */
export class TimerQueue {
  readonly #heap: WaitingTimer[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get next(): WaitingTimer | undefined {
    return this.#heap[0];
  }

  add(timer: WaitingTimer): void {
    this.#rise(timer, this.#heap.length);
  }

  remove(timer: WaitingTimer): void {
    const { place } = timer;
    if (place < 0) return;
    timer.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === timer) return;
    // The last timer fills the gap. It may belong further down, or further up if it comes from another branch.
    if (comesBefore(last, timer)) this.#rise(last, place);
    else this.#sink(last, place);
  }

  #rise(timer: WaitingTimer, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = this.#heap[(place - 1) >> 1];
      if (parent === undefined || !comesBefore(timer, parent)) break;
      this.#put(parent, place);
      place = (place - 1) >> 1;
    }
    this.#put(timer, place);
  }

  #sink(timer: WaitingTimer, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const child = right !== undefined && left !== undefined && comesBefore(right, left) ? right : left;
      if (child === undefined || !comesBefore(child, timer)) break;
      const below = child.place;
      this.#put(child, place);
      place = below;
    }
    this.#put(timer, place);
  }

  #put(timer: WaitingTimer, place: number): void {
    this.#heap[place] = timer;
    timer.place = place;
  }
}
