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
import { ConflictingWriters, NOT_REASSERTED } from "./conflicting-writers.ts";
import {
  type BoardOwner,
  bootAndTime,
  isSameLimit,
  journalBackend,
  journalKeyOf,
  journalKeyText,
  limitLoweredByOthers,
  saveOriginal,
} from "./original-limits.ts";
import { WriteBackoff } from "./write-backoff.ts";

/** A board of a backend. */
export interface BoardHandle {
  readonly backend: PowerCapBackend;
  readonly board: CapBoard;
}

/** A board that carries a cap of ours and cannot be seen. */
export interface MissingBoard {
  readonly id: string;
  readonly cap: Watts;
}

export type CapCheck =
  | { readonly kind: "holds"; readonly message?: string }
  /** Somebody set it higher; it is to be set again. */
  | { readonly kind: "undone"; readonly found: Watts; readonly message: string }
  /** Nobody can say. */
  | { readonly kind: "unreadable"; readonly message: string }
  /** It was undone so often that setting it again is a fight. */
  | { readonly kind: "contested"; readonly message: string };

/** What this process knows of a cap beyond the journal. */
interface SetCap {
  readonly asked: Watts;
  /** What the board said right after it was set. */
  readonly read: Watts | undefined;
  readonly watch: CapWatch;
  /** False while a write is under way, and after one that failed: then anything may be ours. */
  readonly sure: boolean;
}

/** How long a board averages that does not say. */
const DEFAULT_AVERAGING = milliseconds(1000);
/** Equal to none that is asked for, and below none of them. */
const UNKNOWN_CAP = watts(Number.POSITIVE_INFINITY);

/**
 * Sets caps and answers for them: no write before the original is safe, none that is not read back, and none that is called
 * effective before load has tested it.
 */
export class CapEnforcer {
  readonly #owner: BoardOwner;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #setCaps = new Map<string, SetCap>();
  readonly #conflicts: ConflictingWriters;
  readonly #backoff: WriteBackoff;
  /** Why an original could not be kept since this was last cleared. */
  unsavedReason: string | undefined;

  constructor(owner: BoardOwner, journal: Journal, clock: Clock) {
    this.#owner = owner;
    this.#journal = journal;
    this.#clock = clock;
    this.#conflicts = new ConflictingWriters(clock);
    this.#backoff = new WriteBackoff(clock);
  }

  entry({ backend, board }: BoardHandle): JournalEntry | undefined {
    return this.#journal.get(this.#key({ backend, board }));
  }

  /**
   * The cap of ours that the board carries. Of an earlier run, or of a write that may have failed, only the board itself knows; one
   * that cannot be read back has some cap or other, which is to be set again.
   */
  async inForce(handle: BoardHandle, signal: AbortSignal): Promise<Watts | undefined> {
    const entry = this.entry(handle);
    if (entry === undefined) return undefined;
    const asked = this.#setCaps.get(this.#name(handle))?.asked;
    if (asked !== undefined) return asked;
    const { limit } = await handle.backend.limit(handle.board.id, signal);
    return limit ?? UNKNOWN_CAP;
  }

  /** What the journal says is ours and these backends do not show any more: nobody can lift it now. */
  missing(backends: readonly PowerCapBackend[], handles: readonly BoardHandle[]): readonly MissingBoard[] {
    const shown = new Set(handles.map((handle) => this.#name(handle)));
    // The packages behind a service are always there; its GPUs are not.
    const kept = backends.flatMap((backend) =>
      backend.name === "http"
        ? [backend.kind === "gpu" ? this.#journal.get(journalKeyOf(this.#owner, "http", "gpus")) : undefined]
        : this.#journal.of().filter((entry) => entry.backend === journalBackend(backend)),
    );
    return kept
      .filter((entry) => entry !== undefined)
      .filter((entry) => !shown.has(journalKeyText(entry)))
      .map(({ board, ours = 0 }) => ({ id: board, cap: watts(ours) }));
  }

  /** The range of the board, with the limit it had before us. */
  async device(handle: BoardHandle, signal: AbortSignal): Promise<CapDevice> {
    const { device, id } = handle.board;
    // A service over HTTP has a maximum and no limit of its own.
    if (handle.backend.name === "http") return device;
    const entry = this.entry(handle);
    const original = entry === undefined ? (await handle.backend.limit(id, signal)).limit : entry.limit;
    return original === undefined ? device : { ...device, original };
  }

  /** `watched` is the power that has to stay below the cap: several boards' where one stands for them. */
  async set(handle: BoardHandle, cap: Watts, watched: Watts, signal: AbortSignal): Promise<WriteOutcome> {
    const { backend, board } = handle;
    const name = this.#name(handle);
    if (board.lost !== undefined) return { result: "error", message: `${board.id}: ${board.lost}` };
    if (board.locked !== undefined) return { result: "blocked", message: `${board.id}: ${board.locked}` };
    const lower = await this.#lower(handle, signal);
    if (lower !== undefined && lower < cap) return { result: "applied", message: heldLower(board.id) };
    const resting = this.#backoff.suppressedOutcome(name, cap);
    if (resting !== undefined) return resting;
    const fresh = this.entry(handle) === undefined;
    const unsaved = fresh ? await this.#keep(handle, cap, signal) : undefined;
    if (unsaved !== undefined) {
      this.unsavedReason = unsaved.message;
      return unsaved;
    }
    const setCap = this.#setCaps.get(name);
    // What was setCap before somebody restored it is not setCap any more.
    if (fresh) this.#setCaps.delete(name);
    else if (setCap !== undefined) this.#setCaps.set(name, { ...setCap, sure: false });
    const outcome = await backend.cap(board.id, cap, signal);
    if (outcome.result !== "applied") {
      this.#backoff.recordFailure(name, outcome, cap);
      if (fresh) await this.#forgetUntouched(handle, outcome, signal);
      return outcome;
    }
    this.#backoff.recordSuccess(name);
    const { limit: read } = await backend.limit(board.id, signal);
    this.#remember(handle, { asked: cap, read, watched });
    this.#journal.note(this.#key(handle), cap);
    return outcome;
  }

  /** Whether the cap is still what it was. One of an earlier run is watched from now on. */
  async check(handle: BoardHandle, cap: Watts, watched: Watts, signal: AbortSignal): Promise<CapCheck> {
    const { backend, board } = handle;
    if (board.lost !== undefined) return { kind: "unreadable", message: `${board.id}: ${board.lost}` };
    const { limit, unreadable } = await backend.limit(board.id, signal);
    const name = this.#name(handle);
    const setCap = this.#setCaps.get(name);
    // A service may tell nothing of its caps; a board that stops doing so has something wrong with it.
    if (limit === undefined)
      return backend.name === "http"
        ? { kind: "holds" }
        : { kind: "unreadable", message: `the cap cannot be read back: ${unreadable}` };
    const expected = setCap?.read ?? setCap?.asked ?? cap;
    if (isSameLimit(limit, expected)) {
      if (setCap === undefined) this.#remember(handle, { asked: cap, read: limit, watched });
      return { kind: "holds" };
    }
    // Somebody needs it lower still, for heat or for a budget of their own: what was promised holds.
    if (limit < expected) return { kind: "holds", message: heldLower(board.id) };
    // After a restart a reboot may have reset it: nobody's doing.
    if (setCap === undefined) return { kind: "undone", found: limit, message: "" };
    const again = this.#conflicts.recordConflict(name);
    if (again === undefined)
      // Without its figure, which may differ at every tick: each new status message is a write to the API.
      return {
        kind: "contested",
        message: `another program keeps raising the limit of ${board.id}; ${NOT_REASSERTED}`,
      };
    const message = `another program had set ${board.id} to ${limit} W; ${again}`;
    return { kind: "undone", found: limit, message };
  }

  async lift(handle: BoardHandle, signal: AbortSignal): Promise<WriteOutcome> {
    const entry = this.entry(handle);
    if (entry === undefined) return { result: "applied" };
    if ((await this.#lower(handle, signal)) !== undefined) {
      this.forget(handle);
      return { result: "applied" };
    }
    const outcome = await handle.backend.restore(handle.board.id, entry.original, signal);
    if (outcome.result === "applied") this.forget(handle);
    return outcome;
  }

  /** The board is as it was. */
  forget(handle: BoardHandle): void {
    this.#journal.drop(this.#key(handle));
    this.#setCaps.delete(this.#name(handle));
    this.#conflicts.forget(this.#name(handle));
  }

  observe(handle: BoardHandle, power: Watts | undefined, since: MonotonicInstant): void {
    const name = this.#name(handle);
    const setCap = this.#setCaps.get(name);
    if (setCap !== undefined) this.#setCaps.set(name, { ...setCap, watch: observeCap(setCap.watch, power, since) });
  }

  /** Undefined where this process has set no cap. */
  verdict(handle: BoardHandle): CapVerdict | undefined {
    const setCap = this.#setCaps.get(this.#name(handle));
    return setCap === undefined || this.entry(handle) === undefined ? undefined : capVerdict(setCap.watch);
  }

  /** What the board reads as long as nobody else sets it, where this process can be sure of it. */
  expectedLimit(key: JournalKey): Watts | undefined {
    const setCap = this.#setCaps.get(journalKeyText(key));
    return setCap?.sure === true ? (setCap.read ?? setCap.asked) : undefined;
  }

  async #lower(handle: BoardHandle, signal: AbortSignal): Promise<Watts | undefined> {
    return limitLoweredByOthers(handle.backend, handle.board.id, this.expectedLimit(this.#key(handle)), signal);
  }

  #remember(
    handle: BoardHandle,
    { asked, read, watched }: Pick<SetCap, "asked" | "read"> & { readonly watched: Watts },
  ): void {
    const trustFrom = monotonicInstant(this.#clock.monotonic() + (handle.board.averagingWindow ?? DEFAULT_AVERAGING));
    this.#setCaps.set(this.#name(handle), { asked, read, watch: watchCap(watched, trustFrom), sure: true });
  }

  #key({ backend, board }: BoardHandle): JournalKey {
    return journalKeyOf(this.#owner, journalBackend(backend), board.id);
  }

  #name(handle: BoardHandle): string {
    return journalKeyText(this.#key(handle));
  }

  async #keep({ backend, board }: BoardHandle, ours: Watts, signal: AbortSignal): Promise<WriteOutcome | undefined> {
    const { original, unreadable } = await backend.original(board.id, signal);
    if (original === undefined)
      return {
        result: "blocked",
        message: `${board.id}: what it is now cannot be read, so nothing is changed: ${unreadable}`,
      };
    const { limit } = await backend.limit(board.id, signal);
    return saveOriginal(this.#journal, {
      ...this.#key({ backend, board }),
      original,
      ...(limit !== undefined && { limit }),
      ours,
      ...bootAndTime(this.#owner, backend.name, this.#clock),
    });
  }

  /** A first write that did not happen leaves nothing to restore. One that may have happened does. */
  async #forgetUntouched(handle: BoardHandle, outcome: WriteOutcome, signal: AbortSignal): Promise<void> {
    const was = this.entry(handle)?.limit;
    const { limit } = await handle.backend.limit(handle.board.id, signal);
    const untouched =
      limit !== undefined && handle.backend.name !== "http" ? limit === was : outcome.result === "blocked";
    if (untouched) this.forget(handle);
  }
}

const heldLower = (board: string): string => `another program holds ${board} lower`;
