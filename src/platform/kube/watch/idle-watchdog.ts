import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";

/**
 * What a probe of a silent watch found: nothing was there to hear; something was; the server is well but moved on, by
 * this kind or another; or an error that settles it.
 */
export type ProbeResult = "nothing missed" | "missed" | "unsure" | Error;

export interface WatchdogOptions {
  readonly clock: Clock;
  /** The longest silence of the server. */
  readonly limit: Milliseconds;
  readonly probe: () => Promise<ProbeResult>;
  /** The watch is given up: with what the probe met, or with nothing when it only stayed silent for too long. */
  readonly giveUp: (error: Error | undefined) => void;
}

/** Asked this early, the answer and the grace after it still fit into the limit. */
const ASK_AFTER = 0.75;
/** What was missed may be on its way: so long the watch may still bring it. */
const GRACE = 0.25;
const LONGEST_GRACE = 15_000;

/**
 * Doubts a watch that says nothing: over a connection that is dead without knowing it, nothing is exactly what one hears.
 * A probe over another connection tells whether there was anything to hear; where it cannot tell, a new watch from the same
 * moment does: it costs one request, and nothing is older than the limit.
 */
export class IdleWatchdog {
  readonly #options: WatchdogOptions;
  #heardAt: MonotonicInstant;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#heardAt = options.clock.monotonic();
    this.#listen();
  }

  heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** A timer that finds out it came too early waits for the rest: cheaper than a new timer for each event. */
  #listen(): void {
    const { clock, limit } = this.#options;
    const rest = this.#heardAt + limit * ASK_AFTER - clock.monotonic();
    this.#timer = clock.after(milliseconds(Math.max(0, rest)), () => {
      if (this.#heardAt + limit * ASK_AFTER > clock.monotonic()) this.#listen();
      else void this.#doubt();
    });
  }

  async #doubt(): Promise<void> {
    const { clock, limit, probe, giveUp } = this.#options;
    const heardAt = this.#heardAt;
    let finding: ProbeResult;
    try {
      finding = await probe();
    } catch (error) {
      finding = error instanceof Error ? error : new Error(String(error));
    }
    if (this.#stopped) return;
    // A watch that spoke meanwhile needs no witness, whatever the probe met.
    if (this.#heardAt !== heardAt) this.#listen();
    else if (finding instanceof Error) giveUp(finding);
    else if (finding === "nothing missed") {
      this.heard();
      this.#listen();
    } else if (finding === "missed") {
      this.#unlessHeard(Math.min(limit * GRACE, LONGEST_GRACE), () => giveUp(undefined));
    } else {
      this.#unlessHeard(heardAt + limit - clock.monotonic(), () => giveUp(undefined));
    }
  }

  #unlessHeard(length: number, then: () => void): void {
    const heardAt = this.#heardAt;
    this.#timer = this.#options.clock.after(milliseconds(Math.max(0, length)), () => {
      if (this.#heardAt === heardAt) then();
      else this.#listen();
    });
  }
}
