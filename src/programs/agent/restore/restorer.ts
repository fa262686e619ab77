import type { WriteOutcome } from "../../../core/control/index.ts";
import { milliseconds, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  HttpCapBackend,
  HttpControlClient,
  HttpThrottleBackend,
  type UnansweredCommands,
} from "../../../platform/hardware/index.ts";
import type { JournalEntry } from "../../../platform/journal/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";
import { isSameLimit, journalBackend, limitLoweredByOthers } from "../devices/original-limits.ts";
import { THROTTLE_BOARD } from "../devices/throttle-enforcer.ts";
import type { Host } from "../host/host.ts";

export interface RestorerOptions {
  readonly host: Host | undefined;
  readonly http: HttpClient;
  readonly clock: Clock;
  /** Of the node. Absent if this process has sent none. */
  readonly unanswered?: UnansweredCommands;
}

/** Restores a board to its journalled original, through the backend that changed it, independent of the current route. */
export class Restorer {
  readonly #options: RestorerOptions;

  constructor(options: RestorerOptions) {
    this.#options = options;
  }

  /** `expected` is the limit that the board must report unless another program changed it, if known. */
  async restore(entry: JournalEntry, signal: AbortSignal, expected?: Watts): Promise<WriteOutcome> {
    const { backend, board, original } = entry;
    if (backend === "http") return this.#overHttp(entry, signal);
    const { host } = this.#options;
    if (host === undefined)
      return { result: "blocked", message: `${backend} belongs to the host, which pool mode never changes` };
    if (await this.isReset(entry, signal)) return { result: "applied" };
    if (backend === host.throttle.name) return host.throttle.restore(original, signal);
    const caps = this.#capsOf(entry);
    if (caps === undefined) return { result: "blocked", message: `this host has no backend ${backend} any more` };
    if ((await limitLoweredByOthers(caps, board, expected, signal)) !== undefined) return { result: "applied" };
    return caps.restore(board, original, signal);
  }

  /** Whether the boot id differs and the agent's limit is gone. A kexec keeps the limit. */
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
    const { http, clock, unanswered } = this.#options;
    // The endpoint and timeout are part of the original.
    const sent = unanswered && { unanswered };
    const control = new HttpControlClient({ http, clock, node, endpoint: "", timeout: milliseconds(0), ...sent });
    if (board === THROTTLE_BOARD) return new HttpThrottleBackend(control).restore(original, signal);
    const kind = board === "gpus" ? "gpu" : "cpu";
    const devices = () => ({ device: {}, count: 1 });
    return new HttpCapBackend({ kind, control, devices }).restore(board, original, signal);
  }
}
