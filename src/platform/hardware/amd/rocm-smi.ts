import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  elapsed,
  formatWatts,
  type MonotonicInstant,
  milliseconds,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import {
  type GpuBackend,
  type GpuBackendView,
  type GpuCapBoard,
  lostBoards,
  originalText,
  parseOriginal,
  readBackOutcome,
  whyInvalidLimit,
} from "../gpu/gpu-board.ts";
import { lastOutputLine, VendorTool } from "../gpu/vendor-tool.ts";
import { errorText } from "../host/host-error.ts";
import type { BoardPower, LimitReading, OriginalReading } from "../port.ts";
import { parseRocmReport, type RocmCard } from "./rocm-smi-report.ts";

/** rocm-smi is a Python program: one run reports all boards and takes most of a second, so its result is reused. */
const CACHE_TTL = milliseconds(2_000);

const REPORT = ["--showpower", "--showmaxpower", "--showuniqueid", "--showproductname", "--json"];

/** Error texts of rocm-smi that the user has to fix. */
const BLOCKED = /permission|denied|\broot\b|sudo|not supported|unsupported/i;

/** AMD GPUs through rocm-smi, identified by unique id. Used if the amdgpu sysfs files are not accessible. */
export class RocmSmiBackend implements GpuBackend {
  readonly name = "rocm-smi";
  readonly kind = "gpu";
  readonly #clock: Clock;
  readonly #tool: VendorTool;
  #cards = new Map<string, RocmCard>();
  #queriedAt: MonotonicInstant | undefined;

  constructor({
    clock,
    files = ["rocm-smi", "/opt/rocm/bin/rocm-smi"],
  }: { readonly clock: Clock; readonly files?: readonly string[] }) {
    this.#clock = clock;
    this.#tool = new VendorTool({
      files,
      clock,
      install: "install rocm-smi-lib, or mount the host's /sys to use the amdgpu files",
    });
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    try {
      await this.#query(signal);
      const boards = [...this.#cards.values()].map(({ board }) => board);
      return boards.length > 0 ? { boards } : { absent: "rocm-smi finds no GPU with a power limit on this node" };
    } catch (error) {
      this.#queriedAt = undefined;
      return { absent: errorText(error) };
    }
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    const card = await this.#card(id, signal);
    if (typeof card === "string") return { unreadable: card };
    return card.limit === undefined ? { unreadable: unreadable(card) } : { limit: card.limit };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const invalid = whyInvalidLimit(limit);
    return invalid === undefined ? this.#set(id, limit, signal) : { result: "error", message: invalid };
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    const { limit, unreadable: reason } = await this.limit(id, signal);
    return limit === undefined ? { unreadable: reason } : { original: originalText(limit) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    return limit === undefined
      ? { result: "error", message: `${JSON.stringify(original)} is not a GPU power limit` }
      : this.#set(id, limit, signal);
  }

  async power(signal?: AbortSignal): Promise<readonly BoardPower[]> {
    if (!this.#isRecent()) await this.discover(signal);
    return [...this.#cards.values()].map((card) =>
      card.draw === undefined || card.board.lost !== undefined
        ? { id: card.board.id, missing: unreadable(card) }
        : { id: card.board.id, power: card.draw },
    );
  }

  async #set(id: string, limit: Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    try {
      // Card numbers may have changed: find the card that has this id now.
      await this.#query(signal);
      const card = this.#cards.get(id);
      if (card?.board.lost !== undefined) return { result: "error", message: card.board.lost };
      if (card === undefined) return { result: "error", message: unknown(id) };
      const asked = watts(Math.floor(limit));
      const answer = await this.#tool.run(
        ["-d", card.index, "--setpoweroverdrive", String(asked), "--autorespond", "y"],
        signal,
      );
      if (answer.absent !== undefined) return { result: "blocked", message: answer.absent };
      if (answer.failed !== undefined) return { result: "error", message: answer.failed };
      const message = `rocm-smi: ${lastOutputLine(answer)}`;
      if (answer.status !== 0 || BLOCKED.test(`${answer.stdout}\n${answer.stderr}`)) {
        return { result: BLOCKED.test(`${answer.stdout}\n${answer.stderr}`) ? "blocked" : "error", message };
      }
      await this.#query(signal);
      const now = this.#cards.get(id)?.limit;
      if (now === undefined)
        return { result: "error", message: `wrote ${formatWatts(asked)} but could not read the limit back` };
      return readBackOutcome({ requested: asked, limit: now });
    } catch (error) {
      return { result: "error", message: errorText(error) };
    }
  }

  async #card(id: string, signal: AbortSignal | undefined): Promise<RocmCard | string> {
    const view: GpuBackendView = this.#isRecent() ? { boards: [] } : await this.discover(signal);
    return view.absent ?? this.#cards.get(id) ?? unknown(id);
  }

  #isRecent(): boolean {
    return this.#queriedAt !== undefined && elapsed(this.#queriedAt, this.#clock.monotonic()) < CACHE_TTL;
  }

  async #query(signal: AbortSignal | undefined): Promise<void> {
    const answer = await this.#tool.run(REPORT, signal);
    if (answer.absent !== undefined || answer.failed !== undefined) throw new Error(answer.absent ?? answer.failed);
    const cards = reportOf(answer);
    const boardOf = ({ board }: { readonly board: GpuCapBoard }): GpuCapBoard => board;
    const gone = lostBoards([...this.#cards.values()].map(boardOf), cards.map(boardOf), "rocm-smi no longer lists it");
    this.#cards = new Map(
      [...cards, ...gone.map((board) => ({ board, index: "" }))].map((card) => [card.board.id, card]),
    );
    this.#queriedAt = this.#clock.monotonic();
  }
}

function reportOf(answer: { readonly stdout: string; readonly stderr: string; readonly status: number }) {
  try {
    return parseRocmReport(answer.stdout);
  } catch {
    throw new Error(`rocm-smi: ${lastOutputLine(answer)} (exit ${answer.status})`);
  }
}

const unknown = (id: string): string => `rocm-smi finds no GPU ${JSON.stringify(id)} on this node`;

const unreadable = ({ board }: RocmCard): string => board.lost ?? board.locked ?? "rocm-smi reports no value";
