import {
  afterRestore,
  afterThrottle,
  type DvfsSettings,
  type DvfsState,
  initialDvfsState,
  stepDvfs,
  type WriteOutcome,
} from "../../../core/control/index.ts";
import { isNonNegative, type Percent, percent, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { ThrottleBackend } from "../../../platform/hardware/index.ts";
import type { Journal, JournalKey } from "../../../platform/journal/index.ts";
import { ConflictingWriters, NOT_REASSERTED } from "./conflicting-writers.ts";
import { type BoardOwner, bootAndTime, journalKeyOf, saveOriginal } from "./original-limits.ts";
import { WriteBackoff } from "./write-backoff.ts";

export interface ThrottleConflict {
  /** Set again, or undone so often that setting it again is a fight. */
  readonly kind: "undone" | "contested";
  readonly message: string;
}

/** The one board of a throttle: all of the node's CPUs. */
export const THROTTLE_BOARD = "throttle";

/** Throttles, and remembers by how much: in memory, and over restarts in the journal. */
export class ThrottleEnforcer {
  readonly #owner: BoardOwner;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #settings: DvfsSettings;
  readonly #backoff: WriteBackoff;
  #dvfs: DvfsState = initialDvfsState;
  /** Whose throttle `#dvfs` is about: another's, or that of an earlier run, is taken from the journal. */
  #adopted: string | undefined;
  /** What the journal says was to be set; whether it was, only a write can tell. */
  #unsure = false;
  readonly #conflicts: ConflictingWriters;
  /** What somebody else had undone this tick, and what was done about it. */
  conflict: ThrottleConflict | undefined;

  constructor(owner: BoardOwner, journal: Journal, clock: Clock, settings: DvfsSettings) {
    this.#owner = owner;
    this.#journal = journal;
    this.#clock = clock;
    this.#settings = settings;
    this.#conflicts = new ConflictingWriters(clock);
    this.#backoff = new WriteBackoff(clock);
  }

  get dvfs(): DvfsState {
    return this.#dvfs;
  }

  /** Makes the state fit what is known otherwise: the journal of an earlier run, a restore, what a service reports. */
  syncState(backend: ThrottleBackend | undefined, reported: number | undefined): void {
    this.conflict = undefined;
    if (backend === undefined) return;
    const entry = this.#journal.get(this.#key(backend));
    if (entry === undefined) {
      if (this.#dvfs.throttlePct > 0) this.#dvfs = afterRestore(this.#dvfs);
      return;
    }
    const name = this.#name(backend);
    const isNew = this.#adopted !== name;
    if (isNew) {
      this.#adopted = name;
      backend.adoptOriginals?.(entry.original);
    }
    const remembered = isNew ? entry.ours : undefined;
    this.#unsure = (isNew || this.#unsure) && !isNonNegative(reported);
    const throttlePct = isNonNegative(reported) ? Math.min(100, reported) : remembered;
    if (throttlePct !== undefined && throttlePct !== this.#dvfs.throttlePct)
      this.#dvfs = { ...this.#dvfs, throttlePct: percent(throttlePct) };
  }

  /** One step of the loop, which looks after what is in force where it has nothing to change. */
  async regulate(
    backend: ThrottleBackend,
    observed: Watts | undefined,
    target: Watts,
    onAction: (kind: "throttle_up" | "throttle_down") => void,
    signal: AbortSignal,
  ): Promise<WriteOutcome> {
    const step = stepDvfs(this.#dvfs, observed, target, this.#clock.monotonic(), this.#settings);
    if (step.action === undefined) {
      this.#dvfs = step.state;
      return this.check(backend, signal);
    }
    const outcome = await this.#write(backend, step.action.throttlePct, signal);
    this.#dvfs = outcome.result === "applied" ? step.state : step.ifWriteFails;
    if (outcome.result === "applied") onAction(step.action.kind);
    return outcome;
  }

  /**
   * Writes again what somebody undid, or an earlier run never came to write: a host's backend writes only what differs. What a
   * service reports of its throttle was heard already.
   */
  async check(backend: ThrottleBackend, signal: AbortSignal): Promise<WriteOutcome> {
    const { throttlePct } = this.#dvfs;
    const known = backend.name === "http" && !this.#unsure;
    return throttlePct === 0 || known ? { result: "applied" } : this.#write(backend, throttlePct, signal);
  }

  /** What is newly asked for: it is tried at once, whoever fought over what was asked for before. */
  async set(backend: ThrottleBackend, throttlePct: Percent, signal: AbortSignal): Promise<WriteOutcome> {
    const outcome = await this.#write(backend, throttlePct, signal, true);
    if (outcome.result === "applied") this.#dvfs = afterThrottle(throttlePct, this.#clock.monotonic());
    return outcome;
  }

  /** As it was before us. */
  async restore(backend: ThrottleBackend, signal: AbortSignal): Promise<WriteOutcome> {
    const entry = this.#journal.get(this.#key(backend));
    if (entry !== undefined) {
      const outcome = await backend.restore(entry.original, signal);
      if (outcome.result !== "applied") return outcome;
      this.#journal.drop(entry);
      this.#conflicts.forget(this.#name(backend));
    }
    this.#dvfs = afterRestore(this.#dvfs);
    return { result: "applied" };
  }

  /** Something of ours is written down that throttles nobody any more. */
  isIdle(backend: ThrottleBackend): boolean {
    return this.#dvfs.throttlePct === 0 && this.#journal.get(this.#key(backend)) !== undefined;
  }

  async #write(
    backend: ThrottleBackend,
    throttlePct: Percent,
    signal: AbortSignal,
    newlyAsked = false,
  ): Promise<WriteOutcome> {
    const key = this.#key(backend);
    const name = this.#name(backend);
    const resting = this.#backoff.suppressedOutcome(name, throttlePct);
    if (resting !== undefined) return resting;
    if (!newlyAsked) this.#detectConflict(backend);
    const contested = this.conflict?.kind === "contested" ? this.conflict.message : undefined;
    // Letting go is no fight, as long as nothing is set again with it.
    if (contested !== undefined && throttlePct >= this.#dvfs.throttlePct)
      return { result: "blocked", message: contested };
    const fresh = this.#journal.get(key) === undefined;
    if (fresh) {
      const { original, unreadable } = await backend.original(signal);
      if (original === undefined)
        return {
          result: "blocked",
          message: `what the CPUs run at now cannot be read, so nothing is changed: ${unreadable}`,
        };
      const when = bootAndTime(this.#owner, backend.name, this.#clock);
      const unsaved = await saveOriginal(this.#journal, { ...key, original, ours: throttlePct, ...when });
      if (unsaved !== undefined) return unsaved;
      this.#adopted = name;
    }
    const outcome =
      contested !== undefined && backend.relax !== undefined
        ? await backend.relax(throttlePct, signal)
        : await backend.throttle(throttlePct, signal);
    if (outcome.result === "applied") {
      this.#backoff.recordSuccess(name);
      this.#unsure = false;
      this.#journal.note(key, throttlePct);
    } else {
      this.#backoff.recordFailure(name, outcome, throttlePct);
      // A refusal changed nothing; a failure may have changed some of it.
      if (fresh && outcome.result === "blocked") this.#journal.drop(key);
    }
    return outcome;
  }

  #detectConflict(backend: ThrottleBackend): void {
    const raised = backend.raisedByOthers?.();
    if (raised === undefined) return;
    const again = this.#conflicts.recordConflict(this.#name(backend));
    // What is contested goes without the other program's figures, which may differ at every tick: each new status message is a write.
    this.conflict =
      again === undefined
        ? { kind: "contested", message: `another program keeps lifting the throttle; ${NOT_REASSERTED}` }
        : { kind: "undone", message: `another program had set ${raised}; ${again}` };
  }

  #key({ name }: ThrottleBackend): JournalKey {
    return journalKeyOf(this.#owner, name, THROTTLE_BOARD);
  }

  #name(backend: ThrottleBackend): string {
    return `${backend.name} ${this.#key(backend).endpoint ?? ""}`;
  }
}
