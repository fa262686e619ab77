import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../core/units/index.ts";
import type { Clock, Timer } from "../clock/index.ts";

/** What a probe of a silent watch found: nothing was missed; something may have been; or an error that settles it. */
export type Finding = "nothing missed" | "in doubt" | Error;

export interface WatchdogOptions {
  readonly clock: Clock;
  /** The longest silence before the probe. */
  readonly limit: Milliseconds;
  readonly probe: () => Promise<Finding>;
  /** The watch is given up: with what the probe met, or with nothing when it only stayed in doubt. */
  readonly giveUp: (error: Error | undefined) => void;
}

const LONGEST_GRACE = 15_000;

/**
 * Doubts a watch that says nothing: over a connection that is dead without knowing it, nothing is exactly what one hears.
 * A probe over another connection tells whether there was anything to hear; in doubt the watch gets a little more time.
 */
export class IdleWatchdog {
  readonly #options: WatchdogOptions;
  #heardAt: MonotonicInstant;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
    this.#wait(options.limit, () => void this.#doubt());
  }

  heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** A timer that finds out it came too early waits for the rest: cheaper than a new timer for each event. */
  #wait(length: Milliseconds, then: () => void): void {
    const { clock, limit } = this.#options;
    this.#timer = clock.after(length, () => {
      const rest = this.#heardAt + limit - clock.monotonic();
      if (rest > 0) this.#wait(milliseconds(rest), () => void this.#doubt());
      else then();
    });
  }

  async #doubt(): Promise<void> {
    const { limit, probe, giveUp } = this.#options;
    let finding: Finding;
    try {
      finding = await probe();
    } catch (error) {
      finding = error instanceof Error ? error : new Error(String(error));
    }
    if (this.#stopped) return;
    if (finding === "nothing missed") this.heard();
    if (finding instanceof Error) giveUp(finding);
    else this.#wait(milliseconds(Math.min(limit / 4, LONGEST_GRACE)), () => giveUp(undefined));
  }
}
