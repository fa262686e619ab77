import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  elapsed,
  formatWatts,
  type MonotonicInstant,
  milliseconds,
  type Watts,
  wattsFromMilliwatts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import {
  clampToRange,
  type GpuBackend,
  type GpuBackendView,
  type GpuCapBoard,
  originalText,
  outcomeAfterRollback,
  parseOriginal,
  readBackOutcome,
  restoreOutcome,
  whyInvalidLimit,
} from "../gpu/gpu-board.ts";
import { errorText } from "../host/host-error.ts";
import type { BoardPower, LimitReading, OriginalReading } from "../port.ts";
import { describeBoard, type KnownNvmlBoard, mergeBoards, type NvmlBoardLookup, orUnsupported } from "./nvml-board.ts";
import type { NvmlCrashGuard } from "./nvml-crash-guard.ts";
import { isMissingFeature, isStaleSession, NvmlCode, NvmlError, type NvmlHandle } from "./nvml-functions.ts";
import { NvmlPower } from "./nvml-power.ts";
import { type NvmlCaller, NvmlSession } from "./nvml-session.ts";

/** How long a board description is cached: ranges and modes change only with a driver or a reset. */
const DESCRIPTION_TTL = milliseconds(60_000);
/** The enforced limit follows a new limit with a short delay. */
const READ_BACK_TRIES = 3;
const READ_BACK_PAUSE = milliseconds(100);

interface NvmlOptions {
  readonly library: string;
  readonly clock: Clock;
  readonly crashGuard?: NvmlCrashGuard;
}

/** NVIDIA GPUs through NVML, identified by UUID. Every call runs off the event loop with a time limit. */
export class NvmlBackend implements GpuBackend {
  readonly name = "nvml";
  readonly kind = "gpu";
  readonly #clock: Clock;
  readonly #session: NvmlSession;
  readonly #crashGuard: NvmlCrashGuard | undefined;
  #known = new Map<string, KnownNvmlBoard>();
  readonly #power: NvmlPower;

  constructor({ library, clock, crashGuard }: NvmlOptions) {
    this.#clock = clock;
    this.#crashGuard = crashGuard;
    this.#session = new NvmlSession(library, clock);
    this.#power = new NvmlPower(clock);
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    const disabled = await this.#crashGuard?.whyDisabled(signal);
    if (disabled !== undefined) return { absent: disabled };
    this.#crashGuard?.begin();
    try {
      const boards = await this.#session.with(signal, async (call, again) => this.#find(call, again));
      return boards.length > 0 ? { boards } : { absent: "NVML finds no GPU on this node" };
    } catch (error) {
      return { absent: errorText(error) };
    } finally {
      this.#crashGuard?.end();
    }
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    try {
      return await this.#onBoard(id, signal, async (call, { handle }) => {
        const [enforced] = await orUnsupported(call(id, "enforcedLimit", handle));
        const [limit] = enforced === undefined ? await call(id, "limit", handle) : [enforced];
        return { limit: wattsFromMilliwatts(limit) };
      });
    } catch (error) {
      return { unreadable: errorText(error) };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const invalid = whyInvalidLimit(limit);
    if (invalid !== undefined) return { result: "error", message: invalid };
    try {
      return await this.#onBoard(id, signal, async (call, { handle }) => {
        const [before] = await call(id, "limit", handle);
        this.#power.restart(id);
        await call(id, "setLimit", handle, Math.round(limit * 1000));
        const outcome = await this.#readBack(call, id, handle, limit);
        if (outcome.result === "applied") return outcome;
        // Roll back: a cap that is not applied must leave no change behind.
        return outcomeAfterRollback(outcome, async () => call(id, "setLimit", handle, before));
      });
    } catch (error) {
      return this.#errorOutcome(id, error);
    }
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    try {
      // Not the enforced limit: restoring it would make another party's lower limit permanent.
      const [limit] = await this.#onBoard(id, signal, async (call, { handle }) => call(id, "limit", handle));
      return { original: originalText(wattsFromMilliwatts(limit)) };
    } catch (error) {
      return { unreadable: errorText(error) };
    }
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined)
      return { result: "error", message: `${JSON.stringify(original)} is not a GPU power limit` };
    try {
      return await this.#onBoard(id, signal, async (call, { handle, board }) => {
        const possible = clampToRange(limit, board.device);
        await call(id, "setLimit", handle, Math.round(possible * 1000));
        const [now] = await call(id, "limit", handle);
        return restoreOutcome(
          limit,
          possible,
          readBackOutcome({ requested: possible, limit: wattsFromMilliwatts(now) }),
        );
      });
    } catch (error) {
      return this.#errorOutcome(id, error);
    }
  }

  async power(signal?: AbortSignal): Promise<readonly BoardPower[]> {
    if (this.#known.size === 0) await this.discover(signal);
    const known = [...this.#known.keys()];
    return Promise.all(
      known.map(async (id) => {
        try {
          const power = await this.#onBoard(id, signal, async (call, { handle, board }) =>
            this.#power.of(call, id, handle, board.device.max),
          );
          return { id, power };
        } catch (error) {
          return { id, missing: errorText(error) };
        }
      }),
    );
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** Finds all boards. Boards that were known before and no longer respond are reported as lost. */
  async #find(call: NvmlCaller, again: boolean): Promise<readonly GpuCapBoard[]> {
    const before = this.#known;
    const [count] = await call("driver", "count");
    const found = await Promise.all(
      Array.from({ length: count }, async (_, index) => this.#findOne(call, index, again)),
    );
    // If no board responds because the driver was reloaded, start a new session before reporting boards as lost.
    const stale = found.find(({ error }) => isStaleSession(error));
    if (!again && stale !== undefined && found.every(({ known }) => known === undefined)) throw stale.error;
    this.#known = new Map([
      ...before,
      ...found.flatMap(({ known }) => (known ? [[known.board.id, known] as const] : [])),
    ]);
    return mergeBoards([...before.values()], found);
  }

  async #findOne(call: NvmlCaller, index: number, again: boolean): Promise<NvmlBoardLookup> {
    const lane = `index ${index}`;
    try {
      const [handle] = await call(lane, "handle", index);
      const [id] = await call(lane, "uuid", handle);
      const before = again ? undefined : this.#known.get(id);
      const now = this.#clock.monotonic();
      const current = before !== undefined && elapsed(before.describedAt, now) < DESCRIPTION_TTL;
      const board = current ? before.board : await describeBoard(call, id, handle);
      return { index, known: { index, handle, board, describedAt: current ? before.describedAt : now } };
    } catch (error) {
      return { index, error };
    }
  }

  async #onBoard<Result>(
    id: string,
    signal: AbortSignal | undefined,
    work: (call: NvmlCaller, known: KnownNvmlBoard) => Promise<Result>,
  ): Promise<Result> {
    return this.#session.with(signal, async (call, again) => {
      if (again || !this.#known.has(id)) await this.#find(call, again);
      const known = this.#known.get(id);
      if (known === undefined) throw new Error(`NVML finds no GPU ${JSON.stringify(id)} on this node`);
      return work(call, known);
    });
  }

  async #readBack(call: NvmlCaller, id: string, handle: NvmlHandle, asked: Watts): Promise<WriteOutcome> {
    for (let tried = 1; ; tried += 1) {
      const [limit] = await call(id, "limit", handle);
      const [enforced] = await orUnsupported(call(id, "enforcedLimit", handle));
      const outcome = readBackOutcome({
        requested: asked,
        limit: wattsFromMilliwatts(limit),
        enforced: enforced === undefined ? undefined : wattsFromMilliwatts(enforced),
      });
      if (outcome.result === "applied" || tried >= READ_BACK_TRIES) return outcome;
      await this.#clock.sleep(READ_BACK_PAUSE);
    }
  }

  #errorOutcome(id: string, error: unknown): WriteOutcome {
    const message = errorText(error);
    const code = error instanceof NvmlError ? error.code : undefined;
    if (code === NvmlCode.noPermission || isMissingFeature(error)) return { result: "blocked", message };
    if (code !== NvmlCode.invalidArgument) return { result: "error", message };
    const { min, max } = this.#known.get(id)?.board.device ?? {};
    // The range may have changed: the next discovery reads it again.
    this.#forgetDescription(id);
    const range =
      min === undefined || max === undefined
        ? ""
        : `; its last known range is ${formatWatts(min)} to ${formatWatts(max)}`;
    return { result: "error", message: `${message}${range}` };
  }

  #forgetDescription(id: string): void {
    const known = this.#known.get(id);
    if (known !== undefined) this.#known.set(id, { ...known, describedAt: LONG_AGO });
  }
}

const LONG_AGO = milliseconds(-Infinity) as MonotonicInstant;
