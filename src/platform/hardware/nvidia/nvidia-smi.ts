import type { ControlResult } from "../../../core/api/index.ts";
import type { WriteOutcome } from "../../../core/control/index.ts";
import { elapsed, formatWatts, type MonotonicInstant, milliseconds, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import {
  clampToRange,
  type GpuBackend,
  type GpuBackendView,
  type GpuCapBoard,
  type GpuReadBack,
  lostBoards,
  originalText,
  outcomeAfterRollback,
  parseOriginal,
  readBackOutcome,
  restoreOutcome,
  whyInvalidLimit,
} from "../gpu/gpu-board.ts";
import { lastOutputLine, VendorTool, type VendorToolResult } from "../gpu/vendor-tool.ts";
import { errorText } from "../host/host-error.ts";
import type { BoardPower, LimitReading, OriginalReading } from "../port.ts";
import { parseSmiTable, type SmiColumn, type SmiRow, smiColumns } from "./nvidia-smi-table.ts";

/** One run reports all boards and takes a large part of a second, so its result is reused within a tick. */
const CACHE_TTL = milliseconds(2_000);

/** Results by error text: nvidia-smi may print an error and still exit with 0. */
const refusals: readonly { readonly says: RegExp; readonly result: Exclude<ControlResult, "none" | "applied"> }[] = [
  { says: /insufficient permissions|no permission/i, result: "blocked" },
  { says: /not supported/i, result: "blocked" },
  { says: /not a valid power limit|should be between/i, result: "error" },
];

/** NVIDIA GPUs through nvidia-smi, identified by UUID. Used if NVML cannot be used. */
export class NvidiaSmiBackend implements GpuBackend {
  readonly name = "nvidia-smi";
  readonly kind = "gpu";
  readonly #clock: Clock;
  readonly #tool: VendorTool;
  #columns: readonly SmiColumn[] = smiColumns;
  #rows = new Map<string, SmiRow>();
  #queriedAt: MonotonicInstant | undefined;

  constructor({ clock, files = ["nvidia-smi"] }: { readonly clock: Clock; readonly files?: readonly string[] }) {
    this.#clock = clock;
    this.#tool = new VendorTool({
      files,
      clock,
      install: `install the NVIDIA driver and its tools, or in a container the NVIDIA container toolkit with the capability "utility"`,
    });
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    try {
      await this.#query(signal);
      const boards = [...this.#rows.values()].map(({ board }) => board);
      return boards.length > 0 ? { boards } : { absent: "nvidia-smi finds no GPU on this node" };
    } catch (error) {
      this.#queriedAt = undefined;
      return { absent: errorText(error) };
    }
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    const row = await this.#row(id, signal);
    if (typeof row === "string") return { unreadable: row };
    const limit = row.enforced ?? row.limit;
    return limit === undefined ? { unreadable: unreadable(row) } : { limit };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const invalid = whyInvalidLimit(limit);
    return invalid === undefined ? this.#set(id, limit, signal) : { result: "error", message: invalid };
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    const row = await this.#row(id, signal);
    if (typeof row === "string") return { unreadable: row };
    return row.limit === undefined ? { unreadable: unreadable(row) } : { original: originalText(row.limit) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined)
      return { result: "error", message: `${JSON.stringify(original)} is not a GPU power limit` };
    const row = await this.#row(id, signal);
    if (typeof row === "string") return { result: "error", message: row };
    if (row.board.lost !== undefined) return { result: "error", message: row.board.lost };
    const possible = clampToRange(limit, row.board.device);
    const written = await this.#write(id, possible, signal);
    if (written.result !== "applied") return written;
    // Compare with the board's own limit only: the enforced one may come from the BMC. No rollback: the previous limit is our cap.
    const now = await this.#reread(id, possible, signal);
    const outcome = typeof now === "string" ? failed(now) : readBackOutcome({ requested: possible, limit: now.limit });
    return restoreOutcome(limit, possible, outcome);
  }

  async power(signal?: AbortSignal): Promise<readonly BoardPower[]> {
    if (!this.#isRecent()) await this.discover(signal);
    return [...this.#rows.values()].map((row) =>
      row.draw === undefined || row.board.lost !== undefined
        ? { id: row.board.id, missing: unreadable(row) }
        : { id: row.board.id, power: row.draw },
    );
  }

  async #set(id: string, limit: Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    const known = await this.#row(id, signal);
    if (typeof known === "string") return { result: "error", message: known };
    if (known.board.lost !== undefined) return { result: "error", message: known.board.lost };
    const written = await this.#write(id, limit, signal);
    if (written.result !== "applied") return written;
    const now = await this.#reread(id, limit, signal);
    const outcome = typeof now === "string" ? failed(now) : readBackOutcome({ requested: limit, ...now });
    const before = known.limit;
    if (outcome.result === "applied" || before === undefined) return outcome;
    // Roll back: a cap that is not applied must leave no change behind.
    return outcomeAfterRollback(outcome, async () => {
      const { result, message } = await this.#write(id, before, signal);
      if (result !== "applied") throw new Error(message);
    });
  }

  /** `applied` = nvidia-smi reported success; the value has not been read back yet. */
  async #write(id: string, limit: Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    const answer = await this.#tool.run(["-i", id, "-pl", String(Number(limit.toFixed(2)))], signal);
    if (answer.absent !== undefined) return { result: "blocked", message: answer.absent };
    if (answer.failed !== undefined) return { result: "error", message: answer.failed };
    const output = `${answer.stdout}\n${answer.stderr}`;
    const refused = refusals.find(({ says }) => says.test(output));
    if (refused !== undefined) {
      return { result: refused.result, message: `nvidia-smi: ${lineWith(refused.says, output)}` };
    }
    return answer.status === 0
      ? { result: "applied" }
      : { result: "error", message: `nvidia-smi: ${lastOutputLine(answer)} (exit ${answer.status})` };
  }

  /** Reads the board's limits after a write, or returns an error text. */
  async #reread(
    id: string,
    written: Watts,
    signal: AbortSignal | undefined,
  ): Promise<Pick<GpuReadBack, "limit" | "enforced"> | string> {
    try {
      const [row] = (await this.#ask(["-i", id], signal)).rows;
      if (row?.limit === undefined) return `wrote ${formatWatts(written)} but could not read the limit back`;
      this.#rows.set(id, row);
      return { limit: row.limit, enforced: row.enforced };
    } catch (error) {
      return errorText(error);
    }
  }

  /** The board from the cache or from a new query, or an error text. */
  async #row(id: string, signal: AbortSignal | undefined): Promise<SmiRow | string> {
    const view: GpuBackendView = this.#isRecent() ? { boards: [] } : await this.discover(signal);
    if (view.absent !== undefined) return view.absent;
    return this.#rows.get(id) ?? `nvidia-smi finds no GPU ${JSON.stringify(id)} on this node`;
  }

  #isRecent(): boolean {
    return this.#queriedAt !== undefined && elapsed(this.#queriedAt, this.#clock.monotonic()) < CACHE_TTL;
  }

  async #query(signal: AbortSignal | undefined): Promise<void> {
    const rows = await this.#askAll(signal);
    const before = [...this.#rows.values()].map(({ board }) => board);
    const gone = lostBoards(
      before,
      rows.map(({ board }) => board),
      "nvidia-smi no longer lists it: it fell off the bus",
    );
    this.#rows = new Map([...rows, ...gone.map((board) => ({ board }))].map((row) => [row.board.id, row]));
    this.#queriedAt = this.#clock.monotonic();
  }

  /** A lost board truncates the output before the boards after it: query each board alone then. */
  async #askAll(signal: AbortSignal | undefined): Promise<readonly SmiRow[]> {
    const { rows, refused } = await this.#ask([], signal);
    if (refused === undefined) return rows;
    const alone: SmiRow[] = [];
    const known = [...this.#rows.values()].map(({ board }) => board);
    for (const board of known.length > 0 ? known : unnamedBoards) {
      const which = known.length > 0 ? board.id : board.id.replace(/\D/g, "");
      const answer = await this.#ask(["-i", which], signal);
      if (NO_MORE.test(answer.refused ?? "")) break;
      alone.push(...(answer.refused === undefined ? answer.rows : [{ board: { ...board, lost: answer.refused } }]));
    }
    if (alone.every(({ board }) => board.lost !== undefined)) throw new Error(refused);
    return alone;
  }

  /** The printed rows, and the error text if they are incomplete. Rejects if nvidia-smi cannot be run. */
  async #ask(
    which: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<{ readonly rows: readonly SmiRow[]; readonly refused?: string }> {
    // Each retry drops one column that this driver does not support.
    for (;;) {
      const columns = this.#columns;
      const answer = await this.#tool.run(
        [...which, `--query-gpu=${columns.join(",")}`, "--format=csv,noheader,nounits"],
        signal,
      );
      if (answer.absent !== undefined || answer.failed !== undefined) throw new Error(answer.absent ?? answer.failed);
      const rows = parseSmiTable(answer.stdout, columns);
      if (answer.status === 0) return { rows };
      const unknown = unknownColumn(answer);
      this.#columns = columns.filter((column) => column !== unknown);
      if (this.#columns.length === columns.length) {
        return { rows, refused: `nvidia-smi: ${lastOutputLine(answer)} (exit ${answer.status})` };
      }
    }
  }
}

const failed = (message: string): WriteOutcome => ({ result: "error", message });

/** As many boards as a machine has, for use before any UUID is known. */
const unnamedBoards: readonly GpuCapBoard[] = Array.from({ length: 16 }, (_, index) => ({
  id: `nvidia-${index}`,
  vendor: "nvidia",
  device: {},
}));

const NO_MORE = /no devices were found/i;

const unknownColumn = (answer: Extract<VendorToolResult, { status: number }>): string | undefined =>
  /Field "([^"]+)" is not a valid field/.exec(`${answer.stdout}\n${answer.stderr}`)?.[1];

const lineWith = (pattern: RegExp, text: string): string =>
  text
    .split("\n")
    .find((line) => pattern.test(line))
    ?.trim()
    .slice(0, 300) ?? "";

const unreadable = ({ board }: SmiRow): string => board.lost ?? board.locked ?? "nvidia-smi reports no value";
