import type { HostFiles } from "../port.ts";
import { hostFileText, namesIn, numberAt, wholeNumber } from "./host-values.ts";

const CPU = "devices/system/cpu";

/** The frequencies that matter for power, in megahertz. With several core types, those of the fastest cores. */
export interface FrequencyLandmarks {
  readonly min?: number;
  readonly nominal?: number;
  readonly maxBoost?: number;
  readonly lowestNonlinear?: number;
}

export interface FrequencyFacts {
  /** The text of `scaling_driver`. */
  readonly driver?: string;
  readonly landmarks: FrequencyLandmarks;
}

type PolicyFileReader = (name: string) => number | undefined;

/** Reads the frequencies of all policies. There may be hundreds, so the caller reads them during discovery and not on every tick. */
export function readFrequencyFacts(files: HostFiles): FrequencyFacts {
  const paths = namesIn(files, `${CPU}/cpufreq`)
    .filter((name) => /^policy\d+$/.test(name))
    .map((name) => `${CPU}/cpufreq/${name}`);
  const policies = paths.map(
    (path): PolicyFileReader =>
      (name) =>
        numberAt(files, `${path}/${name}`),
  );
  const highest = (pick: (policy: PolicyFileReader) => number | undefined): number | undefined =>
    extreme(policies.map(pick), Math.max);
  const lowest = (pick: (policy: PolicyFileReader) => number | undefined): number | undefined =>
    extreme(policies.map(pick), Math.min);
  const driver = paths
    .map((path) => hostFileText(files, `${path}/scaling_driver`)?.trim())
    .find((name) => name !== undefined && name !== "");
  const nominal = highest((policy) => policy("base_frequency")) ?? tableTop(files, paths) ?? cppcNominal(files);
  const frequencies = {
    min: lowest((policy) => policy("cpuinfo_min_freq")),
    nominal,
    // With boost off, only the driver's own file shows the hardware maximum.
    maxBoost: highest((policy) => extreme([policy("cpuinfo_max_freq"), policy("amd_pstate_max_freq")], Math.max)),
    lowestNonlinear: highest((policy) => policy("amd_pstate_lowest_nonlinear_freq")),
  };
  const known = Object.entries(frequencies).flatMap(([name, kilohertz]) =>
    kilohertz === undefined ? [] : [[name, kilohertz / 1000] as const],
  );
  return { ...(driver === undefined ? {} : { driver }), landmarks: Object.fromEntries(known) };
}

/** The highest entry of the P-state tables: the base frequency. An entry 1 MHz above it stands for turbo and is skipped. */
function tableTop(files: HostFiles, paths: readonly string[]): number | undefined {
  const table = paths
    .flatMap((path) => (hostFileText(files, `${path}/scaling_available_frequencies`) ?? "").split(/\s+/))
    .map((text) => wholeNumber(text))
    .filter((frequency) => frequency !== undefined);
  const top = extreme(table, Math.max);
  return top !== undefined && table.includes(top - 1000) ? top - 1000 : top;
}

/** CPPC reports megahertz; the result is in kilohertz. */
function cppcNominal(files: HostFiles): number | undefined {
  const megahertz = numberAt(files, `${CPU}/cpu0/acpi_cppc/nominal_freq`);
  return megahertz === undefined ? undefined : megahertz * 1000;
}

/** The highest or lowest of the known values. 0 is not a frequency. */
function extreme(values: readonly (number | undefined)[], pick: (a: number, b: number) => number): number | undefined {
  let found: number | undefined;
  for (const value of values) {
    if (value !== undefined && value > 0) found = found === undefined ? value : pick(found, value);
  }
  return found;
}
