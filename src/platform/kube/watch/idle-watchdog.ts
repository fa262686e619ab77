import { type Milliseconds, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../clock/index.ts";
import { ApiError, isApiError } from "../client/errors.ts";
import type { KubeObject } from "../client/object.ts";
import type { ListPage } from "../client/pages.ts";
import { comesAfter } from "./resource-version.ts";

/**
 * The result of probing a silent watch: it missed nothing; it missed changes; the server's resourceVersion advanced, through
 * this kind or another; or a fatal error.
 */
export type ProbeResult = "nothing missed" | "missed" | "unsure" | Error;

export interface WatchdogOptions {
  readonly clock: Clock;
  /** Maximum silence before the watch is restarted. */
  readonly limit: Milliseconds;
  /** The same until the first data. Default: `limit`. */
  readonly firstLimit?: Milliseconds;
  readonly probe: () => Promise<ProbeResult>;
  /** Ends the watch, with the probe's error or undefined after too long a silence. */
  readonly giveUp: (error: Error | undefined) => void;
}

/** Probes at this share of the limit, so that the response and the grace time still fit into it. */
const ASK_AFTER = 0.75;
/** Grace time (share of the limit) for missed events that may still arrive. */
const GRACE = 0.25;
const MAX_GRACE = 15_000;

/**
 * Detects a watch whose connection is dead without an error.
 * A probe over another connection checks for missed changes. If the result is unsure, a new watch from the same
 * resourceVersion replaces the old one: this costs one request and bounds staleness by the limit.
 */
export class IdleWatchdog {
  readonly #options: WatchdogOptions;
  #limit: Milliseconds;
  #heardAt: MonotonicInstant;
  #timer: Timer | undefined;
  #probing = false;
  #stopped = false;

  constructor(options: WatchdogOptions) {
    const { clock, limit, firstLimit = limit } = options;
    this.#options = options;
    this.#limit = firstLimit;
    this.#heardAt = clock.monotonic();
    this.#listen();
  }

  /** The server opened the watch. */
  opened(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }

  /** The watch received data. */
  heard(): void {
    const { clock, limit } = this.#options;
    this.#heardAt = clock.monotonic();
    if (this.#limit === limit) return;
    this.#limit = limit;
    if (this.#probing || this.#stopped) return;
    this.#timer?.cancel();
    this.#listen();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** A timer that fires early waits for the rest, which is cheaper than a new timer per event. */
  #listen(): void {
    const { clock } = this.#options;
    const due = () => this.#heardAt + this.#limit * ASK_AFTER;
    this.#timer = clock.after(milliseconds(Math.max(0, due() - clock.monotonic())), () => {
      if (due() > clock.monotonic()) this.#listen();
      else void this.#doubt();
    });
  }

  async #doubt(): Promise<void> {
    const { clock, probe, giveUp } = this.#options;
    const limit = this.#limit;
    const heardAt = this.#heardAt;
    let finding: ProbeResult;
    this.#probing = true;
    try {
      finding = await probe();
    } catch (error) {
      finding = error instanceof Error ? error : new Error(String(error));
    }
    this.#probing = false;
    if (this.#stopped) return;
    // Ignores the probe if the watch received data meanwhile.
    if (this.#heardAt !== heardAt) this.#listen();
    else if (finding instanceof Error) giveUp(finding);
    else if (finding === "nothing missed") {
      this.heard();
      this.#listen();
    } else if (finding === "missed") {
      this.#unlessHeard(Math.min(limit * GRACE, MAX_GRACE), () => giveUp(undefined));
    } else {
      this.#unlessHeard(heardAt + limit - clock.monotonic(), () => giveUp(undefined));
    }
  }

  #unlessHeard(length: number, then: () => void): void {
    const heardAt = this.#heardAt;
    this.#timer = this.#options.clock.after(milliseconds(Math.max(0, length)), () => {
      if (this.#heardAt === heardAt) then();
      else this.#listen();
    });
  }
}

export interface ProbeOptions {
  /** Lists one object, to get the server's current resourceVersion over another connection. */
  readonly ask: () => Promise<ListPage>;
  /** The watch's current resourceVersion. */
  readonly at: () => string;
}

/** Checks with one small list whether a silent watch missed changes. */
export async function probeWatch({ ask, at }: ProbeOptions): Promise<ProbeResult> {
  let page: ListPage;
  try {
    page = await ask();
  } catch (error) {
    // An overloaded server says nothing about the watch.
    if (isApiError(error, "tooMany", "busy")) return "unsure";
    throw error;
  }
  const come = at();
  if (page.resourceVersion === come) return "nothing missed";
  if (comesAfter(come, page.resourceVersion) === true) {
    return new ApiError(
      "gone",
      `the server's resourceVersion went back to ${page.resourceVersion}: it was probably restored from a backup`,
    );
  }
  // The list's resourceVersion advances with every kind; an object's own does not.
  const isNewer = ({ metadata }: KubeObject) => comesAfter(metadata.resourceVersion ?? "", come) === true;
  return page.items.some(isNewer) ? "missed" : "unsure";
}
