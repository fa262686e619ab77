import * as z from "zod";
import {
  type FrequencyLimit,
  type FrequencyPolicy,
  type Kilohertz,
  kilohertz,
  type WriteOutcome,
} from "../../../core/control/index.ts";
import { errorCode, HostFileError } from "../host/host-error.ts";
import { hostFileText, namesIn, numberAt, wholeNumber } from "../host/host-values.ts";
import { cpuList } from "../host/topology.ts";
import type { HostFiles } from "../port.ts";

const CPU = "devices/system/cpu";
const CPUFREQ = `${CPU}/cpufreq`;

/** A cpufreq policy: CPUs that change frequency together. Reads and writes throw the kernel's error. */
export class CpufreqPolicy {
  readonly id: number;
  readonly path: string;
  readonly #files: HostFiles;

  constructor(files: HostFiles, id: number) {
    this.#files = files;
    this.id = id;
    this.path = `${CPUFREQ}/policy${id}`;
  }

  /** Ids have gaps if CPUs share a policy. */
  static all(files: HostFiles): readonly CpufreqPolicy[] {
    return namesIn(files, CPUFREQ)
      .map((name) => /^policy(\d{1,6})$/.exec(name)?.[1])
      .filter((id) => id !== undefined)
      .map((id) => new CpufreqPolicy(files, Number(id)))
      .toSorted((a, b) => a.id - b.id);
  }

  /** All CPUs of the policy are offline: reads fail with EBUSY. */
  get isOffline(): boolean {
    try {
      this.#files.read(`${this.path}/scaling_max_freq`);
      return false;
    } catch (error) {
      return errorCode(error) === "EBUSY";
    }
  }

  get max(): Kilohertz {
    return this.#frequency("scaling_max_freq");
  }

  get min(): Kilohertz {
    return this.#frequency("scaling_min_freq");
  }

  get hardwareMax(): Kilohertz | undefined {
    return this.#optional("cpuinfo_max_freq");
  }

  /** Takes milliseconds on many machines and wakes the CPU on some, so it runs off the event loop. */
  async current(): Promise<Kilohertz | undefined> {
    const value = wholeNumber(await this.#files.readLater(`${this.path}/scaling_cur_freq`));
    return value === undefined ? undefined : kilohertz(value);
  }

  /** The inputs of the throttle calculation that never change while the driver is loaded. */
  get traits(): Omit<FrequencyPolicy, "originalMax"> {
    const min = this.#optional("cpuinfo_min_freq");
    const available = hostFileText(this.#files, `${this.path}/scaling_available_frequencies`)
      ?.split(/\s+/)
      .map((text) => wholeNumber(text))
      .filter((value) => value !== undefined)
      .map(kilohertz);
    return {
      id: this.id,
      socket: this.#socket(),
      ...(min === undefined ? {} : { min }),
      ...(available === undefined ? {} : { available }),
    };
  }

  /**
   * The current values. `free` = nothing limits the policy below its hardware maximum. A free policy is restored to the hardware
   * maximum at that time, because turbo may have been off when the original was read.
   */
  get setting(): PolicyOriginal {
    const { max, min, hardwareMax } = this;
    const base = this.#optional("base_frequency");
    // Other ceilings that show in scaling_max_freq: turbo off, and the firmware's current limit.
    const ceilings = [hardwareMax, this.#isTurboOff() ? base : undefined, this.#optional("bios_limit")];
    const isFree = ceilings.some((ceiling) => ceiling !== undefined && max >= ceiling);
    return isFree ? { max, min, free: true } : { max, min };
  }

  writeMax(max: number): void {
    try {
      this.#files.write(`${this.path}/scaling_max_freq`, String(max));
    } catch (error) {
      // Old kernels reject a maximum below the minimum; newer ones lower the minimum themselves.
      if (errorCode(error) !== "EINVAL" || max >= this.min) throw error;
      this.writeMin(max);
      this.#files.write(`${this.path}/scaling_max_freq`, String(max));
    }
  }

  checkWritable(): void {
    this.#files.checkWritable(`${this.path}/scaling_max_freq`);
  }

  writeMin(min: number): void {
    this.#files.write(`${this.path}/scaling_min_freq`, String(min));
  }

  #socket(): number {
    const [first = this.id] = cpuList(hostFileText(this.#files, `${this.path}/affected_cpus`) ?? "");
    return numberAt(this.#files, `${CPU}/cpu${first}/topology/physical_package_id`) ?? 0;
  }

  #isTurboOff(): boolean {
    return numberAt(this.#files, `${CPU}/intel_pstate/no_turbo`) === 1;
  }

  #frequency(name: string): Kilohertz {
    const path = `${this.path}/${name}`;
    const value = wholeNumber(this.#files.read(path));
    if (value === undefined) throw new HostFileError("EINVAL", path, "not a frequency in");
    return kilohertz(value);
  }

  #optional(name: string): Kilohertz | undefined {
    const value = numberAt(this.#files, `${this.path}/${name}`);
    return value === undefined || value === 0 ? undefined : kilohertz(value);
  }
}

const policy = z.strictObject({
  /** scaling_max_freq and scaling_min_freq, in kHz. */
  max: z.int().positive(),
  min: z.int().nonnegative(),
  /** Nothing limited the policy below its hardware maximum. */
  free: z.literal(true).optional(),
});
const schema = z.record(z.string().regex(/^\d{1,6}$/), policy);

export type PolicyOriginal = z.infer<typeof policy>;

/** The originals by policy id; undefined if the text is not valid. */
export function parseCpufreqOriginals(text: string): ReadonlyMap<number, PolicyOriginal> | undefined {
  try {
    const { data } = schema.safeParse(JSON.parse(text));
    const originals = Object.entries(data ?? {}).map(([id, original]) => [Number(id), original] as const);
    return originals.length === 0 ? undefined : new Map(originals);
  } catch {
    return undefined;
  }
}

/** One write to a policy's maximum, and the test for its result. */
export interface FrequencyChange {
  readonly policy: CpufreqPolicy;
  readonly max: Kilohertz;
  readonly isReached: (read: Kilohertz) => boolean;
}

/** Lowers the maximum to the limit. Undefined if it is already that low: a lower limit of another program is never raised. */
export function throttleChange(policy: CpufreqPolicy, { max }: FrequencyLimit): FrequencyChange | undefined {
  const now = readableMax(policy);
  return now === undefined || now <= max ? undefined : { policy, max, isReached: (read) => read <= max };
}

/** Restores the original maximum, or the hardware maximum if nothing limited the policy originally. */
export function restoreChange(policy: CpufreqPolicy, { max, free }: PolicyOriginal): FrequencyChange | undefined {
  const target = kilohertz(free ? Math.max(max, policy.hardwareMax ?? max) : max);
  // With turbo off, the kernel reports less than the written hardware maximum.
  const isReached = (read: Kilohertz): boolean => read === target || (free === true && read >= max);
  const now = readableMax(policy);
  return now === undefined || isReached(now) ? undefined : { policy, max: target, isReached };
}

/** The current maximum; undefined if it cannot be read, for example while all CPUs of the policy are offline. */
export function readableMax(policy: CpufreqPolicy): Kilohertz | undefined {
  try {
    return policy.max;
  } catch {
    return undefined;
  }
}

/** All CPUs of the policy are offline: there is nothing to throttle. */
export const isOfflineError = (error: unknown): boolean => errorCode(error) === "EBUSY";

export const nameOf = ({ id }: Pick<CpufreqPolicy, "id">): string => `cpufreq policy${id}`;

/** Combines the failures of many policies into one outcome: the worst result and the number of others. */
export function combineFailures(failures: readonly WriteOutcome[]): WriteOutcome {
  const worst = failures.find(({ result }) => result === "error") ?? failures[0];
  if (worst === undefined) return { result: "applied" };
  const others = failures.length === 1 ? "" : `; and ${failures.length - 1} more`;
  return { result: worst.result, message: `${worst.message ?? ""}${others}` };
}

const THERMAL = "class/thermal";

/**
 * Whether the kernel limits CPU frequency because of temperature. The limit shows in scaling_max_freq, so a value read now would be
 * recorded as the original and restored permanently.
 */
export const isThermallyLimited = (files: HostFiles): boolean =>
  namesIn(files, THERMAL)
    .filter((name) => name.startsWith("cooling_device"))
    .some((name) => {
      const state = numberAt(files, `${THERMAL}/${name}/cur_state`);
      return (
        state !== undefined &&
        state > 0 &&
        /^(Processor|cpufreq)/.test(hostFileText(files, `${THERMAL}/${name}/type`) ?? "")
      );
    });
