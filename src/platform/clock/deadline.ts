import type { Milliseconds } from "../../core/units/index.ts";
import type { Clock, Timer } from "./clock.ts";

export interface DeadlineOptions {
  /** Aborts the work as well. */
  readonly signal?: AbortSignal | undefined;
  /** The message of the abort when the time is over. */
  readonly message?: string;
  /** Whether the process may exit while the deadline is pending. */
  readonly background?: boolean;
}

/** A signal that aborts after a time, or earlier with the caller's signal. */
export class Deadline {
  readonly #abort = new AbortController();
  readonly #timer: Timer;
  readonly #caller: AbortSignal | undefined;
  #expired = false;

  constructor(clock: Pick<Clock, "after">, length: Milliseconds, options: DeadlineOptions = {}) {
    const { signal, message = `not done within ${length} ms`, background = false } = options;
    this.#caller = signal;
    const expire = () => {
      this.#expired = true;
      this.#abort.abort(new Error(message));
    };
    this.#timer = clock.after(length, expire, { background });
    if (signal?.aborted === true) this.#follow();
    else signal?.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the time ran out. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Stops the time; the caller's signal still aborts. */
  stopTimer(): void {
    this.#timer.cancel();
  }

  /** Stops the time and no longer listens to the caller's signal, which may outlive thousands of deadlines. */
  release(): void {
    this.#timer.cancel();
    this.#caller?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.#abort.abort(this.#caller?.reason);
}

/** Runs work with a signal that aborts after `length`. */
export async function withTimeLimit<Result>(
  clock: Pick<Clock, "after">,
  length: Milliseconds,
  work: (limit: AbortSignal) => Promise<Result>,
  options: DeadlineOptions = {},
): Promise<Result> {
  const deadline = new Deadline(clock, length, options);
  try {
    return await work(deadline.signal);
  } finally {
    deadline.release();
  }
}

/** Rejects after `length`, for work that cannot be aborted, such as a credential plugin. */
export async function withDeadline<Result>(
  clock: Pick<Clock, "after">,
  length: Milliseconds,
  what: string,
  work: Promise<Result>,
): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(length, () => late.reject(new Error(`no ${what} within ${length} ms`)));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    timer.cancel();
  }
}

/** Returns whether the work ended within `length`; false if the signal aborts. The work goes on. */
export async function endsWithin(
  clock: Pick<Clock, "after">,
  length: Milliseconds,
  work: Promise<unknown>,
  signal?: AbortSignal,
): Promise<boolean> {
  const over = Promise.withResolvers<boolean>();
  const stop = () => over.resolve(false);
  const timer = clock.after(length, stop);
  if (signal?.aborted === true) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work.then(() => true), over.promise]);
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", stop);
  }
}
