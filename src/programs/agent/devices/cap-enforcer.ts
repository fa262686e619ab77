import {
  type CapDevice,
  type CapVerdict,
  type CapWatch,
  capVerdict,
  observeCap,
  type WriteOutcome,
  watchCap,
} from "../../../core/control/index.ts";
import { type MonotonicInstant, milliseconds, monotonicInstant, type Watts, watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { CapBoard, PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { Journal, JournalEntry, JournalKey } from "../../../platform/journal/index.ts";
import { LEFT_ALONE, Rivals } from "./conflicting-writers.ts";
import {
  circumstances,
  isSame,
  journalName,
  keepOriginal,
  keyOf,
  lowerThanOurs,
  nameIn,
  type Owner,
} from "./original-limits.ts";
import { Troubles } from "./write-backoff.ts";

/** A board of a backend. */
export interface Seat {
  readonly backend: PowerCapBackend;
  readonly board: CapBoard;
}

/** A board that carries a cap of ours and cannot be seen. */
export interface MissingBoard {
  readonly id: string;
  readonly ours: Watts;
}

export type Check =
  | { readonly kind: "holds"; readonly message?: string }
  /** Somebody set it higher; it is to be set again. */
  | { readonly kind: "undone"; readonly found: Watts; readonly message: string }
  /** Nobody can say. */
  | { readonly kind: "unreadable"; readonly message: string }
  /** It was undone so often that setting it again is a fight. */
  | { readonly kind: "contested"; readonly message: string };

/** What this process knows of a cap beyond the journal. */
interface Held {
  readonly asked: Watts;
  /** What the board said right after it was set. */
  readonly read: Watts | undefined;
  readonly watch: CapWatch;
  /** False while a write is under way, and after one that failed: then anything may be ours. */
  readonly sure: boolean;
}

/** How long a board averages that does not say. */
const AVERAGES_OVER = milliseconds(1000);
/** Equal to none that is asked for, and below none of them. */
const SOME_CAP = watts(Number.POSITIVE_INFINITY);

/**
 * Sets caps and answers for them: no write before the original is safe, none that is not read back, and none that is called
 * effective before load has tested it.
 */
export class CapKeeper {
  readonly #owner: Owner;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();
  readonly #rivals: Rivals;
  readonly #troubles: Troubles;
  /** Why an original could not be kept since this was last cleared. */
  unkept: string | undefined;

  constructor(owner: Owner, journal: Journal, clock: Clock) {
    this.#owner = owner;
    this.#journal = journal;
    this.#clock = clock;
    this.#rivals = new Rivals(clock);
    this.#troubles = new Troubles(clock);
  }

  entry({ backend, board }: Seat): JournalEntry | undefined {
    return this.#journal.get(this.#key({ backend, board }));
  }

  /**
   * The cap of ours that the board carries. Of an earlier run, or of a write that may have failed, only the board itself knows; one
   * that cannot be read back has some cap or other, which is to be set again.
   */
  async inForce(seat: Seat, signal: AbortSignal): Promise<Watts | undefined> {
    const entry = this.entry(seat);
    if (entry === undefined) return undefined;
    const asked = this.#held.get(this.#name(seat))?.asked;
    if (asked !== undefined) return asked;
    const { limit } = await seat.backend.limit(seat.board.id, signal);
    return limit ?? SOME_CAP;
  }

  /** What the journal says is ours and these backends do not show any more: nobody can lift it now. */
  missing(backends: readonly PowerCapBackend[], seats: readonly Seat[]): readonly MissingBoard[] {
    const shown = new Set(seats.map((seat) => this.#name(seat)));
    // The packages behind a service are always there; its GPUs are not.
    const kept = backends.flatMap((backend) =>
      backend.name === "http"
        ? [backend.kind === "gpu" ? this.#journal.get(keyOf(this.#owner, "http", "gpus")) : undefined]
        : this.#journal.of().filter((entry) => entry.backend === journalName(backend)),
    );
    return kept
      .filter((entry) => entry !== undefined)
      .filter((entry) => !shown.has(nameIn(entry)))
      .map(({ board, ours = 0 }) => ({ id: board, ours: watts(ours) }));
  }

  /** The range of the board, with the limit it had before us. */
  async device(seat: Seat, signal: AbortSignal): Promise<CapDevice> {
    const { device, id } = seat.board;
    // A service over HTTP has a maximum and no limit of its own.
    if (seat.backend.name === "http") return device;
    const entry = this.entry(seat);
    const original = entry === undefined ? (await seat.backend.limit(id, signal)).limit : entry.limit;
    return original === undefined ? device : { ...device, original };
  }

  /** `watched` is the power that has to stay below the cap: several boards' where one stands for them. */
  async set(seat: Seat, cap: Watts, watched: Watts, signal: AbortSignal): Promise<WriteOutcome> {
    const { backend, board } = seat;
    const name = this.#name(seat);
    if (board.lost !== undefined) return { result: "error", message: `${board.id}: ${board.lost}` };
    if (board.locked !== undefined) return { result: "blocked", message: `${board.id}: ${board.locked}` };
    const lower = await this.#lower(seat, signal);
    if (lower !== undefined && lower < cap) return { result: "applied", message: heldLower(board.id) };
    const resting = this.#troubles.resting(name, cap);
    if (resting !== undefined) return resting;
    const fresh = this.entry(seat) === undefined;
    const unkept = fresh ? await this.#keep(seat, cap, signal) : undefined;
    if (unkept !== undefined) {
      this.unkept = unkept.message;
      return unkept;
    }
    const held = this.#held.get(name);
    // What was held before somebody restored it is not held any more.
    if (fresh) this.#held.delete(name);
    else if (held !== undefined) this.#held.set(name, { ...held, sure: false });
    const outcome = await backend.cap(board.id, cap, signal);
    if (outcome.result !== "applied") {
      this.#troubles.failed(name, outcome, cap);
      if (fresh) await this.#forgetUntouched(seat, outcome, signal);
      return outcome;
    }
    this.#troubles.succeeded(name);
    const { limit: read } = await backend.limit(board.id, signal);
    this.#hold(seat, { asked: cap, read, watched });
    this.#journal.note(this.#key(seat), cap);
    return outcome;
  }

  /** Whether the cap is still what it was. One of an earlier run is watched from now on. */
  async check(seat: Seat, cap: Watts, watched: Watts, signal: AbortSignal): Promise<Check> {
    const { backend, board } = seat;
    if (board.lost !== undefined) return { kind: "unreadable", message: `${board.id}: ${board.lost}` };
    const { limit, unreadable } = await backend.limit(board.id, signal);
    const name = this.#name(seat);
    const held = this.#held.get(name);
    // A service may tell nothing of its caps; a board that stops doing so has something wrong with it.
    if (limit === undefined)
      return backend.name === "http"
        ? { kind: "holds" }
        : { kind: "unreadable", message: `the cap cannot be read back: ${unreadable}` };
    const expected = held?.read ?? held?.asked ?? cap;
    if (isSame(limit, expected)) {
      if (held === undefined) this.#hold(seat, { asked: cap, read: limit, watched });
      return { kind: "holds" };
    }
    // Somebody needs it lower still, for heat or for a budget of their own: what was promised holds.
    if (limit < expected) return { kind: "holds", message: heldLower(board.id) };
    // After a restart a reboot may have reset it: nobody's doing.
    if (held === undefined) return { kind: "undone", found: limit, message: "" };
    const again = this.#rivals.undid(name);
    if (again === undefined)
      // Without its figure, which may differ at every tick: each new status message is a write to the API.
      return { kind: "contested", message: `another program keeps raising the limit of ${board.id}; ${LEFT_ALONE}` };
    const message = `another program had set ${board.id} to ${limit} W; ${again}`;
    return { kind: "undone", found: limit, message };
  }

  async lift(seat: Seat, signal: AbortSignal): Promise<WriteOutcome> {
    const entry = this.entry(seat);
    if (entry === undefined) return { result: "applied" };
    if ((await this.#lower(seat, signal)) !== undefined) {
      this.forget(seat);
      return { result: "applied" };
    }
    const outcome = await seat.backend.restore(seat.board.id, entry.original, signal);
    if (outcome.result === "applied") this.forget(seat);
    return outcome;
  }

  /** The board is as it was. */
  forget(seat: Seat): void {
    this.#journal.drop(this.#key(seat));
    this.#held.delete(this.#name(seat));
    this.#rivals.forget(this.#name(seat));
  }

  observe(seat: Seat, power: Watts | undefined, since: MonotonicInstant): void {
    const name = this.#name(seat);
    const held = this.#held.get(name);
    if (held !== undefined) this.#held.set(name, { ...held, watch: observeCap(held.watch, power, since) });
  }

  /** Undefined where this process has set no cap. */
  verdict(seat: Seat): CapVerdict | undefined {
    const held = this.#held.get(this.#name(seat));
    return held === undefined || this.entry(seat) === undefined ? undefined : capVerdict(held.watch);
  }

  /** What the board reads as long as nobody else sets it, where this process can be sure of it. */
  ours(key: JournalKey): Watts | undefined {
    const held = this.#held.get(nameIn(key));
    return held?.sure === true ? (held.read ?? held.asked) : undefined;
  }

  async #lower(seat: Seat, signal: AbortSignal): Promise<Watts | undefined> {
    return lowerThanOurs(seat.backend, seat.board.id, this.ours(this.#key(seat)), signal);
  }

  #hold(seat: Seat, { asked, read, watched }: Pick<Held, "asked" | "read"> & { readonly watched: Watts }): void {
    const trustFrom = monotonicInstant(this.#clock.monotonic() + (seat.board.averagesOver ?? AVERAGES_OVER));
    this.#held.set(this.#name(seat), { asked, read, watch: watchCap(watched, trustFrom), sure: true });
  }

  #key({ backend, board }: Seat): JournalKey {
    return keyOf(this.#owner, journalName(backend), board.id);
  }

  #name(seat: Seat): string {
    return nameIn(this.#key(seat));
  }

  async #keep({ backend, board }: Seat, ours: Watts, signal: AbortSignal): Promise<WriteOutcome | undefined> {
    const { original, unreadable } = await backend.original(board.id, signal);
    if (original === undefined)
      return {
        result: "blocked",
        message: `${board.id}: what it is now cannot be read, so nothing is changed: ${unreadable}`,
      };
    const { limit } = await backend.limit(board.id, signal);
    return keepOriginal(this.#journal, {
      ...this.#key({ backend, board }),
      original,
      ...(limit !== undefined && { limit }),
      ours,
      ...circumstances(this.#owner, backend.name, this.#clock),
    });
  }

  /** A first write that did not happen leaves nothing to restore. One that may have happened does. */
  async #forgetUntouched(seat: Seat, outcome: WriteOutcome, signal: AbortSignal): Promise<void> {
    const was = this.entry(seat)?.limit;
    const { limit } = await seat.backend.limit(seat.board.id, signal);
    const untouched =
      limit !== undefined && seat.backend.name !== "http" ? limit === was : outcome.result === "blocked";
    if (untouched) this.forget(seat);
  }
}

const heldLower = (board: string): string => `another program holds ${board} lower`;
