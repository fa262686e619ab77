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
import { errorText, whyUnwritable, writeErrorOutcome } from "../host/host-error.ts";
import { numberAt, readBack } from "../host/host-values.ts";
import type { BoardPower, HostFiles, LimitReading, OriginalReading } from "../port.ts";

/** The sustained limit. `power1_cap`, if present, limits short bursts, and Joulie does not write it. */
const LIMIT = "power1_max";
/** The counter of the card, else of the package: one of the two may be missing. */
const ENERGY = ["energy1_input", "energy2_input"];

const SWITCHED_OFF =
  "its limit is disabled (power1_max is 0), a state that Joulie could not restore: enable it in the firmware";

/** Power from two samples that are closer than this is inaccurate. */
const MIN_INTERVAL = milliseconds(1_000);

interface Card extends GpuHwmonCard {
  readonly board: GpuCapBoard;
}

/** Intel GPUs through the sysfs files of the xe and i915 drivers, identified by PCI address: they report no unique id. */
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
    if (boards.length === 0) return { absent: "no xe or i915 card reports power in /sys/class/drm" };
    this.#seen = [...boards, ...lostBoards(this.#seen, boards, "its files disappeared: the driver released it")];
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
    const invalid = whyInvalidLimit(limit) ?? whyAboveMaximum(device.max, limit);
    if (invalid !== undefined) return { result: "error", message: invalid };
    return locked === undefined ? this.#write(id, limit, signal) : { result: "blocked", message: locked };
  }

  async original(id: string): Promise<OriginalReading> {
    const { limit, unreadable } = await this.limit(id);
    return limit === undefined ? { unreadable } : { original: originalText(limit) };
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const limit = parseOriginal(original);
    if (limit === undefined)
      return { result: "error", message: `${JSON.stringify(original)} is not a GPU power limit` };
    // This enables a limit that was disabled meanwhile: it was enabled before our cap, else there would be no original.
    return this.#write(id, limit, signal);
  }

  /** These cards have an energy counter but no power reading: power is the mean since the last sample. */
  async power(): Promise<readonly BoardPower[]> {
    return this.#cards().map((card) => {
      const { id } = card.board;
      const sample = this.#sample(card);
      if (sample === undefined) return { id, missing: "its energy counter cannot be read" };
      const before = this.#energy.get(id);
      if (before === undefined || elapsed(before.at, sample.at) >= MIN_INTERVAL) this.#energy.set(id, sample);
      if (before === undefined) return { id, missing: "its power is known after the second sample" };
      const { power, dropped } = powerBetween(before, sample, { ratedPower: card.board.device.max });
      return power === undefined ? { id, missing: `its energy counter gives no power: ${dropped}` } : { id, power };
    });
  }

  async #write(id: string, limit: Watts, signal: AbortSignal | undefined): Promise<WriteOutcome> {
    try {
      const card = this.#card(id);
      this.#files.write(`${card.hwmon}/${LIMIT}`, asMicrowatts(limit));
      // Start a new sample, so that no mean spans two limits.
      const sample = this.#sample(card);
      if (sample !== undefined) this.#energy.set(id, sample);
      const now = await readBack(
        this.#clock,
        () => this.#read(card),
        (seen) => seen === limit,
        signal,
      );
      return readBackOutcome({ requested: limit, limit: now });
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
    const missing = limit === undefined ? `it has no settable power limit: ${LIMIT} is missing` : SWITCHED_OFF;
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

const whyAboveMaximum = (max: Watts | undefined, limit: Watts): string | undefined =>
  isPositive(max) && limit > max ? `${formatWatts(limit)} is above its maximum of ${formatWatts(max)}` : undefined;
