import { type CapDevice, type WriteOutcome, withLowestCap } from "../../../core/control/index.ts";
import {
  formatWatts,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode, errorText } from "../host/host-error.ts";
import { writeErrorOutcome } from "../host/write-error.ts";
import type { BackendView, CapBoard, HostFiles, LimitReading, OriginalReading, PowerCapBackend } from "../port.ts";
import { offlinePackages } from "./offline-packages.ts";
import { PowercapZones } from "./powercap-zones.ts";
import { parseRaplOriginal, type RaplOriginal } from "./rapl-original.ts";
import { RaplPackage } from "./rapl-package.ts";

export interface RaplOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** What the catalogue says a package is rated for, where the part itself does not. */
  readonly ratedPower?: () => Watts | undefined;
  /** The lowest and the highest cap that the catalogue knows of the part. */
  readonly minPower?: () => Watts | undefined;
  readonly maxPower?: () => Watts | undefined;
}

/** What a locked register answers: ENODATA for the limit, ENOSYS for `enabled`. */
const LOCKED = {
  ENODATA: "locked by firmware: unlock package power limits in the BIOS",
  ENOSYS: "locked by firmware: unlock package power limits in the BIOS",
};

/** A lock goes at the next boot at the earliest: trying at every tick would only fill the kernel's log. */
const LOCK_RETRY_INTERVAL = milliseconds(15 * 60_000);

interface LockedPackage {
  readonly outcome: WriteOutcome;
  /** How the package read then: once it reads otherwise, somebody could write it. */
  readonly seen: string;
  readonly until: MonotonicInstant;
}

/** Intel's package limits through powercap. Only zones called `package-N` are ever written, and of those only the long-term limit. */
export class RaplBackend implements PowerCapBackend {
  readonly name = "rapl";
  readonly kind = "cpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #catalogue: Required<Pick<RaplOptions, "ratedPower" | "minPower" | "maxPower">>;
  readonly #zones: PowercapZones;
  readonly #refused = new Map<string, LockedPackage>();
  /** Packages seen before: one that goes is lost and is told so. */
  readonly #known = new Set<string>();

  constructor({ files, clock, ratedPower = UNKNOWN, minPower = UNKNOWN, maxPower = UNKNOWN }: RaplOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#catalogue = { ratedPower, minPower, maxPower };
    this.#zones = new PowercapZones(files);
  }

  async discover(): Promise<BackendView> {
    const { zones, absent } = this.#zones.read();
    if (absent !== undefined) return { absent };
    const packages = RaplPackage.all(this.#files, zones);
    if (packages.length === 0) {
      return { absent: zones.some(({ isLimited }) => isLimited) ? NO_LONG_TERM : ENERGY_ONLY };
    }
    for (const { id } of packages) this.#known.add(id);
    const gone = [...this.#known].filter((known) => !packages.some(({ id }) => id === known));
    const isOffline = offlinePackages(this.#files, gone);
    // One without a CPU online is no loss. It is forgotten, so that the topology is not read again at every look.
    for (const id of gone.filter(isOffline)) this.#known.delete(id);
    const lost = gone.filter((id) => this.#known.has(id));
    return {
      boards: [
        ...packages.map((found) => this.#board(found)),
        ...lost.map((id) => ({ id, device: {}, lost: `${id} is gone: are all its CPUs offline?` })),
      ],
    };
  }

  async proveWritable(): Promise<void> {
    for (const found of RaplPackage.all(this.#files, this.#zones.read().zones)) {
      // What cannot be capped anyway is not written to.
      if (this.#whyLocked(found) !== undefined) continue;
      const seen = found.signature;
      try {
        found.writeBack();
      } catch (error) {
        this.#remember(error, writeErrorOutcome(error, found.id, LOCKED), found.id, seen);
      }
    }
  }

  async limit(id: string): Promise<LimitReading> {
    try {
      return { limit: this.#package(id).enforcedLimit };
    } catch (error) {
      return { unreadable: `${id}: ${errorText(error)}` };
    }
  }

  async original(id: string): Promise<OriginalReading> {
    try {
      return { original: JSON.stringify(this.#package(id).settings) };
    } catch (error) {
      return { unreadable: `${id}: ${errorText(error)}` };
    }
  }

  async cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome> {
    try {
      const found = this.#package(id);
      const { min, max = Infinity, registerLimit = 0, step = watts(0) } = this.#device(found);
      const [least, most] = [min ?? step, Math.min(max, registerLimit)];
      const settings = found.settingsFor(limit);
      // Beyond its 15 bits the register keeps only the lower ones: 4096 W would be 0 W.
      if (settings === undefined || limit > most || limit < Math.min(least, found.enforcedLimit)) {
        const range = `between ${formatWatts(least)} and ${formatWatts(most)}`;
        return { result: "error", message: `${id}: ${formatWatts(limit)} is not ${range}` };
      }
      if (found.isSwitchedOff) return { result: "blocked", message: `${id}: ${SWITCHED_OFF}` };
      return this.#stillRefused(found) ?? (await this.#write(found, settings, limit, signal));
    } catch (error) {
      return writeErrorOutcome(error, id, LOCKED);
    }
  }

  async restore(id: string, text: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const original = parseRaplOriginal(text);
    if (original === undefined) return { result: "error", message: `${id}: no limits are in ${text.slice(0, 80)}` };
    // With its last CPU the package's limits went: there is nothing left to put back.
    if (!this.#isThere(id) && offlinePackages(this.#files, [id])(id)) return { result: "applied" };
    try {
      const failed = await this.#package(id).restore(original, this.#clock, signal);
      return failed === undefined ? { result: "applied" } : { result: "error", message: `${id}: ${failed}` };
    } catch (error) {
      return writeErrorOutcome(error, id, LOCKED);
    }
  }

  async #write(
    found: RaplPackage,
    settings: RaplOriginal,
    limit: Watts,
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    const { id, signature: seen } = found;
    try {
      const failed = await found.cap(settings, this.#clock, signal);
      if (failed !== undefined) return { result: "error", message: `${id}: ${failed}` };
      const words = lowerMmio(found, limit);
      return words.length === 0 ? { result: "applied" } : { result: "applied", message: `${id}: ${words.join("; ")}` };
    } catch (error) {
      const outcome = writeErrorOutcome(error, id, LOCKED);
      this.#remember(error, outcome, id, seen);
      return outcome;
    }
  }

  /** Only a lock is remembered: rights and mounts are looked at anew each time, and may be put right at any moment. */
  #remember(error: unknown, outcome: WriteOutcome, id: string, seen: string): void {
    if (!(errorCode(error) in LOCKED)) return;
    this.#refused.set(id, { outcome, seen, until: monotonicInstant(this.#clock.monotonic() + LOCK_RETRY_INTERVAL) });
  }

  #device(found: RaplPackage): CapDevice {
    const { ratedPower, minPower, maxPower } = this.#catalogue;
    const device = found.device(ratedPower());
    // A maximum that no such part can take makes no floor either.
    const max = Math.min(device.max ?? Infinity, maxPower() ?? Infinity);
    const { min, minSource } = withLowestCap({ ...device, max: watts(max) }, minPower());
    return { ...device, min, minSource };
  }

  #board(found: RaplPackage): CapBoard {
    const { id, averagingWindow } = found;
    const device = this.#device(found);
    try {
      const warnings = lowerMmio(found, found.enforcedLimit);
      return { id, device, averagingWindow, locked: this.#whyLocked(found), warnings };
    } catch (error) {
      return { id, device, lost: `${id}: ${errorText(error)}` };
    }
  }

  /** Why it cannot be capped; undefined where it can, as far as that shows without a write. */
  #whyLocked(found: RaplPackage): string | undefined {
    try {
      if (found.isSwitchedOff) return SWITCHED_OFF;
      found.checkWritable();
    } catch (error) {
      return writeErrorOutcome(error, found.id).message;
    }
    return this.#stillRefused(found)?.message;
  }

  #isThere(id: string): boolean {
    return RaplPackage.all(this.#files, this.#zones.read().zones).some((known) => known.id === id);
  }

  #package(id: string): RaplPackage {
    const packages = RaplPackage.all(this.#files, this.#zones.read().zones);
    const found = packages.find((known) => known.id === id);
    if (found === undefined) throw new Error("no such CPU package with a power limit");
    return found;
  }

  /** A refusal is remembered until the package reads otherwise or a while has passed. */
  #stillRefused(found: RaplPackage): WriteOutcome | undefined {
    const refused = this.#refused.get(found.id);
    if (refused === undefined) return undefined;
    if (this.#clock.monotonic() < refused.until && found.signature === refused.seen) return refused.outcome;
    this.#refused.delete(found.id);
    return undefined;
  }
}

const ENERGY_ONLY = "RAPL has energy only here, as on AMD: an EPYC is capped through HSMP, anything else by DVFS";
const NO_LONG_TERM = "RAPL has no long-term limit behind model-specific registers here, and no other is written";
const SWITCHED_OFF =
  "its long-term limit is switched off (`enabled` reads 0), by a firmware lock or by choice: switch it on in the BIOS. Joulie does not, for the kernel would switch the clamp and the short-term limit with it, and nobody could put those back";
const UNKNOWN = (): undefined => undefined;

function lowerMmio(found: RaplPackage, limit: Watts): readonly string[] {
  const lower = found.mmioBelow(limit);
  return lower === undefined
    ? []
    : [`the memory-mapped limit of ${formatWatts(lower)} is lower, and the lower one wins`];
}
