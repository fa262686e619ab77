import type { WriteOutcome } from "../../../core/control/index.ts";
import {
  formatWatts,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type Watts,
  watts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode, errorText, writeErrorOutcome } from "../host/host-error.ts";
import { hostFileText, numberAt } from "../host/host-values.ts";
import { cpuList } from "../host/topology.ts";
import type { BackendView, CapBoard, HostFiles, LimitReading, OriginalReading, PowerCapBackend } from "../port.ts";
import { PowercapZones } from "./powercap-zones.ts";
import { RaplPackage } from "./rapl-package.ts";
import { parseRaplOriginal, type RaplOriginal } from "./rapl-zone.ts";

export interface RaplOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** The package's rated power from the catalogue, for parts that do not report it. */
  readonly ratedPower?: () => Watts | undefined;
}

/** Errors of a locked register: ENODATA for the limit, ENOSYS for `enabled`. */
const LOCKED = {
  ENODATA: "locked by firmware: unlock package power limits in the BIOS",
  ENOSYS: "locked by firmware: unlock package power limits in the BIOS",
};

/** A firmware lock lasts until the next boot. Trying on every tick would only fill the kernel log. */
const LOCK_RETRY_INTERVAL = milliseconds(15 * 60_000);

interface LockedPackage {
  readonly outcome: WriteOutcome;
  /** The package's values at that time: a change means that another program was able to write. */
  readonly signature: string;
  readonly until: MonotonicInstant;
}

/** Intel package power limits through powercap. Writes only the long-term limit of zones named `package-N`. */
export class RaplBackend implements PowerCapBackend {
  readonly name = "rapl";
  readonly kind = "cpu";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #ratedPower: () => Watts | undefined;
  readonly #zones: PowercapZones;
  readonly #locked = new Map<string, LockedPackage>();
  /** Packages seen before: one that disappears is reported as lost. */
  readonly #known = new Set<string>();

  constructor({ files, clock, ratedPower = () => undefined }: RaplOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#ratedPower = ratedPower;
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
    // A package without online CPUs is not lost. It is forgotten, so that later discoveries do not read the topology again.
    for (const id of gone.filter(isOffline)) this.#known.delete(id);
    const lost = gone.filter((id) => this.#known.has(id));
    return {
      boards: [
        ...packages.map((found) => this.#board(found)),
        ...lost.map((id) => ({ id, device: {}, lost: `${id} disappeared: are all its CPUs offline?` })),
      ],
    };
  }

  async proveWritable(): Promise<void> {
    for (const found of RaplPackage.all(this.#files, this.#zones.read().zones)) {
      // Do not write to a package that cannot be capped anyway.
      if (this.#whyLocked(found) !== undefined) continue;
      const { signature } = found;
      try {
        found.writeBack();
      } catch (error) {
        this.#rememberLock(error, writeErrorOutcome(error, found.id, LOCKED), found.id, signature);
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
      const { min, max = Infinity, registerLimit = 0, step = watts(0) } = found.device(this.#ratedPower());
      const [lowest, highest] = [min ?? step, Math.min(max, registerLimit)];
      const settings = found.settingsFor(limit);
      // The register drops bits above its 15: 4096 W would become 0 W.
      if (settings === undefined || limit > highest || limit < Math.min(lowest, found.enforcedLimit)) {
        const range = `between ${formatWatts(lowest)} and ${formatWatts(highest)}`;
        return { result: "error", message: `${id}: ${formatWatts(limit)} is not ${range}` };
      }
      if (found.isSwitchedOff) return { result: "blocked", message: `${id}: ${SWITCHED_OFF}` };
      return this.#knownLock(found) ?? (await this.#write(found, settings, limit, signal));
    } catch (error) {
      return writeErrorOutcome(error, id, LOCKED);
    }
  }

  async restore(id: string, text: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const original = parseRaplOriginal(text);
    if (original === undefined)
      return { result: "error", message: `${id}: the recorded original holds no limits: ${text.slice(0, 80)}` };
    // The package's limits disappeared with its last online CPU: there is nothing to restore.
    if (!this.#isPresent(id) && offlinePackages(this.#files, [id])(id)) return { result: "applied" };
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
    const { id, signature } = found;
    try {
      const failed = await found.cap(settings, this.#clock, signal);
      if (failed !== undefined) return { result: "error", message: `${id}: ${failed}` };
      const warnings = lowerMmio(found, limit);
      return { result: "applied", ...(warnings.length > 0 && { message: `${id}: ${warnings.join("; ")}` }) };
    } catch (error) {
      const outcome = writeErrorOutcome(error, id, LOCKED);
      this.#rememberLock(error, outcome, id, signature);
      return outcome;
    }
  }

  /** Remembers firmware locks only: permissions and mounts are checked on every write, because the user may fix them at any time. */
  #rememberLock(error: unknown, outcome: WriteOutcome, id: string, signature: string): void {
    if (!(errorCode(error) in LOCKED)) return;
    this.#locked.set(id, {
      outcome,
      signature,
      until: monotonicInstant(this.#clock.monotonic() + LOCK_RETRY_INTERVAL),
    });
  }

  #board(found: RaplPackage): CapBoard {
    const { id, averagingWindow } = found;
    const device = found.device(this.#ratedPower());
    try {
      const warnings = lowerMmio(found, found.enforcedLimit);
      return { id, device, averagingWindow, locked: this.#whyLocked(found), warnings };
    } catch (error) {
      return { id, device, lost: `${id}: ${errorText(error)}` };
    }
  }

  /** Why the package cannot be capped, as far as it shows without a write; undefined if it can. */
  #whyLocked(found: RaplPackage): string | undefined {
    try {
      if (found.isSwitchedOff) return SWITCHED_OFF;
      found.checkWritable();
    } catch (error) {
      return writeErrorOutcome(error, found.id).message;
    }
    return this.#knownLock(found)?.message;
  }

  #isPresent(id: string): boolean {
    return RaplPackage.all(this.#files, this.#zones.read().zones).some((known) => known.id === id);
  }

  #package(id: string): RaplPackage {
    const packages = RaplPackage.all(this.#files, this.#zones.read().zones);
    const found = packages.find((known) => known.id === id);
    if (found === undefined) throw new Error("no CPU package of this name has a power limit");
    return found;
  }

  /** The outcome of an earlier write to a locked package, until its values change or the retry interval passes. */
  #knownLock(found: RaplPackage): WriteOutcome | undefined {
    const locked = this.#locked.get(found.id);
    if (locked === undefined) return undefined;
    if (this.#clock.monotonic() < locked.until && found.signature === locked.signature) return locked.outcome;
    this.#locked.delete(found.id);
    return undefined;
  }
}

const ENERGY_ONLY =
  "RAPL has energy counters but no limits here, as on AMD: EPYC is capped through HSMP, other CPUs by DVFS";
const NO_LONG_TERM = "RAPL has no long-term limit in model-specific registers here, and Joulie writes no other limit";
const SWITCHED_OFF =
  "its long-term limit is disabled (`enabled` is 0), by a firmware lock or by choice: enable it in the BIOS. Joulie does not enable it, because the kernel would also change the clamp and the short-term limit, which cannot be restored";

function lowerMmio(found: RaplPackage, limit: Watts): readonly string[] {
  const lower = found.mmioBelow(limit);
  return lower === undefined ? [] : [`the memory-mapped limit of ${formatWatts(lower)} is lower and takes precedence`];
}

const CPU = "devices/system/cpu";

/**
 * Returns a test for packages (`package-1`) that have no online CPU. The kernel removes the zone of such a package, with its limits.
 * False if the topology is unknown. This reads hundreds of files, so callers pass only packages that are missing.
 */
function offlinePackages(files: HostFiles, missing: readonly string[]): (id: string) => boolean {
  if (missing.length === 0) return () => false;
  const packages = cpuList(hostFileText(files, `${CPU}/online`) ?? "").map((cpu) =>
    numberAt(files, `${CPU}/cpu${cpu}/topology/physical_package_id`),
  );
  if (packages.length === 0 || packages.includes(undefined)) return () => false;
  return (id) => !packages.includes(Number(id.replace("package-", "")));
}
