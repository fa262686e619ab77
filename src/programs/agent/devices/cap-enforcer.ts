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
import { ConflictingWriters, NOT_REASSERTED, WriteBackoff } from "./write-limits.ts";

export interface BoardHandle {
  readonly backend: PowerCapBackend;
  readonly board: CapBoard;
}

export interface MissingBoard {
  readonly id: string;
  readonly cap: Watts;
}

export type CapCheck =
  | { readonly kind: "holds"; readonly message?: string }
  /** Another program raised the limit; the cap must be written again. */
  | { readonly kind: "undone"; readonly found: Watts; readonly message: string }
  | { readonly kind: "unreadable"; readonly message: string }
  /** Another program keeps raising the limit; the agent stops writing it for now. */
  | { readonly kind: "contested"; readonly message: string };

/** What this process knows about a cap it has set, beyond the journal. */
interface SetCap {
  readonly requested: Watts;
  /** The limit that the board reported right after the write. */
  readonly read: Watts | undefined;
  readonly watch: CapWatch;
  /** False during a write and after a failed one: then the limit in force is unknown. */
  readonly sure: boolean;
}

/** The next tick, which is due at once, follows the newer target. */
export const SUPERSEDED: WriteOutcome = { result: "error", message: "a newer target arrived; nothing was lowered" };

export interface RequestedCap {
  readonly cap: Watts;
  /** The power that must stay below the cap; over HTTP one board stands for several. */
  readonly watched: Watts;
  readonly isCurrent: () => boolean;
}

/** Averaging window of boards that do not report one. */
const DEFAULT_AVERAGING = milliseconds(1000);
/** Sentinel: unknown cap; forces a rewrite. */
const UNKNOWN_CAP = watts(Infinity);

/** Sets and checks caps: saves the original before the first write, reads writes back, trusts a cap only under load. */
export class CapEnforcer {
  readonly #owner: BoardOwner;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #setCaps = new Map<string, SetCap>();
  readonly #conflicts: ConflictingWriters;
  readonly #backoff: WriteBackoff;
  /** Why an original could not be saved; the caller clears it before each tick. */
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
   * The agent's cap on the board. After a restart or a failed write it is read from the board; if that fails too, the result is
   * `UNKNOWN_CAP`, and the cap is written again.
   */
  async inForce(handle: BoardHandle, signal: AbortSignal): Promise<Watts | undefined> {
    const entry = this.entry(handle);
    if (entry === undefined) return undefined;
    const setCap = this.#setCaps.get(this.#name(handle));
    if (setCap?.sure === true) return setCap.requested;
    // What an HTTP service reports may be from before a command that got no answer.
    if (setCap !== undefined && handle.backend.name === "http") return UNKNOWN_CAP;
    const { limit } = await handle.backend.limit(handle.board.id, signal);
    return limit ?? UNKNOWN_CAP;
  }

  /** Boards that the journal lists and these backends do not show any more; their caps cannot be lifted now. */
  missing(backends: readonly PowerCapBackend[], handles: readonly BoardHandle[]): readonly MissingBoard[] {
    const visible = new Set(handles.map((handle) => this.#name(handle)));
    // An HTTP service always has CPU packages, but not always GPUs.
    const entries = backends.flatMap((backend) =>
      backend.name === "http"
        ? [backend.kind === "gpu" ? this.#journal.get(journalKeyOf(this.#owner, "http", "gpus")) : undefined]
        : this.#journal.of().filter((entry) => entry.backend === journalBackend(backend)),
    );
    return entries
      .filter((entry) => entry !== undefined)
      .filter((entry) => !visible.has(journalKeyText(entry)))
      .map(({ board, ours = 0 }) => ({ id: board, cap: watts(ours) }));
  }

  async device(handle: BoardHandle, signal: AbortSignal): Promise<CapDevice> {
    const { device, id } = handle.board;
    // An HTTP service has a maximum but no original limit.
    if (handle.backend.name === "http") return device;
    const entry = this.entry(handle);
    const original = entry === undefined ? (await handle.backend.limit(id, signal)).limit : entry.limit;
    return original === undefined ? device : { ...device, original };
  }

  async set(
    handle: BoardHandle,
    { cap, watched, isCurrent }: RequestedCap,
    signal: AbortSignal,
  ): Promise<WriteOutcome> {
    const { backend, board } = handle;
    const name = this.#name(handle);
    if (board.lost !== undefined) return { result: "error", message: `${board.id}: ${board.lost}` };
    if (board.locked !== undefined) return { result: "blocked", message: `${board.id}: ${board.locked}` };
    const lower = await this.#loweredByOthers(handle, signal);
    if (lower !== undefined && lower < cap) return { result: "applied", message: heldLower(board.id) };
    const suppressed = this.#backoff.suppressedOutcome(name, cap);
    if (suppressed !== undefined) return suppressed;
    if (!isCurrent()) return SUPERSEDED;
    const fresh = this.entry(handle) === undefined;
    const unsaved = fresh ? await this.#save(handle, cap, signal) : undefined;
    if (unsaved !== undefined) {
      this.unsavedReason = unsaved.message;
      return unsaved;
    }
    // Saving and reading took a moment. A cap that a newer target does not want must not be set any more.
    if (!isCurrent()) {
      if (fresh) this.forget(handle);
      return SUPERSEDED;
    }
    // Without a journal entry the cap was restored meanwhile, so this knowledge is outdated.
    if (fresh) this.#setCaps.delete(name);
    const watch = this.#setCaps.get(name)?.watch ?? this.#watch(handle, watched);
    this.#setCaps.set(name, { requested: cap, read: undefined, watch, sure: false });
    const outcome = await backend.cap(board.id, cap, signal);
    if (outcome.isUnsettled === true) return outcome;
    if (outcome.result !== "applied") {
      this.#backoff.recordFailure(name, outcome, cap);
      if (fresh) await this.#forgetUntouched(handle, outcome, signal);
      return outcome;
    }
    this.#backoff.recordSuccess(name);
    const { limit: read } = await backend.limit(board.id, signal);
    this.#remember(handle, { requested: cap, read, watched });
    this.#journal.note(this.#key(handle), cap);
    return outcome;
  }

  /** Checks that the cap is still in force. From now on a cap of an earlier run is watched too. */
  async check(handle: BoardHandle, cap: Watts, watched: Watts, signal: AbortSignal): Promise<CapCheck> {
    const { backend, board } = handle;
    if (board.lost !== undefined) return { kind: "unreadable", message: `${board.id}: ${board.lost}` };
    const { limit, unreadable } = await backend.limit(board.id, signal);
    const name = this.#name(handle);
    const last = this.#setCaps.get(name);
    const setCap = last?.sure === true ? last : undefined;
    // An HTTP service need not report caps. A board whose limit cannot be read any more is an error.
    if (limit === undefined)
      return backend.name === "http"
        ? { kind: "holds" }
        : { kind: "unreadable", message: `the cap cannot be read back: ${unreadable}` };
    const expected = setCap?.read ?? setCap?.requested ?? cap;
    if (isSameLimit(limit, expected)) {
      if (setCap === undefined) this.#remember(handle, { requested: cap, read: limit, watched });
      return { kind: "holds" };
    }
    // Another program set a lower limit, for example because of heat. The cap is kept, so leave it alone.
    if (limit < expected) return { kind: "holds", message: heldLower(board.id) };
    // After a restart of the agent a reboot may have reset the limit; that is no conflict.
    if (setCap === undefined) return { kind: "undone", found: limit, message: "" };
    const again = this.#conflicts.recordConflict(name);
    if (again === undefined)
      // Without the limit, which may differ at every tick: each new status message is a write to the API server.
      return {
        kind: "contested",
        message: `another program keeps raising the limit of ${board.id}; ${NOT_REASSERTED}`,
      };
    const message = `another program set ${board.id} to ${limit} W; ${again}`;
    return { kind: "undone", found: limit, message };
  }

  async lift(handle: BoardHandle, signal: AbortSignal): Promise<WriteOutcome> {
    const entry = this.entry(handle);
    if (entry === undefined) return { result: "applied" };
    if ((await this.#loweredByOthers(handle, signal)) !== undefined) {
      this.forget(handle);
      return { result: "applied" };
    }
    const outcome = await handle.backend.restore(handle.board.id, entry.original, signal);
    if (outcome.result === "applied") this.forget(handle);
    return outcome;
  }

  /** Removes the board from the journal and from memory; its original limit is in force. */
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

  verdict(handle: BoardHandle): CapVerdict | undefined {
    const setCap = this.#setCaps.get(this.#name(handle));
    return setCap === undefined || this.entry(handle) === undefined ? undefined : capVerdict(setCap.watch);
  }

  /** The limit that the board must report unless another program changes it; undefined if unknown. */
  expectedLimit(key: JournalKey): Watts | undefined {
    const setCap = this.#setCaps.get(journalKeyText(key));
    return setCap?.sure === true ? (setCap.read ?? setCap.requested) : undefined;
  }

  async #loweredByOthers(handle: BoardHandle, signal: AbortSignal): Promise<Watts | undefined> {
    return limitLoweredByOthers(handle.backend, handle.board.id, this.expectedLimit(this.#key(handle)), signal);
  }

  #remember(
    handle: BoardHandle,
    { requested, read, watched }: Pick<SetCap, "requested" | "read"> & { readonly watched: Watts },
  ): void {
    this.#setCaps.set(this.#name(handle), { requested, read, watch: this.#watch(handle, watched), sure: true });
  }

  #watch({ board }: BoardHandle, watched: Watts): CapWatch {
    const trustFrom = monotonicInstant(this.#clock.monotonic() + (board.averagingWindow ?? DEFAULT_AVERAGING));
    return watchCap(watched, trustFrom);
  }

  #key({ backend, board }: BoardHandle): JournalKey {
    return journalKeyOf(this.#owner, journalBackend(backend), board.id);
  }

  #name(handle: BoardHandle): string {
    return journalKeyText(this.#key(handle));
  }

  async #save({ backend, board }: BoardHandle, ours: Watts, signal: AbortSignal): Promise<WriteOutcome | undefined> {
    const { original, unreadable } = await backend.original(board.id, signal);
    if (original === undefined)
      return {
        result: "blocked",
        message: `${board.id}: the current limit cannot be read, so it is not changed: ${unreadable}`,
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

  /** Removes the journal entry if the first write changed nothing. If it may have changed the limit, the entry stays. */
  async #forgetUntouched(handle: BoardHandle, outcome: WriteOutcome, signal: AbortSignal): Promise<void> {
    const was = this.entry(handle)?.limit;
    const { limit } = await handle.backend.limit(handle.board.id, signal);
    const untouched =
      limit !== undefined && handle.backend.name !== "http" ? limit === was : outcome.result === "blocked";
    if (untouched) this.forget(handle);
  }
}

const heldLower = (board: string): string => `another program holds ${board} lower`;
