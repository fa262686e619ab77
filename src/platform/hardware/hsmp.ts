import type { WriteOutcome } from "../../core/control/index.ts";
import { isPositive, type Watts, watts, wattsFromMicrowatts } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import { restored } from "./gpu-board.ts";
import { errorWords } from "./host-error.ts";
import { numberAt, wholeNumber } from "./host-values.ts";
import { hwmonsNamed } from "./hwmon.ts";
import type { BackendView, CapBoard, HostFiles, LimitReading, OriginalReading, PowerCapBackend } from "./port.ts";
import { readBack } from "./read-back.ts";
import { refusal } from "./refusal.ts";
import { shownWatts } from "./shown.ts";

export interface HsmpOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** The most the catalogue lets one socket be set to: the firmware's own ceiling may be 2 kW on any part. */
  readonly mostPower?: () => Watts | undefined;
}

/** HSMP speaks milliwatts; the file cuts what is finer. */
const STEP = watts(0.001);

/**
 * EPYC sockets through the files that the kernel has for HSMP since 6.16. It tells no power, though there is a file of it: that
 * is a moment's, and RAPL's counters tell the energy of these same sockets.
 */
export class HsmpBackend implements PowerCapBackend {
  readonly name = "hsmp";
  readonly kind = "cpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #mostPower: () => Watts | undefined;
  readonly #known = new Set<string>();
  /** The older driver's hwmons in the order of sockets, as when most of them were there. */
  #ranked: readonly string[] = [];

  constructor({ files, clock, mostPower = () => undefined }: HsmpOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#mostPower = mostPower;
  }

  async look(): Promise<BackendView> {
    const sockets = this.#sockets();
    if (sockets.size === 0) return { absent: ABSENT };
    for (const id of sockets.keys()) this.#known.add(id);
    return { boards: [...this.#known].toSorted().map((id) => this.#board(id, sockets.get(id))) };
  }

  async limit(id: string): Promise<LimitReading> {
    try {
      return { limit: wattsFromMicrowatts(this.#cap(this.#socket(id))) };
    } catch (error) {
      return { unreadable: `${id}: ${errorWords(error)}` };
    }
  }

  async original(id: string): Promise<OriginalReading> {
    try {
      return { original: String(this.#cap(this.#socket(id))) };
    } catch (error) {
      return { unreadable: `${id}: ${errorWords(error)}` };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    try {
      const path = this.#socket(id);
      const most = this.#most(path);
      const microwatts = isPositive(limit) ? Math.floor(limit * 1000 + 1e-6) * 1000 : 0;
      if (microwatts === 0 || !Number.isSafeInteger(microwatts) || (most !== undefined && limit > most)) {
        const range = most === undefined ? `at least ${STEP} W` : `between ${STEP} W and ${shownWatts(most)}`;
        return { result: "error", message: `${id}: ${limit} W is not ${range}` };
      }
      return await this.#write(id, path, microwatts, signal);
    } catch (error) {
      return refusal(error, id);
    }
  }

  async restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const microwatts = wholeNumber(original);
    if (microwatts === undefined) return { result: "error", message: `${id}: no limit is in ${original.slice(0, 80)}` };
    try {
      const path = this.#socket(id);
      // Only the firmware's own ceiling counts: an original above the catalogue's is still what it was.
      const ceiling = numberAt(this.#files, `${path}/power1_cap_max`);
      const possible = isPositive(ceiling) ? Math.min(microwatts, ceiling) : microwatts;
      const outcome = await this.#write(id, path, possible, signal);
      return restored(wattsFromMicrowatts(microwatts), wattsFromMicrowatts(possible), outcome);
    } catch (error) {
      return refusal(error, id);
    }
  }

  async #write(id: string, path: string, microwatts: number, signal?: AbortSignal): Promise<WriteOutcome> {
    if (this.#cap(path) !== microwatts) this.#files.write(`${path}/power1_cap`, String(microwatts));
    const read = await readBack(
      this.#clock,
      () => this.#cap(path),
      (value) => value === microwatts,
      signal,
    );
    if (read === microwatts) return { result: "applied" };
    const [asked, found] = [microwatts, read].map((value) => shownWatts(wattsFromMicrowatts(value)));
    return { result: "error", message: `${id}: ${asked} was written and the firmware settled at ${found}` };
  }

  #board(id: string, path: string | undefined): CapBoard {
    if (path === undefined) return { id, device: {}, lost: `${id} has no HSMP files any more` };
    const max = this.#most(path);
    const told = numberAt(this.#files, `${path}/power1_cap_max`);
    const ceiling = told === undefined ? undefined : wattsFromMicrowatts(told);
    const isMere = max !== undefined && ceiling !== undefined && ceiling > max;
    const device = { ...(max === undefined ? {} : { max }), step: STEP };
    try {
      this.#cap(path);
      const warning = `the firmware says up to ${shownWatts(ceiling ?? 0)}, the catalogue up to ${shownWatts(max ?? 0)}`;
      return { id, device, warnings: isMere ? [warning] : [] };
    } catch (error) {
      return { id, device, lost: `${id}: ${errorWords(error)}` };
    }
  }

  #most(path: string): Watts | undefined {
    const told = numberAt(this.#files, `${path}/power1_cap_max`);
    const figures = [told === undefined ? undefined : wattsFromMicrowatts(told), this.#mostPower()].filter(isPositive);
    return figures.length === 0 ? undefined : watts(Math.min(...figures));
  }

  #cap(path: string): number {
    const text = this.#files.read(`${path}/power1_cap`);
    const value = wholeNumber(text);
    if (value === undefined) throw new Error(`power1_cap holds ${JSON.stringify(text.slice(0, 40))}`);
    return value;
  }

  #socket(id: string): string {
    const path = this.#sockets().get(id);
    if (path === undefined) throw new Error("no such CPU package with HSMP files");
    return path;
  }

  /**
   * By the device each belongs to, not by the hwmon's number: that is another one after each boot. ACPI has a device for each
   * socket, numbered as they are (`AMDI0097:01`). The older driver has one for all, with sensors in the order of sockets.
   */
  #sockets(): ReadonlyMap<string, string> {
    const paths = hwmonsNamed(this.#files, "amd_hsmp_hwmon").filter((path) => this.#files.exists(`${path}/power1_cap`));
    const unitOf = (path: string): string | undefined => /AMDI\d+:([\da-f]+)\//i.exec(path)?.[1];
    const sockets = new Map<string, string>();
    for (const path of paths) {
      const unit = unitOf(path);
      if (unit !== undefined) sockets.set(`package-${Number.parseInt(unit, 16)}`, path);
    }
    const unnumbered = paths.filter((path) => unitOf(path) === undefined);
    for (const [rank, path] of this.#ranks(unnumbered)) sockets.set(`package-${rank}`, path);
    return sockets;
  }

  /**
   * The older driver registers all its sensors at once: as long as none is missing their order is that of sockets, whatever
   * numbers a reload gave them. Where one is missing the others keep their names, so that it does not give its own to the next.
   */
  #ranks(paths: readonly string[]): readonly (readonly [number, string])[] {
    const inOrder = paths.toSorted((a, b) => hwmonNumber(a) - hwmonNumber(b));
    if (inOrder.length >= this.#ranked.length) this.#ranked = inOrder;
    // The driver was unloaded: how many there are stays known, what they are called does not.
    if (inOrder.length === 0) this.#ranked = this.#ranked.map(() => "");
    const vacant = [...this.#ranked.keys()].filter((rank) => !paths.includes(this.#ranked[rank] ?? ""));
    return inOrder.map((path) => {
      const rank = this.#ranked.indexOf(path);
      return [rank === -1 ? (vacant.shift() ?? 0) : rank, path] as const;
    });
  }
}

const ABSENT =
  "there is no amd_hsmp_hwmon: an EPYC needs kernel 6.16 or newer with amd_hsmp or hsmp_acpi loaded, and HSMP on in the BIOS";

const hwmonNumber = (path: string): number => Number(/hwmon(\d+)$/.exec(path)?.[1] ?? 0);
