import type { WriteOutcome } from "../../../core/control/index.ts";
import { milliseconds, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { HttpCapBackend, HttpControlClient, HttpThrottleBackend } from "../../../platform/hardware/index.ts";
import type { JournalEntry } from "../../../platform/journal/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";
import { isSameLimit, journalBackend, limitLoweredByOthers } from "../devices/original-limits.ts";
import { THROTTLE_BOARD } from "../devices/throttle-enforcer.ts";
import type { Host } from "../host/host.ts";

export interface RestorerOptions {
  /** Absent in pool mode. */
  readonly host: Host | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** Puts a board back as the journal says it was, by the backend that changed it, whatever the route says by now. */
export class Restorer {
  readonly #options: RestorerOptions;

  constructor(options: RestorerOptions) {
    this.#options = options;
  }

  /** `ours` is what it should read by now, where that is known for sure. */
  async restore(entry: JournalEntry, signal: AbortSignal, ours?: Watts): Promise<WriteOutcome> {
    const { backend, board, original } = entry;
    if (backend === "http") return this.#overHttp(entry, signal);
    const { host } = this.#options;
    if (host === undefined)
      return { result: "blocked", message: `${backend} is the host's, which pool mode never touches` };
    if (await this.isReset(entry, signal)) return { result: "applied" };
    if (backend === host.throttle.name) return host.throttle.restore(original, signal);
    const caps = this.#capsOf(entry);
    if (caps === undefined) return { result: "blocked", message: `there is no ${backend} here any more` };
    if ((await limitLoweredByOthers(caps, board, ours, signal)) !== undefined) return { result: "applied" };
    return caps.restore(board, original, signal);
  }

  /**
   * Whether the firmware has set the board anew since: another boot, and what we had set is not there any more. A kernel that was
   * started by another one leaves a limit as it is.
   */
  async isReset(entry: JournalEntry, signal: AbortSignal): Promise<boolean> {
    if (!this.isOfAnotherBoot(entry)) return false;
    const { limit } = (await this.#capsOf(entry)?.limit(entry.board, signal)) ?? {};
    return limit === undefined || entry.ours === undefined || !isSameLimit(limit, entry.ours);
  }

  isOfAnotherBoot({ backend, boot }: JournalEntry): boolean {
    const now = this.#options.host?.boot;
    return backend !== "http" && boot !== undefined && now !== undefined && boot !== now;
  }

  #capsOf({ backend }: JournalEntry) {
    const { host } = this.#options;
    return host && [...host.cpuCaps, host.gpu].find((one) => journalBackend(one) === backend);
  }

  async #overHttp({ node = "", board, original }: JournalEntry, signal: AbortSignal): Promise<WriteOutcome> {
    const { http, clock } = this.#options;
    // Where to is in the original.
    const control = new HttpControlClient({ http, clock, node, endpoint: "", timeout: milliseconds(0) });
    if (board === THROTTLE_BOARD) return new HttpThrottleBackend(control).restore(original, signal);
    const kind = board === "gpus" ? "gpu" : "cpu";
    const devices = () => ({ device: {}, count: 1 });
    return new HttpCapBackend({ kind, control, devices }).restore(board, original, signal);
  }
}
