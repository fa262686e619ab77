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
import { errorCode, errorText, whyUnwritable, writeErrorOutcome } from "../host/host-error.ts";
import { readBack, wholeNumber } from "../host/host-values.ts";
import type { BoardPower, HostFiles, LimitReading, OriginalReading } from "../port.ts";

interface Card extends GpuHwmonCard {
  readonly board: GpuCapBoard;
}

/** The driver truncates to whole watts. */
const STEP = watts(1);

const AVERAGE = "power1_average";
const INPUT = "power1_input";

const VIRTUAL =
  "the kernel rejects limits for it: an SR-IOV virtual function shows its board's cap but cannot set it; cap it on the host";

/** A board may reject one write for another reason. After this time it is tried again; a virtual function rejects it again. */
const VIRTUAL_TTL = milliseconds(600_000);

/** Errors of a card that is in reset or asleep, depending on the driver version. */
const ASLEEP: ReadonlySet<string> = new Set(["EBUSY", "EPERM"]);

/** AMD GPUs through the sysfs files of the amdgpu driver, identified by unique id. */
export class AmdgpuBackend implements GpuBackend {
  readonly name = "amdgpu";
  readonly kind = "gpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #hwmons: GpuHwmonScanner;
  /** Boards that rejected a limit within their range, and when: treated as virtual functions for a while. */
  readonly #virtual = new Map<string, MonotonicInstant>();
  /** Boards that accepted a limit before: not virtual functions, whatever they reject later. */
  readonly #writable = new Set<string>();
  /** Hwmons that report power in `power1_input` instead of `power1_average`. */
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
      return { absent: "no amdgpu card reports power in /sys/class/drm: load the amdgpu driver (modprobe amdgpu)" };
    }
    const gone = lostBoards(this.#seen, boards, "its files disappeared: the driver released it or it fell off the bus");
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
    const invalid = whyInvalidLimit(limit);
    return invalid === undefined ? this.#write(id, () => limit, signal) : { result: "error", message: invalid };
  }

  async original(id: string): Promise<OriginalReading> {
    const { limit, unreadable } = await this.limit(id);
    if (limit === undefined) return { unreadable };
    // A limit of 0 cannot be restored: the board has no limit or does not report it.
    return isPositive(limit) ? { original: originalText(limit) } : { unreadable: "its limit is reported as 0 W" };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined)
      return { result: "error", message: `${JSON.stringify(original)} is not a GPU power limit` };
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
      // For a board from the last discovery, check only whether it is a second die, which may have the same id.
      .filter((card) => !this.#isSecondDie(card) && (seen.has(idOf(card)) || this.#describe(card) !== undefined));
    return boards.map((card) => {
      const id = idOf(card);
      const power = this.#powerAt(card.hwmon);
      return power === undefined
        ? { id, missing: "neither power1_average nor power1_input can be read" }
        : { id, power };
    });
  }

  /** MI300, older boards and Navi use different files, and kernels differ. Remembers which, because reading a missing file is slow. */
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
        return { result: "error", message: `${formatWatts(limit)} is outside its range (${range(min, max)})` };
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
      return readBackOutcome({ requested: watts(wanted), limit: now });
    } catch (error) {
      if (ASLEEP.has(errorCode(error))) return { result: "error", message: failure(error) };
      // For a value within the known range, EINVAL has only one other cause.
      const virtual = errorCode(error) === "EINVAL" && inRange && !this.#writable.has(id);
      if (virtual) this.#virtual.set(id, this.#clock.monotonic());
      return writeErrorOutcome(error, what, virtual ? { EINVAL: VIRTUAL } : {});
    }
  }

  #read({ hwmon }: GpuHwmonCard): Watts {
    const microwatts = wholeNumber(this.#files.read(`${hwmon}/power1_cap`));
    if (microwatts === undefined) throw new Error("power1_cap does not hold a number");
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

  /** The second die of an MI250X reports 0 everywhere. It is not a board: the first die has the cap. */
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
    // A minimum of 0 means no minimum.
    const range = { min: positive(at("power1_cap_min")), max: positive(max) };
    const locked = capped
      ? (this.#isVirtual(id) && VIRTUAL) || whyUnwritable(this.#files, `${hwmon}/power1_cap`, "its limit")
      : "it has no settable power limit: power1_cap is missing";
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
    return since !== undefined && elapsed(since, this.#clock.monotonic()) < VIRTUAL_TTL;
  }

  /** Whether the card has a limit, and why that limit cannot be read. */
  #capOf(found: GpuHwmonCard): { readonly capped: boolean; readonly lost?: string } {
    try {
      this.#read(found);
      return { capped: true };
    } catch (error) {
      return errorCode(error) === "ENOENT" ? { capped: false } : { capped: true, lost: failure(error) };
    }
  }
}

const unknown = (id: string): Error => new Error(`amdgpu finds no GPU ${JSON.stringify(id)} on this node`);

/** The board's unique id, which survives slot and number changes. Undefined if the board has none. */
function normalizedId(text: string | undefined): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text?.trim() ?? "")?.[1]?.toLowerCase();
  return digits === undefined || /^0+$/.test(digits) ? undefined : digits.padStart(16, "0");
}

const idOf = ({ unique, address }: GpuHwmonCard): string => normalizedId(unique) ?? `pci-${address}`;

const positive = (value: Watts | undefined): Watts | undefined => (isPositive(value) ? value : undefined);

function range(min: Watts | undefined, max: Watts | undefined): string {
  const parts: string[] = [];
  if (min !== undefined) parts.push(`at least ${formatWatts(min)}`);
  if (max !== undefined) parts.push(`at most ${formatWatts(max)}`);
  return parts.join(", ");
}

const failure = (error: unknown): string =>
  ASLEEP.has(errorCode(error)) ? `it is in reset or asleep (${errorCode(error)})` : errorText(error);
