import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";

/** How long a page or a relist may block the event loop before requests of kube-scheduler get their turn. */
const LENGTH = milliseconds(1);

/** Splits long work into slices of 1 ms, so that requests are served in between. */
export class TimeSlice {
  readonly #clock: Clock;
  #end: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#end = clock.monotonic() + LENGTH;
  }

  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  /** Yields to the event loop if the slice is over, and starts the next one. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await this.#clock.sleep(milliseconds(0));
    this.#end = this.#clock.monotonic() + LENGTH;
  }
}

/** Yields the chunks, and lets the event loop run after each slice. */
export async function* inTimeSlices(chunks: Iterable<string>, clock: Clock): AsyncGenerator<string, void, undefined> {
  const slice = new TimeSlice(clock);
  for (const chunk of chunks) {
    yield chunk;
    await slice.next();
  }
}
