import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";

/** Requests hold so much memory that another one does not fit. */
export class MemoryBudgetError extends Error {
  override readonly name = "MemoryBudgetError";
}

export interface MemoryLease {
  /** Counts bytes that are in memory from now on. Throws a MemoryBudgetError if there is no room. */
  reserve(bytes: number): void;
  release(): void;
}

export interface LeaseRequest {
  readonly bytes: number;
  readonly isProven: boolean;
  /** Ends the request in favour of another one. Its memory has been released. */
  readonly abort: (reason: MemoryBudgetError) => void;
}

interface Holder extends LeaseRequest {
  held: number;
  /** Until this time the request counts as progressing. Bytes that arrive extend it. */
  freshUntil: number;
}

/** A request without progress for this time is slow, also one whose answer the client does not read. */
const GRACE = milliseconds(1000);
/** In a cluster network 30 MB arrive within a second. */
const MIN_BYTES_PER_SECOND = 1 << 20;

/**
 * Limits the bytes of requests and answers in memory. Bytes count when they arrive, so announcing a body reserves nothing. If the
 * memory is full, a request ends another one that is slow or larger, or whose connection has completed no request yet. Attackers
 * who hold memory for long therefore lose it to those who need it.
 */
export class MemoryBudget {
  readonly #total: number;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #holders = new Set<Holder>();
  #held = 0;

  /** `clock` is real time. */
  constructor(total: number, clock: Pick<Clock, "monotonic">) {
    this.#total = total;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held;
  }

  open(request: LeaseRequest): MemoryLease {
    const holder: Holder = { ...request, held: 0, freshUntil: this.#clock.monotonic() + GRACE };
    this.#holders.add(holder);
    return {
      reserve: (bytes) => this.#reserve(holder, bytes),
      release: () => this.#release(holder),
    };
  }

  #reserve(holder: Holder, bytes: number): void {
    while (this.#held + bytes > this.#total) {
      const victim = this.#victimOf(holder, sizeOf(holder) + bytes);
      const reason = new MemoryBudgetError(`requests in progress hold ${this.#held} bytes`);
      if (victim === undefined) throw reason;
      this.#release(victim);
      victim.abort(reason);
    }
    this.#held += bytes;
    holder.held += bytes;
    const now = this.#clock.monotonic();
    holder.freshUntil = Math.min(now + GRACE, holder.freshUntil + (bytes * 1000) / MIN_BYTES_PER_SECOND);
  }

  #release(holder: Holder): void {
    this.#holders.delete(holder);
    this.#held -= holder.held;
    holder.held = 0;
  }

  /** The largest request that this one may end, first among connections that have completed no request. */
  #victimOf(entrant: Holder, size: number): Holder | undefined {
    let victim: Holder | undefined;
    for (const holder of this.#holders) {
      if (holder === entrant || holder.held === 0) continue;
      const isLessProven = entrant.isProven && !holder.isProven;
      const isLarger = entrant.isProven === holder.isProven && sizeOf(holder) > size;
      const isSlow = this.#clock.monotonic() > holder.freshUntil;
      if (!isLessProven && !isLarger && !isSlow) continue;
      if (victim === undefined || isBetterVictim(holder, victim)) victim = holder;
    }
    return victim;
  }
}

const sizeOf = ({ bytes, held }: Holder): number => Math.max(bytes, held);

const isBetterVictim = (holder: Holder, other: Holder): boolean =>
  holder.isProven === other.isProven ? holder.held > other.held : other.isProven;
