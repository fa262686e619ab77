import type { Clock } from "../../../platform/clock/index.ts";
import { TimeSlice } from "../time-slice.ts";

/**
 * Work that may come in heaps: done in its order, at once while it is little and in turns where it is much, so that thousands of
 * changes that a new list brings do not hold up a request. What fails costs only itself.
 */
export class ChangeQueue {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  #waiting: (() => void)[] = [];
  #isWorking = false;

  /** `clock` is real time. */
  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  get isIdle(): boolean {
    return !this.#isWorking;
  }

  add(works: readonly (() => void)[]): void {
    for (const work of works) this.#waiting.push(work);
    if (!this.#isWorking) void this.#work();
  }

  /** What still waits is not done. */
  clear(): void {
    this.#waiting = [];
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    const turns = new TimeSlice(this.#clock);
    for (let done = 0; done < this.#waiting.length; done++) {
      try {
        this.#waiting[done]?.();
      } catch (error) {
        this.#onError(error);
      }
      if (!turns.isOver) continue;
      this.#waiting.splice(0, done + 1);
      done = -1;
      await turns.next();
    }
    this.#waiting = [];
    this.#isWorking = false;
  }
}
