import type { Instant, Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";

/**
 * Calls share the four threads that files and names use too. Two at a time leave half of them, whatever the driver does.
 */
const MAX_PARALLEL_CALLS = 2;

interface Waiting {
  readonly start: () => void;
  readonly refuse: (reason: Error) => void;
}

interface AbandonedCall {
  readonly lane: string;
  readonly what: string;
  readonly since: Instant;
}

export interface GuardedCall<Result> {
  /** What it is about: the driver, or one board. One that hangs holds up nothing else. */
  readonly lane: string;
  readonly what: string;
  readonly limit: Milliseconds;
  readonly signal?: AbortSignal | undefined;
  readonly work: () => Promise<Result>;
}

/**
 * Lets through calls that nobody can end. One that takes too long is given up, not forgotten: until it returns its lane stays
 * closed, and once every place is taken by such calls all are refused at once. That is the back-off from a hung driver.
 */
export class HungCallGuard {
  readonly #clock: Clock;
  readonly #givenUp = new Set<AbandonedCall>();
  readonly #waiting: Waiting[] = [];
  #free = MAX_PARALLEL_CALLS;
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a call is under way, waited for or not. */
  get busy(): boolean {
    return this.#running > 0;
  }

  /** Whether a call that was given up still runs. */
  get stuck(): boolean {
    return this.#givenUp.size > 0;
  }

  async run<Result>(call: GuardedCall<Result>): Promise<Result> {
    const { lane, what, limit, signal, work } = call;
    signal?.throwIfAborted();
    this.#refuseIfClosed(lane);
    await this.#place();
    const me: AbandonedCall = { lane, what, since: this.#clock.now() };
    let running: Promise<Result>;
    try {
      // While it waited its lane may have closed.
      this.#refuseIfClosed(lane);
      signal?.throwIfAborted();
      running = work();
      this.#running += 1;
    } catch (error) {
      this.#leave();
      throw error;
    }
    let answered = false;
    const gaveUp = Promise.withResolvers<never>();
    const giveUp = (reason: Error): void => {
      if (answered) return;
      this.#givenUp.add(me);
      this.#refuseWaiting();
      gaveUp.reject(reason);
    };
    const timer = this.#clock.after(limit, () => giveUp(new Error(`${what} gave no answer within ${limit} ms`)), {
      background: true,
    });
    const abort = (): void => giveUp(new Error(`${what} was not waited for`, { cause: signal?.reason }));
    signal?.addEventListener("abort", abort, { once: true });
    const settle = (): void => {
      answered = true;
      this.#running -= 1;
      this.#givenUp.delete(me);
      this.#leave();
    };
    running.then(settle, settle);
    try {
      return await Promise.race([running, gaveUp.promise]);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  #refuseIfClosed(lane: string): void {
    const givenUp = [...this.#givenUp];
    const blocking =
      givenUp.find((call) => call.lane === lane) ?? (givenUp.length >= MAX_PARALLEL_CALLS ? givenUp[0] : undefined);
    if (blocking !== undefined) throw this.#refusal(blocking);
  }

  #refusal({ what, since }: AbandonedCall): Error {
    // A time, not a length: a message that changes at every tick would be a write to the API at every tick.
    const started = new Date(since).toISOString().replace(/\.\d+Z$/, "Z");
    return new Error(`not tried: ${what} has not returned since ${started}, the driver hangs`);
  }

  async #place(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.push({ start: turn.resolve, refuse: turn.reject });
    await turn.promise;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next.start();
  }

  /** Nobody waits for a place that may never be free again. */
  #refuseWaiting(): void {
    const [blocking] = this.#givenUp;
    if (blocking === undefined || this.#givenUp.size < MAX_PARALLEL_CALLS) return;
    for (const { refuse } of this.#waiting.splice(0)) refuse(this.#refusal(blocking));
  }
}
