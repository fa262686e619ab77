import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  elapsed,
  formatWatts,
  isPositive,
  type MonotonicInstant,
  milliseconds,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import {
  clampToRange,
  type GpuBackend,
  type GpuBackendView,
  type GpuCapBoard,
  lostBoards,
  originalText,
  parseOriginal,
  rangeWarnings,
  readBackOutcome,
  restoreOutcome,
  whyInvalidLimit,
} from "../gpu/gpu-board.ts";
import { asMicrowatts, fileExists, type GpuHwmonCard, GpuHwmonScanner, microwattsAt } from "../gpu/gpu-hwmon.ts";
import { errorCode, errorText } from "../host/host-error.ts";
import { wholeNumber } from "../host/host-values.ts";
import { readBack } from "../host/read-back.ts";
import { whyUnwritable, writeErrorOutcome } from "../host/write-error.ts";
import type { BoardPower, HostFiles, LimitReading, OriginalReading } from "../port.ts";
import { normalizedAmdId } from "./amdgpu-id.ts";

interface Card extends GpuHwmonCard {
  readonly board: GpuCapBoard;
}

/** The driver truncates to whole watts. */
const STEP = watts(1);

const AVERAGE = "power1_average";
const INPUT = "power1_input";

const VIRTUAL =
  "the kernel takes no limit for it: a virtual function (SR-IOV) shows the cap of its board and may not set it; cap it on the host";

/** A board may refuse once for a reason of its own: a virtual function says so again when it is asked after that. */
const BELIEVED_VIRTUAL_FOR = milliseconds(600_000);

/** What a card in reset or asleep answers, by the age of its driver. */
const ASLEEP: ReadonlySet<string> = new Set(["EBUSY", "EPERM"]);

/** AMD's GPUs through the files of the amdgpu driver, by their unique id. */
export class AmdgpuBackend implements GpuBackend {
  readonly name = "amdgpu";
  readonly kind = "gpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #hwmons: GpuHwmonScanner;
  /** Boards that refused a limit within their range, and when: believed for a while. */
  readonly #virtual = new Map<string, MonotonicInstant>();
  /** Boards that have taken a limit: no virtual functions, whatever they refuse later. */
  readonly #writable = new Set<string>();
  /** Hwmons that tell power in the second of the two files. */
  readonly #usesInput = new Set<string>();
  #seen: readonly GpuCapBoard[] = [];

  constructor({ files, clock }: { readonly files: HostFiles; readonly clock: Clock }) {
    this.#files = files;
    this.#clock = clock;
    this.#hwmons = new GpuHwmonScanner(files, "AMD", ["amdgpu"]);
  }

  async discover(): Promise<GpuBackendView> {
    const boards = this.#cards().map(({ board }) => board);
    if (boards.length === 0) {
      return { absent: "no amdgpu card tells its power in /sys/class/drm: load the amdgpu driver (modprobe amdgpu)" };
    }
    const gone = lostBoards(this.#seen, boards, "its files are gone: the driver let go of it or it fell off the bus");
    this.#seen = [...boards, ...gone];
    return { boards: this.#seen };
  }

  async limit(id: string): Promise<LimitReading> {
    try {
      return { limit: this.#read(this.#hwmon(id)) };
    } catch (error) {
      return { unreadable: failure(error) };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const refused = whyInvalidLimit(limit);
    return refused === undefined ? this.#write(id, () => limit, signal) : { result: "error", message: refused };
  }

  async original(id: string): Promise<OriginalReading> {
    const { limit, unreadable } = await this.limit(id);
    if (limit === undefined) return { unreadable };
    // A limit of 0 could not be put back: it is no limit, or one the board does not tell.
    return isPositive(limit) ? { original: originalText(limit) } : { unreadable: "its limit reads 0 W" };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined) return { result: "error", message: `${JSON.stringify(original)} is no limit of a GPU` };
    let possible = limit;
    const outcome = await this.#write(
      id,
      ({ board }) => {
        possible = clampToRange(limit, board.device);
        return possible;
      },
      signal,
    );
    return restoreOutcome(limit, possible, outcome);
  }

  async power(): Promise<readonly BoardPower[]> {
    const seen = new Set(this.#seen.map(({ id }) => id));
    const boards = this.#hwmons
      .cards()
      // What a look has found to be a board is asked again only whether it is a second die, which may carry its board's id.
      .filter((card) => !this.#isSecondDie(card) && (seen.has(idOf(card)) || this.#describe(card) !== undefined));
    return boards.map((card) => {
      const id = idOf(card);
      const power = this.#powerAt(card.hwmon);
      return power === undefined
        ? { id, missing: "neither power1_average nor power1_input can be read" }
        : { id, power };
    });
  }

  /** MI300 has the one file, older boards and Navi the other, and kernels differ; a file that is not there costs more than one that is. */
  #powerAt(hwmon: string): Watts | undefined {
    const [first, second] = this.#usesInput.has(hwmon) ? [INPUT, AVERAGE] : [AVERAGE, INPUT];
    const power = microwattsAt(this.#files, `${hwmon}/${first}`);
    if (power !== undefined) return power;
    const other = microwattsAt(this.#files, `${hwmon}/${second}`);
    if (other !== undefined && second === INPUT) this.#usesInput.add(hwmon);
    else this.#usesInput.delete(hwmon);
    return other;
  }

  async #write(id: string, choose: (card: Card) => Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    let what = "its limit";
    let inRange = false;
    try {
      const card = this.#card(id);
      const limit = choose(card);
      what = `a limit of ${formatWatts(limit)}`;
      const { min, max } = card.board.device;
      if ((isPositive(max) && limit > max) || (isPositive(min) && limit < min)) {
        return { result: "error", message: `${formatWatts(limit)} is outside its range of ${range(min, max)}` };
      }
      inRange = isPositive(max);
      this.#files.write(`${card.hwmon}/power1_cap`, asMicrowatts(limit));
      this.#virtual.delete(id);
      this.#writable.add(id);
      const wanted = Math.floor(limit);
      const now = await readBack(
        this.#clock,
        () => this.#read(card),
        (seen) => Math.abs(seen - wanted) < 1,
        signal,
      );
      return readBackOutcome({ asked: watts(wanted), limit: now });
    } catch (error) {
      if (ASLEEP.has(errorCode(error))) return { result: "error", message: failure(error) };
      // Where the range is known and was kept, the kernel has one other reason to find the value invalid.
      const virtual = errorCode(error) === "EINVAL" && inRange && !this.#writable.has(id);
      if (virtual) this.#virtual.set(id, this.#clock.monotonic());
      return writeErrorOutcome(error, what, virtual ? { EINVAL: VIRTUAL } : {});
    }
  }

  #read({ hwmon }: GpuHwmonCard): Watts {
    const microwatts = wholeNumber(this.#files.read(`${hwmon}/power1_cap`));
    if (microwatts === undefined) throw new Error("power1_cap holds no number");
    return watts(microwatts / 1e6);
  }

  #card(id: string): Card {
    const found = this.#hwmon(id);
    const board = this.#describe(found);
    if (board === undefined) throw unknown(id);
    return { ...found, board };
  }

  #hwmon(id: string): GpuHwmonCard {
    const found = this.#hwmons.card((one) => idOf(one) === id);
    if (found === undefined) throw unknown(id);
    return found;
  }

  #cards(): readonly Card[] {
    return this.#hwmons.cards().flatMap((found) => {
      const board = this.#describe(found);
      return board === undefined ? [] : [{ ...found, board }];
    });
  }

  /** The second die of an MI250X says 0 of everything and is no board of its own: its first one has the cap. */
  #isSecondDie({ hwmon }: GpuHwmonCard): boolean {
    return microwattsAt(this.#files, `${hwmon}/power1_cap_max`) === 0;
  }

  #describe(found: GpuHwmonCard): GpuCapBoard | undefined {
    const { hwmon } = found;
    const at = (file: string): Watts | undefined => microwattsAt(this.#files, `${hwmon}/${file}`);
    const has = (file: string): boolean => fileExists(this.#files, `${hwmon}/${file}`);
    if (this.#isSecondDie(found)) return undefined;
    const max = at("power1_cap_max");
    const { capped, lost } = this.#capOf(found);
    if (!capped && !has(AVERAGE) && !has(INPUT)) return undefined;
    const id = idOf(found);
    // 0 says that it goes as low as it likes: no figure to clamp to.
    const range = { min: positive(at("power1_cap_min")), max: positive(max) };
    const locked = capped
      ? (this.#isVirtual(id) && VIRTUAL) || whyUnwritable(this.#files, `${hwmon}/power1_cap`, "its limit")
      : "it has no power limit to set: no power1_cap";
    const warnings = rangeWarnings(range);
    return {
      id,
      vendor: "amd",
      model: found.model,
      device: { ...range, step: STEP },
      defaultLimit: positive(at("power1_cap_default")),
      ...(lost === undefined ? {} : { lost }),
      ...(locked ? { locked } : {}),
      ...(warnings.length === 0 ? {} : { warnings }),
    };
  }

  #isVirtual(id: string): boolean {
    const since = this.#virtual.get(id);
    return since !== undefined && elapsed(since, this.#clock.monotonic()) < BELIEVED_VIRTUAL_FOR;
  }

  /** Whether there is a limit, and why it cannot be read where it is. */
  #capOf(found: GpuHwmonCard): { readonly capped: boolean; readonly lost?: string } {
    try {
      this.#read(found);
      return { capped: true };
    } catch (error) {
      return errorCode(error) === "ENOENT" ? { capped: false } : { capped: true, lost: failure(error) };
    }
  }
}

const unknown = (id: string): Error => new Error(`amdgpu knows no GPU ${JSON.stringify(id)} on this node`);

const idOf = ({ unique, address }: GpuHwmonCard): string => normalizedAmdId(unique) ?? `pci-${address}`;

const positive = (figure: Watts | undefined): Watts | undefined => (isPositive(figure) ? figure : undefined);

const range = (min: Watts | undefined, max: Watts | undefined): string =>
  [min === undefined ? "" : `${formatWatts(min)} and more`, max === undefined ? "" : `up to ${formatWatts(max)}`]
    .filter((part) => part !== "")
    .join(", ");

const failure = (error: unknown): string =>
  ASLEEP.has(errorCode(error)) ? `it is in reset or asleep (${errorCode(error)})` : errorText(error);
