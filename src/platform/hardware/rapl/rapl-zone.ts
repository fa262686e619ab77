import { raplRegisterLimit } from "../../../core/control/index.ts";
import { type Milliseconds, milliseconds, type Watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import { numberAt, textAt, wholeNumber } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { PackageZone } from "./powercap-zones.ts";
import type { RaplSetting } from "./rapl-original.ts";

/** Client parts have three constraints, servers two; their order is not promised, so they go by name. */
const MOST_CONSTRAINTS = 8;

/** The long-term limit of one package zone: its files, and what they say. Reading throws what the kernel answers. */
export class RaplZone {
  readonly name: string;
  readonly #limitFile: string;
  readonly #enabledFile: string;
  readonly #files: HostFiles;
  readonly #constraint: string;

  private constructor(files: HostFiles, { name, path }: PackageZone, index: number) {
    this.name = name;
    this.#files = files;
    this.#constraint = `${path}/constraint_${index}`;
    this.#limitFile = `${this.#constraint}_power_limit_uw`;
    this.#enabledFile = `${path}/enabled`;
  }

  /** The highest limit and maximum of all the zone's constraints; undefined where it has none. */
  static highestLimit(files: HostFiles, zone: PackageZone): Watts | undefined {
    let highest = 0;
    for (let index = 0; index < MOST_CONSTRAINTS; index += 1) {
      const constraint = `${zone.path}/constraint_${index}`;
      if (textAt(files, `${constraint}_name`) === undefined) break;
      for (const file of ["power_limit_uw", "max_power_uw"])
        highest = Math.max(highest, numberAt(files, `${constraint}_${file}`) ?? 0);
    }
    return highest === 0 ? undefined : wattsFromMicrowatts(highest);
  }

  /** Undefined where the zone has no limit called `long_term`. */
  static of(files: HostFiles, zone: PackageZone): RaplZone | undefined {
    for (let index = 0; index < MOST_CONSTRAINTS; index += 1) {
      const name = textAt(files, `${zone.path}/constraint_${index}_name`);
      if (name === undefined) return undefined;
      if (name.trim() === "long_term") return new RaplZone(files, zone, index);
    }
    return undefined;
  }

  get microwatts(): number {
    return figure(this.#files.read(this.#limitFile), this.#limitFile);
  }

  get enabled(): boolean {
    return figure(this.#files.read(this.#enabledFile), this.#enabledFile) !== 0;
  }

  /** The limit in force; one that is switched off is as high as the register goes. */
  get enforcedLimit(): Watts {
    return this.enabled ? wattsFromMicrowatts(this.microwatts) : raplRegisterLimit;
  }

  /** The limit as it stands in the register, on or off; undefined where it cannot be read. */
  get longTermLimit(): Watts | undefined {
    const microwatts = numberAt(this.#files, this.#limitFile);
    return microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
  }

  /** What the package is rated for: 0 or no data where the part does not say. */
  get ratedPower(): Watts | undefined {
    const microwatts = numberAt(this.#files, `${this.#constraint}_max_power_uw`);
    return microwatts === undefined || microwatts === 0 ? undefined : wattsFromMicrowatts(microwatts);
  }

  /** The lowest limit it takes: Intel's driver exposes none, others may. */
  get minPower(): Watts | undefined {
    const microwatts = numberAt(this.#files, `${this.#constraint}_min_power_uw`);
    return microwatts === undefined || microwatts === 0 ? undefined : wattsFromMicrowatts(microwatts);
  }

  get averagingWindow(): Milliseconds | undefined {
    const microseconds = numberAt(this.#files, `${this.#constraint}_time_window_us`);
    return microseconds === undefined ? undefined : milliseconds(microseconds / 1000);
  }

  get setting(): RaplSetting {
    return { limit: this.microwatts, enabled: this.enabled };
  }

  /**
   * Writes the limit where it differs. Never `enabled`: the kernel then also switches the clamp and the short-term limit, whose
   * own bits can neither be read nor put back through sysfs.
   */
  write({ limit }: Pick<RaplSetting, "limit">): void {
    if (this.microwatts !== limit) this.#files.write(this.#limitFile, String(limit));
  }

  /** Throws what a write would be refused with, as far as that shows without one. */
  checkWritable(): void {
    this.#files.checkWritable(this.#limitFile);
  }

  /** Writes the limit that is in force: a locked register refuses it, any other is left as it was. */
  writeBack(): void {
    this.#files.write(this.#limitFile, String(this.microwatts));
  }
}

function figure(text: string, file: string): number {
  const value = wholeNumber(text);
  if (value === undefined) throw new Error(`${file} holds ${JSON.stringify(text.slice(0, 40))}, which is no number`);
  return value;
}

/** The register counts eighths of a watt and drops the rest. */
export const roundToRegisterStep = (limit: Watts): number => Math.floor(limit * 8 + 1e-6) * 125_000;
