import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";

/** How long a page may hold the event loop before requests of kube-scheduler go first. */
const TURN = milliseconds(1);

/** Takes turns with everything else that waits for the event loop. */
export class TimeSlice {
  readonly #clock: Clock;
  #end: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#end = clock.monotonic() + TURN;
  }

  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  /** Waits for the next turn when this one is over. */
  async next(): Promise<void> {
    if (!this.isOver) return;
    await this.#clock.sleep(milliseconds(0));
    this.#end = this.#clock.monotonic() + TURN;
  }
}

/** The pieces, each in its turn. */
export async function* inTimeSlices(pieces: Iterable<string>, clock: Clock): AsyncGenerator<string, void, undefined> {
  const turns = new TimeSlice(clock);
  for (const piece of pieces) {
    yield piece;
    await turns.next();
  }
}
