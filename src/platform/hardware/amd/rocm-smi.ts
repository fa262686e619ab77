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

/** rocm-smi is a Python program: one run takes most of a second and tells all, so what follows a look goes by it. */
const BELIEVED_FOR = milliseconds(2_000);

const REPORT = ["--showpower", "--showmaxpower", "--showuniqueid", "--showproductname", "--json"];

/** What needs somebody to change something, by what rocm-smi says. */
const BLOCKED = /permission|denied|\broot\b|sudo|not supported|unsupported/i;

/** AMD's GPUs through rocm-smi, by their unique id, where the files of amdgpu are out of reach. */
export class RocmSmiBackend implements GpuBackend {
  readonly name = "rocm-smi";
  readonly kind = "gpu";
  readonly #clock: Clock;
  readonly #tool: VendorTool;
  #cards = new Map<string, RocmCard>();
  #lookedAt: MonotonicInstant | undefined;

  constructor({
    clock,
    files = ["rocm-smi", "/opt/rocm/bin/rocm-smi"],
  }: { readonly clock: Clock; readonly files?: readonly string[] }) {
    this.#clock = clock;
    this.#tool = new VendorTool({
      files,
      clock,
      install: "install rocm-smi-lib, or mount the host's /sys so that amdgpu's files are read",
    });
  }

  async discover(signal?: AbortSignal): Promise<GpuBackendView> {
    try {
      await this.#query(signal);
      const boards = [...this.#cards.values()].map(({ board }) => board);
      return boards.length > 0 ? { boards } : { absent: "rocm-smi finds no GPU with a power limit on this node" };
    } catch (error) {
      this.#lookedAt = undefined;
      return { absent: errorText(error) };
    }
  }

  async limit(id: string, signal?: AbortSignal): Promise<LimitReading> {
    const card = await this.#card(id, signal);
    if (typeof card === "string") return { unreadable: card };
    return card.limit === undefined ? { unreadable: unreadable(card) } : { limit: card.limit };
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const refusal = whyInvalidLimit(limit);
    return refusal === undefined ? this.#set(id, limit, signal) : { result: "error", message: refusal };
  }

  async original(id: string, signal?: AbortSignal): Promise<OriginalReading> {
    const { limit, unreadable: why } = await this.limit(id, signal);
    return limit === undefined ? { unreadable: why } : { original: originalText(limit) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    return limit === undefined
      ? { result: "error", message: `${JSON.stringify(original)} is no limit of a GPU` }
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
      // Numbers of cards may have moved since: the one written to is the one that has this id now.
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
      const said = `rocm-smi: ${lastOutputLine(answer)}`;
      if (answer.status !== 0 || BLOCKED.test(`${answer.stdout}\n${answer.stderr}`)) {
        return { result: BLOCKED.test(`${answer.stdout}\n${answer.stderr}`) ? "blocked" : "error", message: said };
      }
      await this.#query(signal);
      const now = this.#cards.get(id)?.limit;
      if (now === undefined)
        return { result: "error", message: `${formatWatts(asked)} was written and does not read back` };
      return readBackOutcome({ asked, limit: now });
    } catch (error) {
      return { result: "error", message: errorText(error) };
    }
  }

  async #card(id: string, signal: AbortSignal | undefined): Promise<RocmCard | string> {
    const view: GpuBackendView = this.#isRecent() ? { boards: [] } : await this.discover(signal);
    return view.absent ?? this.#cards.get(id) ?? unknown(id);
  }

  #isRecent(): boolean {
    return this.#lookedAt !== undefined && elapsed(this.#lookedAt, this.#clock.monotonic()) < BELIEVED_FOR;
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
    this.#lookedAt = this.#clock.monotonic();
  }
}

function reportOf(answer: { readonly stdout: string; readonly stderr: string; readonly status: number }) {
  try {
    return parseRocmReport(answer.stdout);
  } catch {
    throw new Error(`rocm-smi: ${lastOutputLine(answer)} (exit ${answer.status})`);
  }
}

const unknown = (id: string): string => `rocm-smi knows no GPU ${JSON.stringify(id)} on this node`;

const unreadable = ({ board }: RocmCard): string => board.lost ?? board.locked ?? "rocm-smi gives no figure";
