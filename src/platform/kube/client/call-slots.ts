/**
 * A fixed number of slots, one per connection. The newest caller goes first, and a caller can leave.
 *
 * In undici's own queue the oldest request goes first and none can leave. After an overload every request then gets its connection
 * when its time is nearly over, is aborted, and takes the connection with it: no call succeeds any more, even on a server that
 * has recovered. The newest caller has all of its time left.
 */
export class CallSlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Resolves with a function that frees the slot; rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let isTaken = true;
    return () => {
      if (isTaken) this.#release();
      isTaken = false;
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const go = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(go), 1);
      reject(signal.reason);
    };
    this.#waiting.push(go);
    signal.addEventListener("abort", leave, { once: true });
    await promise;
  }

  #release(): void {
    const next = this.#waiting.pop();
    if (next === undefined) this.#free++;
    else next();
  }
}
