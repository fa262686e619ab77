/** A callback that waits for its time; `order` tells timers of the same time apart. */
export interface WaitingTimer {
  readonly due: number;
  readonly order: number;
  readonly callback: () => void;
}

const comesBefore = (a: WaitingTimer, b: WaitingTimer): boolean =>
  a.due < b.due || (a.due === b.due && a.order < b.order);

/** Timers by due time, then by registration. Kept sorted, the next one last: with thousands of timers a move of memory is cheap. */
export class TimerQueue {
  readonly #waiting: WaitingTimer[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  get next(): WaitingTimer | undefined {
    return this.#waiting.at(-1);
  }

  add(timer: WaitingTimer): void {
    this.#waiting.splice(this.#placeOf(timer), 0, timer);
  }

  remove(timer: WaitingTimer): void {
    const place = this.#placeOf(timer);
    if (this.#waiting[place] === timer) this.#waiting.splice(place, 1);
  }

  #placeOf(timer: WaitingTimer): number {
    let low = 0;
    let high = this.#waiting.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#waiting[middle];
      if (other !== undefined && comesBefore(timer, other)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
