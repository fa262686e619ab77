import { type EnergyCounterSample, powerBetween, type WriteOutcome } from "../../../core/control/index.ts";
import {
  elapsed,
  formatWatts,
  isPositive,
  joulesFromMicrojoules,
  milliseconds,
  type Watts,
  watts,
  wattsFromMicrowatts,
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
import { asMicrowatts, type GpuHwmonCard, GpuHwmonScanner, microwattsAt } from "../gpu/gpu-hwmon.ts";
import { errorText } from "../host/host-error.ts";
import { numberAt } from "../host/host-values.ts";
import { readBack } from "../host/read-back.ts";
import { whyUnwritable, writeErrorOutcome } from "../host/write-error.ts";
import type { BoardPower, HostFiles, LimitReading, OriginalReading } from "../port.ts";

/** The sustained limit. `power1_cap`, where there is one, is the limit of short bursts: not ours to touch. */
const LIMIT = "power1_max";
/** The whole card's counter, else the package's: one of the two may be missing. */
const ENERGY = ["energy1_input", "energy2_input"];

const SWITCHED_OFF =
  "its limit is switched off (power1_max is 0) and could not be put back so: the firmware has to switch it on";

/** Two looks that are closer than this say little about power. */
const LEAST_GAP = milliseconds(1_000);

interface Card extends GpuHwmonCard {
  readonly board: GpuCapBoard;
}

/** Intel's GPUs through the files of the xe and i915 drivers, by their place on the bus: they tell no id of their own. */
export class IntelGpuBackend implements GpuBackend {
  readonly name = "intel-gpu";
  readonly kind = "gpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #hwmons: GpuHwmonScanner;
  readonly #energy = new Map<string, EnergyCounterSample>();
  #seen: readonly GpuCapBoard[] = [];

  constructor({ files, clock }: { readonly files: HostFiles; readonly clock: Clock }) {
    this.#files = files;
    this.#clock = clock;
    this.#hwmons = new GpuHwmonScanner(files, "Intel", ["xe", "i915"]);
  }

  async discover(): Promise<GpuBackendView> {
    const boards = this.#cards().map(({ board }) => board);
    if (boards.length === 0) return { absent: "no xe or i915 card tells its power in /sys/class/drm" };
    this.#seen = [...boards, ...lostBoards(this.#seen, boards, "its files are gone: the driver let go of it")];
    return { boards: this.#seen };
  }

  async limit(id: string): Promise<LimitReading> {
    try {
      return { limit: this.#read(this.#card(id)) };
    } catch (error) {
      return { unreadable: errorText(error) };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    const { device, locked } = this.#cards().find(({ board }) => board.id === id)?.board ?? { device: {} };
    const refused = whyInvalidLimit(limit) ?? beyond(device.max, limit);
    if (refused !== undefined) return { result: "error", message: refused };
    return locked === undefined ? this.#write(id, limit, signal) : { result: "blocked", message: locked };
  }

  async original(id: string): Promise<OriginalReading> {
    const { limit, unreadable } = await this.limit(id);
    return limit === undefined ? { unreadable } : { original: originalText(limit) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined) return { result: "error", message: `${JSON.stringify(original)} is no limit of a GPU` };
    // One that is switched off by now is switched on again: it was on before our cap, or there would be no original.
    return this.#write(id, limit, signal);
  }

  /** These cards count energy and tell no power: it is the mean since the last look. */
  async power(): Promise<readonly BoardPower[]> {
    return this.#cards().map((card) => {
      const { id } = card.board;
      const sample = this.#sample(card);
      if (sample === undefined) return { id, missing: "its energy cannot be read" };
      const before = this.#energy.get(id);
      if (before === undefined || elapsed(before.at, sample.at) >= LEAST_GAP) this.#energy.set(id, sample);
      if (before === undefined) return { id, missing: "its power is known from the second look on" };
      const { power, dropped } = powerBetween(before, sample, { ratedPower: card.board.device.max });
      return power === undefined ? { id, missing: `its energy makes no power: ${dropped}` } : { id, power };
    });
  }

  async #write(id: string, limit: Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    try {
      const card = this.#card(id);
      this.#files.write(`${card.hwmon}/${LIMIT}`, asMicrowatts(limit));
      // No mean reaches back to before a new limit.
      const sample = this.#sample(card);
      if (sample !== undefined) this.#energy.set(id, sample);
      const now = await readBack(
        this.#clock,
        () => this.#read(card),
        (seen) => seen === limit,
        signal,
      );
      return readBackOutcome({ asked: limit, limit: now });
    } catch (error) {
      return writeErrorOutcome(error, "its limit");
    }
  }

  #read({ hwmon }: GpuHwmonCard): Watts {
    const microwatts = numberAt(this.#files, `${hwmon}/${LIMIT}`);
    if (!isPositive(microwatts)) throw new Error(microwatts === 0 ? SWITCHED_OFF : `${LIMIT} cannot be read`);
    return wattsFromMicrowatts(microwatts);
  }

  #card(id: string): Card {
    const card = this.#cards().find(({ board }) => board.id === id);
    if (card === undefined) throw new Error(`no Intel GPU ${JSON.stringify(id)} on this node`);
    return card;
  }

  #cards(): readonly Card[] {
    return this.#hwmons.cards().map((found) => ({ ...found, board: this.#describe(found) }));
  }

  #describe(found: GpuHwmonCard): GpuCapBoard {
    const limit = microwattsAt(this.#files, `${found.hwmon}/${LIMIT}`);
    const rated = microwattsAt(this.#files, `${found.hwmon}/power1_rated_max`);
    const missing = limit === undefined ? `it has no power limit to set: no ${LIMIT}` : SWITCHED_OFF;
    const locked = isPositive(limit) ? whyUnwritable(this.#files, `${found.hwmon}/${LIMIT}`, "its limit") : missing;
    return {
      id: `pci-${found.address}`,
      vendor: "intel",
      model: found.model,
      device: { max: isPositive(rated) ? rated : undefined, step: watts(1) },
      ...(locked === undefined ? {} : { locked }),
    };
  }

  #sample({ hwmon }: GpuHwmonCard): EnergyCounterSample | undefined {
    const microjoules = ENERGY.map((file) => numberAt(this.#files, `${hwmon}/${file}`)).find(
      (value) => value !== undefined,
    );
    return microjoules === undefined
      ? undefined
      : { energy: joulesFromMicrojoules(microjoules), at: this.#clock.monotonic() };
  }
}

const beyond = (max: Watts | undefined, limit: Watts): string | undefined =>
  isPositive(max) && limit > max ? `${formatWatts(limit)} is above its ${formatWatts(max)}` : undefined;
