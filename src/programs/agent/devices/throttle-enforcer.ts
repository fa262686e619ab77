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
import { SUPERSEDED } from "./cap-enforcer.ts";
import { type BoardOwner, bootAndTime, journalKeyOf, saveOriginal } from "./original-limits.ts";
import { ConflictingWriters, NOT_REASSERTED, WriteBackoff } from "./write-limits.ts";

export interface WriteGuards {
  /** Asked right before a write: whether the target of this tick is still the newest one. */
  readonly isCurrent: () => boolean;
  readonly signal: AbortSignal;
}

export interface ThrottleConflict {
  /** undone: another program lifted the throttle and it was written again; contested: the agent backs off. */
  readonly kind: "undone" | "contested";
  readonly message: string;
}

/** The board name of a throttle in the journal: all CPUs of the node. */
export const THROTTLE_BOARD = "throttle";

/** Throttles CPUs and remembers by how much: in memory, and across restarts in the journal. */
export class ThrottleEnforcer {
  readonly #owner: BoardOwner;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #settings: DvfsSettings;
  readonly #backoff: WriteBackoff;
  #dvfs: DvfsState = initialDvfsState;
  /** The backend that `#dvfs` describes. For any other backend the state is loaded from the journal. */
  #loadedFor: string | undefined;
  /** The state comes from the journal, and the throttle may not have been written yet. */
  #unconfirmed = false;
  readonly #conflicts: ConflictingWriters;
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

  /** Updates the state from the journal of an earlier run, a restore, or the throttle that an HTTP service reports. */
  syncState(backend: ThrottleBackend | undefined, reported: number | undefined): void {
    this.conflict = undefined;
    if (backend === undefined) return;
    const entry = this.#journal.get(this.#key(backend));
    if (entry === undefined) {
      if (this.#dvfs.throttlePct > 0) this.#dvfs = afterRestore(this.#dvfs);
      return;
    }
    const name = this.#name(backend);
    const isNew = this.#loadedFor !== name;
    if (isNew) {
      this.#loadedFor = name;
      backend.adoptOriginals?.(entry.original);
    }
    const remembered = isNew ? entry.ours : undefined;
    this.#unconfirmed = (isNew || this.#unconfirmed) && !isNonNegative(reported);
    const throttlePct = isNonNegative(reported) ? Math.min(100, reported) : remembered;
    if (throttlePct !== undefined && throttlePct !== this.#dvfs.throttlePct)
      this.#dvfs = { ...this.#dvfs, throttlePct: percent(throttlePct) };
  }

  /** One step of the DVFS controller. If it changes nothing, it checks the throttle in force. */
  async regulate(
    backend: ThrottleBackend,
    observed: Watts | undefined,
    target: Watts,
    onAction: (kind: "throttle_up" | "throttle_down") => void,
    guards: WriteGuards,
  ): Promise<WriteOutcome> {
    const step = stepDvfs(this.#dvfs, observed, target, this.#clock.monotonic(), this.#settings);
    if (step.action === undefined) {
      this.#dvfs = step.state;
      return this.check(backend, guards);
    }
    const outcome = await this.#write(backend, step.action.throttlePct, guards);
    this.#dvfs = outcome.result === "applied" ? step.state : step.ifWriteFails;
    if (outcome.result === "applied") onAction(step.action.kind);
    return outcome;
  }

  /** Writes the throttle again if another program lifted it, or an earlier run never wrote it. */
  async check(backend: ThrottleBackend, guards: WriteGuards): Promise<WriteOutcome> {
    const { throttlePct } = this.#dvfs;
    const known = backend.name === "http" && !this.#unconfirmed;
    return throttlePct === 0 || known ? { result: "applied" } : this.#write(backend, throttlePct, guards);
  }

  /** Writes a new throttle at once, even if the previous one was contested. */
  async set(backend: ThrottleBackend, throttlePct: Percent, guards: WriteGuards): Promise<WriteOutcome> {
    const outcome = await this.#write(backend, throttlePct, guards, true);
    if (outcome.result === "applied") this.#dvfs = afterThrottle(throttlePct, this.#clock.monotonic());
    return outcome;
  }

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

  /** The journal has an entry, but the throttle is 0. */
  isIdle(backend: ThrottleBackend): boolean {
    return this.#dvfs.throttlePct === 0 && this.#journal.get(this.#key(backend)) !== undefined;
  }

  async #write(
    backend: ThrottleBackend,
    throttlePct: Percent,
    { isCurrent, signal }: WriteGuards,
    isNewTarget = false,
  ): Promise<WriteOutcome> {
    const key = this.#key(backend);
    const name = this.#name(backend);
    const suppressed = this.#backoff.suppressedOutcome(name, throttlePct);
    if (suppressed !== undefined) return suppressed;
    if (!isNewTarget) this.#detectConflict(backend);
    const contested = this.conflict?.kind === "contested" ? this.conflict.message : undefined;
    // Easing a contested throttle is allowed, as long as no limit is lowered again.
    if (contested !== undefined && throttlePct >= this.#dvfs.throttlePct)
      return { result: "blocked", message: contested };
    const fresh = this.#journal.get(key) === undefined;
    if (fresh) {
      const { original, unreadable } = await backend.original(signal);
      if (original === undefined)
        return {
          result: "blocked",
          message: `the current CPU frequency limits cannot be read, so they are not changed: ${unreadable}`,
        };
      const when = bootAndTime(this.#owner, backend.name, this.#clock);
      const unsaved = await saveOriginal(this.#journal, { ...key, original, ours: throttlePct, ...when });
      if (unsaved !== undefined) return unsaved;
      this.#loadedFor = name;
    }
    if (!isCurrent()) {
      if (fresh) this.#journal.drop(key);
      return SUPERSEDED;
    }
    const outcome =
      contested !== undefined && backend.relax !== undefined
        ? await backend.relax(throttlePct, signal)
        : await backend.throttle(throttlePct, signal);
    if (outcome.result === "applied") {
      this.#backoff.recordSuccess(name);
      this.#unconfirmed = false;
      this.#journal.note(key, throttlePct);
    } else {
      this.#backoff.recordFailure(name, outcome, throttlePct);
      // A blocked write changed nothing; a failed one may have changed some policies.
      if (fresh && outcome.result === "blocked") this.#journal.drop(key);
    }
    return outcome;
  }

  #detectConflict(backend: ThrottleBackend): void {
    const raised = backend.raisedByOthers?.();
    if (raised === undefined) return;
    const again = this.#conflicts.recordConflict(this.#name(backend));
    // Without the other program's values, which may differ at every tick: each new status message is a write.
    this.conflict =
      again === undefined
        ? { kind: "contested", message: `another program keeps lifting the throttle; ${NOT_REASSERTED}` }
        : { kind: "undone", message: `another program set ${raised}; ${again}` };
  }

  #key({ name }: ThrottleBackend): JournalKey {
    return journalKeyOf(this.#owner, name, THROTTLE_BOARD);
  }

  #name(backend: ThrottleBackend): string {
    return `${backend.name} ${this.#key(backend).endpoint ?? ""}`;
  }
}
