import { type FrequencyPolicy, type Kilohertz, kilohertz } from "../../../core/control/index.ts";
import { cpuList } from "../host/cpu-list.ts";
import { errorCode, HostFileError } from "../host/host-error.ts";
import { namesIn, numberAt, textAt, wholeNumber } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { PolicyOriginal } from "./cpufreq-original.ts";

const CPU = "devices/system/cpu";
const CPUFREQ = `${CPU}/cpufreq`;

/** A cpufreq policy: the CPUs that change frequency together. Reading and writing throw what the kernel answers. */
export class CpufreqPolicy {
  readonly id: number;
  readonly path: string;
  readonly #files: HostFiles;

  constructor(files: HostFiles, id: number) {
    this.#files = files;
    this.id = id;
    this.path = `${CPUFREQ}/policy${id}`;
  }

  /** Ids have gaps where CPUs share a policy. */
  static all(files: HostFiles): readonly CpufreqPolicy[] {
    return namesIn(files, CPUFREQ)
      .map((name) => /^policy(\d{1,6})$/.exec(name)?.[1])
      .filter((id) => id !== undefined)
      .map((id) => new CpufreqPolicy(files, Number(id)))
      .toSorted((a, b) => a.id - b.id);
  }

  /** All its CPUs are offline: the kernel answers EBUSY, and there is nothing to throttle. */
  get isOffline(): boolean {
    try {
      this.#files.read(`${this.path}/scaling_max_freq`);
      return false;
    } catch (error) {
      return errorCode(error) === "EBUSY";
    }
  }

  get max(): Kilohertz {
    return this.#figure("scaling_max_freq");
  }

  get min(): Kilohertz {
    return this.#figure("scaling_min_freq");
  }

  get hardwareMax(): Kilohertz | undefined {
    return this.#optional("cpuinfo_max_freq");
  }

  /** Takes milliseconds on many machines, and wakes the CPU on some: never on the event loop. */
  async current(): Promise<Kilohertz | undefined> {
    const value = wholeNumber(await this.#files.readLater(`${this.path}/scaling_cur_freq`));
    return value === undefined ? undefined : kilohertz(value);
  }

  /** What the throttle's arithmetic needs besides the original, and what never changes while the driver stays. */
  get traits(): Omit<FrequencyPolicy, "originalMax"> {
    const min = this.#optional("cpuinfo_min_freq");
    const available = textAt(this.#files, `${this.path}/scaling_available_frequencies`)
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
   * As it is now. `free` = nothing held it below what its hardware could do at the time: it then goes back to whatever the
   * hardware can do by then, for turbo may have been off when it was looked at and be on when it is put back.
   */
  get setting(): PolicyOriginal {
    const { max, min, hardwareMax } = this;
    const base = this.#optional("base_frequency");
    // Ceilings of others that show in the same file: turbo that is off, and what the firmware allows at the moment.
    const ceilings = [hardwareMax, this.#isTurboOff() ? base : undefined, this.#optional("bios_limit")];
    const isFree = ceilings.some((ceiling) => ceiling !== undefined && max >= ceiling);
    return isFree ? { max, min, free: true } : { max, min };
  }

  writeMax(max: number): void {
    try {
      this.#files.write(`${this.path}/scaling_max_freq`, String(max));
    } catch (error) {
      // Old kernels refuse a maximum below the minimum; newer ones pull the minimum down themselves.
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
    const [first = this.id] = cpuList(textAt(this.#files, `${this.path}/affected_cpus`) ?? "");
    return numberAt(this.#files, `${CPU}/cpu${first}/topology/physical_package_id`) ?? 0;
  }

  #isTurboOff(): boolean {
    return numberAt(this.#files, `${CPU}/intel_pstate/no_turbo`) === 1;
  }

  #figure(name: string): Kilohertz {
    const path = `${this.path}/${name}`;
    const value = wholeNumber(this.#files.read(path));
    if (value === undefined) throw new HostFileError("EINVAL", path, "no frequency is in");
    return kilohertz(value);
  }

  #optional(name: string): Kilohertz | undefined {
    const value = numberAt(this.#files, `${this.path}/${name}`);
    return value === undefined || value === 0 ? undefined : kilohertz(value);
  }
}
