import { type CapDevice, raplRegisterLimit, raplStep } from "../../../core/control/index.ts";
import {
  formatWatts,
  isPositive,
  type Milliseconds,
  milliseconds,
  type Watts,
  watts,
  wattsFromMicrowatts,
} from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorText } from "../host/host-error.ts";
import { readBack } from "../host/host-values.ts";
import type { HostFiles } from "../port.ts";
import type { PackageZone } from "./powercap-zones.ts";
import { type RaplOriginal, RaplZone, roundToRegisterStep } from "./rapl-zone.ts";

/** One CPU package. Where dies are zones with their own limits, each zone gets an equal share of the cap. */
export class RaplPackage {
  readonly id: string;
  readonly #zones: readonly RaplZone[];
  readonly #mmio: readonly RaplZone[];

  private constructor(id: string, zones: readonly RaplZone[], mmio: readonly RaplZone[]) {
    this.id = id;
    this.#zones = zones;
    this.#mmio = mmio;
  }

  /** Every package that has a power limit, named by its socket number. */
  static all(files: HostFiles, zones: readonly PackageZone[]): readonly RaplPackage[] {
    const limited = zones.filter(({ isLimited }) => isLimited);
    const bySocket = Map.groupBy(limited, ({ socket }) => socket);
    return [...bySocket]
      .map(([socket, members]) => {
        const [mmio, msr] = [true, false].map((isMmio) =>
          members
            .filter((zone) => zone.isMmio === isMmio)
            .map((zone) => RaplZone.of(files, zone))
            .filter((zone) => zone !== undefined),
        );
        return new RaplPackage(`package-${socket}`, msr ?? [], mmio ?? []);
      })
      .filter((found) => found.#zones.length > 0);
  }

  device(ratedPower: Watts | undefined): CapDevice {
    const dies = this.#zones.length;
    return {
      min: this.#sum(({ minPower }) => minPower),
      max: this.#sum((zone) => zone.ratedPower) ?? ratedPower,
      registerLimit: watts(raplRegisterLimit * dies),
      step: watts(raplStep * dies),
    };
  }

  /** Throws if a zone cannot be read. */
  get enforcedLimit(): Watts {
    return watts(this.#zones.reduce((sum, zone) => sum + zone.enforcedLimit, 0));
  }

  get averagingWindow(): Milliseconds | undefined {
    const windows = this.#zones.map(({ averagingWindow }) => averagingWindow).filter((window) => window !== undefined);
    return windows.length === 0 ? undefined : milliseconds(Math.max(...windows));
  }

  get isSwitchedOff(): boolean {
    return this.#zones.some(({ enabled }) => !enabled);
  }

  get settings(): RaplOriginal {
    return Object.fromEntries(this.#zones.map((zone) => [zone.name, zone.setting]));
  }

  /** The setting of each zone for a cap of the whole package; undefined if the share rounds to zero. */
  settingsFor(limit: Watts): RaplOriginal | undefined {
    const microwatts = isPositive(limit) ? roundToRegisterStep(watts(limit / this.#zones.length)) : 0;
    if (microwatts === 0) return undefined;
    return Object.fromEntries(this.#zones.map(({ name }) => [name, { limit: microwatts, enabled: true }]));
  }

  /** Client CPUs have a second limit in memory-mapped registers. Returns it if it is lower than the given one. */
  mmioBelow(limit: Watts): Watts | undefined {
    for (const zone of this.#mmio) {
      try {
        if (zone.enforcedLimit < limit) return zone.enforcedLimit;
      } catch {
        // Unreadable: treated as no limit.
      }
    }
    return undefined;
  }

  /** The current values or the read error as text, to detect changes. */
  get signature(): string {
    try {
      return JSON.stringify(this.settings);
    } catch (error) {
      return errorText(error);
    }
  }

  /** Throws the error a write would get, as far as it shows without writing. */
  checkWritable(): void {
    for (const zone of this.#zones) zone.checkWritable();
  }

  /** Tests whether limits can be set by writing each zone's limit back. Throws the kernel's error. */
  writeBack(): void {
    for (const zone of this.#zones) zone.writeBack();
  }

  /** Sets every zone or none. Returns undefined if all zones read back as written, else a message. */
  async cap(settings: RaplOriginal, clock: Clock, signal?: AbortSignal): Promise<string | undefined> {
    const before = this.settings;
    try {
      this.#write(settings);
    } catch (error) {
      this.#write(before);
      throw error;
    }
    return this.#readBack(settings, clock, signal);
  }

  /** Like `cap`, but sets as many zones as possible and rolls nothing back. */
  async restore(settings: RaplOriginal, clock: Clock, signal?: AbortSignal): Promise<string | undefined> {
    this.#write(settings);
    return this.#readBack(settings, clock, signal);
  }

  #write(settings: RaplOriginal): void {
    const failures: unknown[] = [];
    for (const [name, setting] of Object.entries(settings)) {
      const zone = this.#zones.find((known) => known.name === name);
      try {
        if (zone === undefined) throw new Error(`${name} disappeared`);
        zone.write(setting);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #readBack(settings: RaplOriginal, clock: Clock, signal: AbortSignal | undefined): Promise<string | undefined> {
    for (const zone of this.#zones) {
      const wanted = settings[zone.name];
      if (wanted === undefined) continue;
      const read = await readBack(
        clock,
        () => zone.setting,
        ({ limit }) => limit === wanted.limit,
        signal,
      );
      const written = formatWatts(wattsFromMicrowatts(wanted.limit));
      const found = formatWatts(wattsFromMicrowatts(read.limit));
      if (read.limit !== wanted.limit)
        return `wrote ${written} but read back ${found}: firmware or another program set it`;
    }
    return undefined;
  }

  #sum(part: (zone: RaplZone) => Watts | undefined): Watts | undefined {
    let sum = 0;
    for (const zone of this.#zones) sum += part(zone) ?? Number.NaN;
    return Number.isNaN(sum) ? undefined : watts(sum);
  }
}
