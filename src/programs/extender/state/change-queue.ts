import type { Clock } from "../../../platform/clock/index.ts";
import { TimeSlice } from "../time-slice.ts";

/** Applies watch changes in order; thousands of them in time slices, so that they do not delay requests. */
export class ChangeQueue {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  #waiting: (() => void)[] = [];
  #isRunning = false;

  /** `clock` is real time. */
  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  get isIdle(): boolean {
    return !this.#isRunning;
  }

  add(changes: readonly (() => void)[]): void {
    for (const change of changes) this.#waiting.push(change);
    if (!this.#isRunning) void this.#run();
  }

  clear(): void {
    this.#waiting = [];
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const slice = new TimeSlice(this.#clock);
    for (let done = 0; done < this.#waiting.length; done++) {
      try {
        this.#waiting[done]?.();
      } catch (error) {
        this.#onError(error);
      }
      if (!slice.isOver) continue;
      this.#waiting.splice(0, done + 1);
      done = -1;
      await slice.next();
    }
    this.#waiting = [];
    this.#isRunning = false;
  }
}
