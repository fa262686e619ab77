/** The budget is used up, and the queue is full or cannot help. */
export class MemoryBudgetError extends Error {
  override readonly name = "NoRoomError";
}

/** The share of the budget that one request holds. */
export interface MemoryLease {
  /** Counts bytes of the body that are in memory from now on; throws a NoRoomError if the budget is exhausted. */
  reserve(bytes: number): void;
  /** Reserves bytes of the answer. */
  reserveAnswer(bytes: number): void;
  /**
   * While its body is being received, a request can be preempted by a smaller one that finds the budget used up: everything is
   * released, and `abort` is called with the reason. Set undefined when the body is complete.
   */
  onPreempt(abort: ((reason: MemoryBudgetError) => void) | undefined): void;
  /** Releases everything. */
  release(): void;
}

/** A request whose body is being received. */
interface Receiving {
  readonly isProven: boolean;
  readonly size: () => number;
  readonly preempt: () => void;
}

/** What a request asks for. */
export interface LeaseRequest {
  /** The announced length of the body; 0 if unknown. */
  readonly bytes: number;
  /** The connection has completed requests before. */
  readonly isProven: boolean;
}

interface Waiting extends LeaseRequest {
  readonly grant: (lease: MemoryLease) => void;
}

/** Requests by names are below this share of the budget even in the largest clusters: 2 MiB by default. */
const SMALL_SHARE = 1 / 64;
/** On top of the budget for small requests, and again for their answers, so that stalled large requests cannot block them. */
const SMALL_RESERVE = 1 / 16;
/** On top of the budget for proven connections: one body of the largest size. */
const PROVEN_RESERVE = 1 / 2;

/**
 * Limits the bytes of requests in memory. Bytes of a large body count when they arrive, so announcing a body reserves nothing. A
 * small body is reserved in full at the start, so that it is never rejected halfway. A request without memory waits in a queue of
 * bounded length, in order, so that small requests cannot starve a large one. If the budget is used up anyway, the largest body
 * still being received is preempted by smaller ones.
 */
export class MemoryBudget {
  readonly #total: number;
  readonly #maxQueueLength: number;
  readonly #queue: Waiting[] = [];
  readonly #receiving = new Set<Receiving>();
  #held = 0;
  /** Reserved by small requests and not received yet. */
  #announced = 0;

  constructor(total: number, maxQueueLength: number) {
    this.#total = total;
    this.#maxQueueLength = maxQueueLength;
  }

  get held(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** A lease without waiting, or undefined if the request has to wait. */
  tryAcquire(request: LeaseRequest): MemoryLease | undefined {
    const { bytes } = request;
    if (bytes > this.#total) throw new RangeError(`${bytes} bytes exceed the budget of ${this.#total}`);
    return this.#isFirst(request) && this.#fits(request) ? this.#open(request) : undefined;
  }

  /** Resolves when the body may be received. Aborting the signal leaves the queue. */
  async acquire(request: LeaseRequest, signal: AbortSignal): Promise<MemoryLease> {
    signal.throwIfAborted();
    const lease = this.tryAcquire(request);
    if (lease !== undefined) return lease;
    if (this.#queue.length >= this.#maxQueueLength) throw this.#error();
    const { promise, resolve, reject } = Promise.withResolvers<MemoryLease>();
    const waiting = { ...request, grant: resolve };
    const leave = () => {
      const place = this.#queue.indexOf(waiting);
      if (place < 0) return;
      this.#queue.splice(place, 1);
      reject(signal.reason);
      // It may have blocked others.
      this.#admit();
    };
    this.#queue.push(waiting);
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

  /** Small requests skip the queue, and proven connections wait only for each other: both have their own reserve. */
  #isFirst({ bytes, isProven }: LeaseRequest): boolean {
    return this.#isSmall(bytes) || !this.#queue.some((waiting) => waiting.isProven || !isProven);
  }

  /** The limit up to which such a request may fill the memory. */
  #limitOf({ bytes, isProven }: LeaseRequest): number {
    return this.#total * (1 + (this.#isSmall(bytes) ? SMALL_RESERVE : 0) + (isProven ? PROVEN_RESERVE : 0));
  }

  #fits(request: LeaseRequest): boolean {
    return this.#held + this.#announced + request.bytes <= this.#limitOf(request);
  }

  /** The largest request that this one may preempt. */
  #largest({ bytes, isProven }: LeaseRequest): Receiving | undefined {
    let largest: Receiving | undefined;
    for (const one of this.#receiving) {
      if ((one.isProven && !isProven) || one.size() <= (largest?.size() ?? bytes)) continue;
      largest = one;
    }
    return largest;
  }

  #error(): MemoryBudgetError {
    return new MemoryBudgetError(
      `requests in progress hold ${this.#held} bytes, and ${this.#queue.length} requests wait`,
    );
  }

  #open({ bytes, isProven }: LeaseRequest): MemoryLease {
    let held = 0;
    let announced = this.#isSmall(bytes) ? bytes : 0;
    this.#announced += announced;
    const dropAnnounced = (share: number) => {
      announced -= share;
      this.#announced -= share;
    };
    const releaseAll = () => {
      dropAnnounced(announced);
      this.#held -= held;
      held = 0;
    };
    let receiving: Receiving | undefined;
    const yieldBy: MemoryLease["onPreempt"] = (abort) => {
      if (receiving !== undefined) this.#receiving.delete(receiving);
      if (abort === undefined) return;
      const preempt = () => {
        const reason = this.#error();
        yieldBy(undefined);
        releaseAll();
        abort(reason);
      };
      receiving = { isProven, size: () => Math.max(bytes, held), preempt };
      this.#receiving.add(receiving);
    };
    const take = (more: number, limit: number) => {
      const had = Math.min(more, announced);
      const size = Math.max(bytes, held + more);
      while (this.#held + this.#announced + more - had > limit) {
        const larger = this.#largest({ bytes: size, isProven });
        if (larger === undefined) throw this.#error();
        larger.preempt();
      }
      dropAnnounced(had);
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
        releaseAll();
        this.#admit();
      },
    };
  }

  /** Grants leases in order; a small request may pass larger ones that still have to wait. */
  #admit(): void {
    const isBlocked = { proven: false, other: false };
    for (const waiting of this.#queue.slice()) {
      const group = waiting.isProven ? "proven" : "other";
      if ((isBlocked[group] && !this.#isSmall(waiting.bytes)) || !this.#fits(waiting)) {
        isBlocked[group] = true;
        continue;
      }
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      waiting.grant(this.#open(waiting));
    }
  }
}
