import * as z from "zod";
import { raplRegisterLimit } from "../../../core/control/index.ts";
import { type Milliseconds, milliseconds, type Watts, wattsFromMicrowatts } from "../../../core/units/index.ts";
import { hostFileText, numberAt, wholeNumber } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { PackageZone } from "./powercap-zones.ts";

/** Client CPUs have three constraints, servers two. Their order is not guaranteed, so they are found by name. */
const MAX_CONSTRAINTS = 8;

/** The long-term limit of one package zone. Reads and writes throw the kernel's error. */
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

  /** The highest limit or maximum of all constraints of the zone; undefined if it has none. */
  static highestLimit(files: HostFiles, zone: PackageZone): Watts | undefined {
    let highest = 0;
    for (let index = 0; index < MAX_CONSTRAINTS; index += 1) {
      const constraint = `${zone.path}/constraint_${index}`;
      if (hostFileText(files, `${constraint}_name`) === undefined) break;
      for (const file of ["power_limit_uw", "max_power_uw"])
        highest = Math.max(highest, numberAt(files, `${constraint}_${file}`) ?? 0);
    }
    return highest === 0 ? undefined : wattsFromMicrowatts(highest);
  }

  /** Undefined if the zone has no constraint named `long_term`. */
  static of(files: HostFiles, zone: PackageZone): RaplZone | undefined {
    for (let index = 0; index < MAX_CONSTRAINTS; index += 1) {
      const name = hostFileText(files, `${zone.path}/constraint_${index}_name`);
      if (name === undefined) return undefined;
      if (name.trim() === "long_term") return new RaplZone(files, zone, index);
    }
    return undefined;
  }

  get microwatts(): number {
    return parseInteger(this.#files.read(this.#limitFile), this.#limitFile);
  }

  get enabled(): boolean {
    return parseInteger(this.#files.read(this.#enabledFile), this.#enabledFile) !== 0;
  }

  /** The enforced limit. A disabled limit counts as the register's maximum. */
  get enforcedLimit(): Watts {
    return this.enabled ? wattsFromMicrowatts(this.microwatts) : raplRegisterLimit;
  }

  /** The limit in the register, enabled or not; undefined if it cannot be read. */
  get longTermLimit(): Watts | undefined {
    const microwatts = numberAt(this.#files, this.#limitFile);
    return microwatts === undefined ? undefined : wattsFromMicrowatts(microwatts);
  }

  /** The rated power of the package; undefined if the part reports 0 or nothing. */
  get ratedPower(): Watts | undefined {
    const microwatts = numberAt(this.#files, `${this.#constraint}_max_power_uw`);
    return microwatts === undefined || microwatts === 0 ? undefined : wattsFromMicrowatts(microwatts);
  }

  /** The lowest accepted limit. Intel's driver does not expose one; others may. */
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
   * Writes the limit if it differs. Never writes `enabled`: the kernel would also switch the clamp and the short-term limit, whose
   * bits can be neither read nor restored through sysfs.
   */
  write({ limit }: Pick<RaplSetting, "limit">): void {
    if (this.microwatts !== limit) this.#files.write(this.#limitFile, String(limit));
  }

  /** Throws the error a write would get, as far as it shows without writing. */
  checkWritable(): void {
    this.#files.checkWritable(this.#limitFile);
  }

  /** Writes the current limit back: a locked register rejects it, any other stays unchanged. */
  writeBack(): void {
    this.#files.write(this.#limitFile, String(this.microwatts));
  }
}

function parseInteger(text: string, file: string): number {
  const value = wholeNumber(text);
  if (value === undefined) throw new Error(`${file} holds ${JSON.stringify(text.slice(0, 40))}, which is not a number`);
  return value;
}

/** Rounds down to the register's step of an eighth of a watt, in microwatts. */
export const roundToRegisterStep = (limit: Watts): number => Math.floor(limit * 8 + 1e-6) * 125_000;

const zone = z.strictObject({
  /** Microwatts, exactly as read from the file. */
  limit: z.int().nonnegative(),
  enabled: z.boolean(),
});

/** A package has one zone, or one per die. */
const MAX_ZONES = 64;
const schema = z
  .record(z.string(), zone)
  .refine((zones) => Object.keys(zones).length > 0 && Object.keys(zones).length <= MAX_ZONES);

/** The original values of one zone. */
type RaplSetting = z.infer<typeof zone>;
/** The original values of a package, by zone name. */
export type RaplOriginal = z.infer<typeof schema>;

/** Undefined if the text is not a valid original. */
export function parseRaplOriginal(text: string): RaplOriginal | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
