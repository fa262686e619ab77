import { type Milliseconds, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";

/** There is no room, and those who wait for some are too many already. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
}

/** What one request takes of the budget. */
export interface Room {
  /** Counts bytes that are in memory from now on; throws a NoRoomError where the budget has no more. */
  hold(bytes: number): void;
  /** Gives everything back. */
  leave(): void;
}

interface Waiting {
  readonly bytes: number;
  readonly enter: (room: Room) => void;
}

/** By names even the largest clusters ask with less: such a request waits for bytes that are there, not for announced ones. */
const SMALL_SHARE = 1 / 64;
/** For how long the bytes that a request announces are kept free for it; a body of 64 Mi needs less in any cluster's network. */
const KEPT_FREE: Milliseconds = milliseconds(250);

/**
 * How many bytes of requests may be in memory at once. They count as they come: who only announces a large body holds nobody up
 * for longer than a moment. Who finds no room waits in line, so that a large request is not overtaken for ever by others;
 * beyond a line of bounded length one is turned away.
 */
export class ByteBudget {
  readonly #total: number;
  readonly #longestLine: number;
  readonly #clock: Clock;
  readonly #line: Waiting[] = [];
  #held = 0;
  #announced = 0;

  /** `clock` is real time. */
  constructor(total: number, longestLine: number, clock: Clock) {
    this.#total = total;
    this.#longestLine = longestLine;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Room for a request that announces so many bytes, where nobody has to wait for it; most find it so. */
  enterNow(bytes: number): Room | undefined {
    if (bytes > this.#total) throw new RangeError(`${bytes} bytes are more than the whole budget of ${this.#total}`);
    return (this.#line.length === 0 || this.#isSmall(bytes)) && this.#fits(bytes) ? this.#open(bytes) : undefined;
  }

  /** Resolves once a request that announces so many bytes may begin to come. An abort leaves the line. */
  async enter(bytes: number, signal: AbortSignal): Promise<Room> {
    signal.throwIfAborted();
    const room = this.enterNow(bytes);
    if (room !== undefined) return room;
    if (this.#line.length >= this.#longestLine) throw this.#noRoom();
    const { promise, resolve, reject } = Promise.withResolvers<Room>();
    const waiting = { bytes, enter: resolve };
    const leave = () => {
      const place = this.#line.indexOf(waiting);
      if (place < 0) return;
      this.#line.splice(place, 1);
      reject(signal.reason);
      // It may have stood in the way of others.
      this.#admit();
    };
    this.#line.push(waiting);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #isSmall(bytes: number): boolean {
    return bytes <= this.#total * SMALL_SHARE;
  }

  #fits(bytes: number): boolean {
    return this.#held + (this.#isSmall(bytes) ? 0 : this.#announced) + bytes <= this.#total;
  }

  #noRoom(): NoRoomError {
    return new NoRoomError(`requests of ${this.#held} bytes are under way and ${this.#line.length} wait`);
  }

  #open(bytes: number): Room {
    let held = 0;
    let announced = this.#isSmall(bytes) ? 0 : bytes;
    const forgo = (share: number) => {
      announced -= share;
      this.#announced -= share;
    };
    this.#announced += announced;
    const expire = () => {
      forgo(announced);
      this.#admit();
    };
    const expiry = announced === 0 ? undefined : this.#clock.after(KEPT_FREE, expire, { background: true });
    return {
      hold: (more) => {
        if (this.#held + more > this.#total) throw this.#noRoom();
        this.#held += more;
        held += more;
        forgo(Math.min(more, announced));
      },
      leave: () => {
        expiry?.cancel();
        forgo(announced);
        this.#held -= held;
        held = 0;
        this.#admit();
      },
    };
  }

  /** In their order; a small one goes past larger ones that still have to wait. */
  #admit(): void {
    let larger = false;
    for (const waiting of this.#line.slice()) {
      if ((larger && !this.#isSmall(waiting.bytes)) || !this.#fits(waiting.bytes)) {
        larger = true;
        continue;
      }
      this.#line.splice(this.#line.indexOf(waiting), 1);
      waiting.enter(this.#open(waiting.bytes));
    }
  }
}
