/** There is no room, and those who wait for some are too many already. */
export class MemoryBudgetError extends Error {
  override readonly name = "NoRoomError";
}

/** What one request takes of the budget. */
export interface MemoryLease {
  /** Counts bytes of the body that are in memory from now on; throws a NoRoomError where the budget has no more. */
  reserve(bytes: number): void;
  /** The same for bytes of the answer. */
  reserveAnswer(bytes: number): void;
  /**
   * While its body comes, a request yields to smaller ones that find the memory full: it gives everything back, and `cut` is
   * called with the reason. Undefined once the body is whole.
   */
  onPreempt(cut: ((reason: MemoryBudgetError) => void) | undefined): void;
  /** Gives everything back. */
  release(): void;
}

/** A request whose body comes. */
interface Receiving {
  readonly isProven: boolean;
  readonly size: () => number;
  readonly yield: () => void;
}

/** A request that asks for room. */
export interface LeaseRequest {
  /** How long it says its body is; 0 where it does not say. */
  readonly bytes: number;
  /** Its connection completed requests before. */
  readonly isProven: boolean;
}

interface Waiting extends LeaseRequest {
  readonly enter: (room: MemoryLease) => void;
}

/** By names even the largest clusters ask with less than this share of the budget: 2 MiB by default. */
const SMALL_SHARE = 1 / 64;
/** On top of the budget, for small requests, and once more for their answers: large requests that stall cannot hold them up. */
const SMALL_RESERVE = 1 / 16;
/** On top of the budget, for connections that completed requests before: one body of the largest size. */
const PROVEN_RESERVE = 1 / 2;

/**
 * How many bytes of requests may be in memory at once. Bytes of a large body count as they come: a client that only announces
 * one takes no room from others. A small body has its room from the beginning, so that it is never refused halfway. A request
 * that finds no room waits in line, so that others do not overtake a large request for ever; beyond a line of bounded length
 * it is turned away. Where the memory is full all the same, the largest body that still comes yields to smaller ones.
 */
export class MemoryBudget {
  readonly #total: number;
  readonly #longestLine: number;
  readonly #line: Waiting[] = [];
  readonly #receiving = new Set<Receiving>();
  #held = 0;
  /** What small requests still have to send. */
  #announced = 0;

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

  /** Room for a request that need not wait for it; most need not. */
  tryAcquire(entrant: LeaseRequest): MemoryLease | undefined {
    const { bytes } = entrant;
    if (bytes > this.#total) throw new RangeError(`${bytes} bytes are more than the whole budget of ${this.#total}`);
    return this.#hasNobodyAhead(entrant) && this.#fits(entrant) ? this.#open(entrant) : undefined;
  }

  /** Resolves once the request may send its body. An abort leaves the line. */
  async acquire(entrant: LeaseRequest, signal: AbortSignal): Promise<MemoryLease> {
    signal.throwIfAborted();
    const room = this.tryAcquire(entrant);
    if (room !== undefined) return room;
    if (this.#line.length >= this.#longestLine) throw this.#noRoom();
    const { promise, resolve, reject } = Promise.withResolvers<MemoryLease>();
    const waiting = { ...entrant, enter: resolve };
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

  /** A small one waits for nobody, and one of a proven connection only for its like: both have a reserve of their own. */
  #hasNobodyAhead({ bytes, isProven }: LeaseRequest): boolean {
    return this.#isSmall(bytes) || !this.#line.some((waiting) => waiting.isProven || !isProven);
  }

  /** Up to where a request of that size may fill the memory. */
  #limitOf({ bytes, isProven }: LeaseRequest): number {
    return this.#total * (1 + (this.#isSmall(bytes) ? SMALL_RESERVE : 0) + (isProven ? PROVEN_RESERVE : 0));
  }

  #fits(entrant: LeaseRequest): boolean {
    return this.#held + this.#announced + entrant.bytes <= this.#limitOf(entrant);
  }

  /** The largest request that yields to this one. */
  #largest({ bytes, isProven }: LeaseRequest): Receiving | undefined {
    let largest: Receiving | undefined;
    for (const one of this.#receiving) {
      if ((one.isProven && !isProven) || one.size() <= (largest?.size() ?? bytes)) continue;
      largest = one;
    }
    return largest;
  }

  #noRoom(): MemoryBudgetError {
    return new MemoryBudgetError(`requests of ${this.#held} bytes are under way and ${this.#line.length} wait`);
  }

  #open({ bytes, isProven }: LeaseRequest): MemoryLease {
    let held = 0;
    let announced = this.#isSmall(bytes) ? bytes : 0;
    this.#announced += announced;
    const forgo = (share: number) => {
      announced -= share;
      this.#announced -= share;
    };
    const giveBack = () => {
      forgo(announced);
      this.#held -= held;
      held = 0;
    };
    let receiving: Receiving | undefined;
    const yieldBy: MemoryLease["onPreempt"] = (cut) => {
      if (receiving !== undefined) this.#receiving.delete(receiving);
      if (cut === undefined) return;
      const yieldNow = () => {
        const reason = this.#noRoom();
        yieldBy(undefined);
        giveBack();
        cut(reason);
      };
      receiving = { isProven, size: () => Math.max(bytes, held), yield: yieldNow };
      this.#receiving.add(receiving);
    };
    const take = (more: number, limit: number) => {
      const had = Math.min(more, announced);
      const size = Math.max(bytes, held + more);
      while (this.#held + this.#announced + more - had > limit) {
        const larger = this.#largest({ bytes: size, isProven });
        if (larger === undefined) throw this.#noRoom();
        larger.yield();
      }
      forgo(had);
      this.#held += more;
      held += more;
    };
    return {
      reserve: (more) => take(more, this.#limitOf({ bytes: Math.max(bytes, held + more), isProven })),
      reserveAnswer: (more) => {
        const reserve = this.#isSmall(held) ? this.#total * SMALL_RESERVE : 0;
        take(more, this.#limitOf({ bytes: held, isProven }) + reserve);
      },
      onPreempt: yieldBy,
      release: () => {
        yieldBy(undefined);
        giveBack();
        this.#admit();
      },
    };
  }

  /** In their order; a small one goes past larger ones that still have to wait. */
  #admit(): void {
    const isHeldUp = { proven: false, other: false };
    for (const waiting of this.#line.slice()) {
      const standing = waiting.isProven ? "proven" : "other";
      if ((isHeldUp[standing] && !this.#isSmall(waiting.bytes)) || !this.#fits(waiting)) {
        isHeldUp[standing] = true;
        continue;
      }
      this.#line.splice(this.#line.indexOf(waiting), 1);
      waiting.enter(this.#open(waiting));
    }
  }
}
