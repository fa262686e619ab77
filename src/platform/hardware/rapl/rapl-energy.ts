import type { EnergyCounter } from "../../../core/control/index.ts";
import { isPositive, joulesFromMicrojoules, type Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode, errorText } from "../host/host-error.ts";
import { numberAt, wholeNumber } from "../host/host-values.ts";
import type { EnergyMeter, EnergyZoneSample, HostFiles } from "../port.ts";
import { type PackageZone, PowercapZones } from "./powercap-zones.ts";
import { RaplZone } from "./rapl-zone.ts";

export interface RaplEnergyOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** The package's rated power from the catalogue, for parts that do not report it. It distinguishes a counter wrap from a reset. */
  readonly ratedPower?: () => Watts | undefined;
}

/** The RAPL energy counters of all CPU packages, Intel and AMD. Each physical counter is read once. */
export class RaplEnergy implements EnergyMeter {
  readonly name = "rapl";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #ratedPower: () => Watts | undefined;
  readonly #zones: PowercapZones;

  constructor({ files, clock, ratedPower = () => undefined }: RaplEnergyOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#ratedPower = ratedPower;
    this.#zones = new PowercapZones(files);
  }

  /** All or nothing: callers need the total, which is wrong if one package is missing. */
  sample(): { readonly zones: readonly EnergyZoneSample[]; readonly missing?: string } {
    const { zones, absent } = this.#zones.read();
    if (absent !== undefined) return { zones: [], missing: absent };
    const samples: EnergyZoneSample[] = [];
    for (const { zone, name } of distinctCounters(zones)) {
      try {
        samples.push(this.#read(zone, name));
      } catch (error) {
        return { zones: [], missing: `${name}: ${readErrorText(error)}` };
      }
    }
    return { zones: samples };
  }

  #read(zone: PackageZone, name: string): EnergyZoneSample {
    const text = this.#files.read(`${zone.path}/energy_uj`);
    const at = this.#clock.monotonic();
    const energy = wholeNumber(text);
    if (energy === undefined)
      throw new Error(`energy_uj holds ${JSON.stringify(text.slice(0, 40))}, which is not a number`);
    const sample = { energy: joulesFromMicrojoules(energy), at };
    return { zone: name, board: `package-${zone.socket}`, counter: this.#counter(zone), sample };
  }

  #counter(zone: PackageZone): EnergyCounter {
    const range = numberAt(this.#files, `${zone.path}/max_energy_range_uj`);
    const limited = RaplZone.of(this.#files, zone);
    const ratedPower = limited?.ratedPower ?? this.#ratedPower();
    return {
      ...(isPositive(range) ? { range: joulesFromMicrojoules(range) } : {}),
      ...(ratedPower === undefined ? {} : { ratedPower }),
      longTermLimit: limited?.longTermLimit,
      highestLimit: RaplZone.highestLimit(this.#files, zone),
    };
  }
}

/**
 * Removes duplicates. A memory-mapped zone shows the same counter as its package zone. Kernels 6.10 and 6.11 show an EPYC package's
 * single counter once per die. Only dies with their own limits have their own counters.
 */
function distinctCounters(
  zones: readonly PackageZone[],
): readonly { readonly zone: PackageZone; readonly name: string }[] {
  const counters = new Map<string, PackageZone>();
  for (const zone of zones.toSorted((a, b) => Number(a.isMmio) - Number(b.isMmio))) {
    const name = zone.isLimited ? zone.name : `package-${zone.socket}`;
    if (!counters.has(name)) counters.set(name, zone);
  }
  return [...counters]
    .map(([name, zone]) => ({ zone, name }))
    .toSorted((a, b) => zones.indexOf(a.zone) - zones.indexOf(b.zone));
}

function readErrorText(error: unknown): string {
  const code = errorCode(error);
  return code === "EACCES" || code === "EPERM"
    ? "only root may read energy counters: run the agent as root"
    : errorText(error);
}
