/** There is no room, and those who wait for some are too many already. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
}

interface Waiting {
  readonly bytes: number;
  readonly enter: () => void;
}

/**
 * How many bytes of requests may be in memory at once. Who finds no room waits in line, so that a large request is not
 * overtaken for ever by small ones; beyond a line of bounded length one is turned away.
 */
export class ByteBudget {
  readonly #total: number;
  readonly #longestLine: number;
  readonly #line: Waiting[] = [];
  #held = 0;

  constructor(total: number, longestLine: number) {
    this.#total = total;
    this.#longestLine = longestLine;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Resolves once there is room for so many bytes; each of them is to be given back. An abort leaves the line. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (bytes > this.#total) throw new RangeError(`${bytes} bytes are more than the whole budget of ${this.#total}`);
    if (this.#line.length === 0 && this.#held + bytes <= this.#total) {
      this.#held += bytes;
      return;
    }
    if (this.#line.length >= this.#longestLine) {
      throw new NoRoomError(`requests of ${this.#held} bytes are under way and ${this.#line.length} wait`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { bytes, enter: resolve };
    const leave = () => {
      const place = this.#line.indexOf(waiting);
      if (place >= 0) this.#line.splice(place, 1);
      reject(signal.reason);
      // It may have stood in the way of others.
      this.#admit();
    };
    this.#line.push(waiting);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  give(bytes: number): void {
    this.#held -= bytes;
    this.#admit();
  }

  #admit(): void {
    for (let first = this.#line[0]; first !== undefined; first = this.#line[0]) {
      if (this.#held + first.bytes > this.#total) return;
      this.#held += first.bytes;
      this.#line.shift();
      first.enter();
    }
  }
}
