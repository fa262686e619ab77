import type { HostFiles } from "../port.ts";
import { namesIn, numberAt, textAt, wholeNumber } from "./host-values.ts";

const CPU = "devices/system/cpu";

/** The frequencies that matter for power, in megahertz; on machines with several kinds of cores those of the fastest. */
export interface FrequencyLandmarks {
  readonly min?: number;
  readonly nominal?: number;
  readonly maxBoost?: number;
  readonly lowestNonlinear?: number;
}

export interface FrequencyFacts {
  /** `scaling_driver`, as the kernel spells it. */
  readonly driver?: string;
  readonly landmarks: FrequencyLandmarks;
}

/** One policy's files. */
type PolicyFileReader = (name: string) => number | undefined;

/** The frequencies of all policies: read when they are looked for, not at every tick, for there may be hundreds. */
export function readFrequencyFacts(files: HostFiles): FrequencyFacts {
  const paths = namesIn(files, `${CPU}/cpufreq`)
    .filter((name) => /^policy\d+$/.test(name))
    .map((name) => `${CPU}/cpufreq/${name}`);
  const policies = paths.map(
    (path): PolicyFileReader =>
      (name) =>
        numberAt(files, `${path}/${name}`),
  );
  const most = (pick: (policy: PolicyFileReader) => number | undefined): number | undefined =>
    extreme(policies.map(pick), Math.max);
  const least = (pick: (policy: PolicyFileReader) => number | undefined): number | undefined =>
    extreme(policies.map(pick), Math.min);
  const driver = paths
    .map((path) => textAt(files, `${path}/scaling_driver`)?.trim())
    .find((name) => name !== undefined && name !== "");
  const nominal = most((policy) => policy("base_frequency")) ?? tableTop(files, paths) ?? cppcNominal(files);
  const figures = {
    min: least((policy) => policy("cpuinfo_min_freq")),
    nominal,
    // With boost off the hardware's own maximum is only in the driver's file.
    maxBoost: most((policy) => extreme([policy("cpuinfo_max_freq"), policy("amd_pstate_max_freq")], Math.max)),
    lowestNonlinear: most((policy) => policy("amd_pstate_lowest_nonlinear_freq")),
  };
  const known = Object.entries(figures).flatMap(([name, kilohertz]) =>
    kilohertz === undefined ? [] : [[name, kilohertz / 1000] as const],
  );
  return { ...(driver === undefined ? {} : { driver }), landmarks: Object.fromEntries(known) };
}

/** Tables of P-states end at the base frequency, but for an entry 1 MHz above it that stands for all of turbo. */
function tableTop(files: HostFiles, paths: readonly string[]): number | undefined {
  const table = paths
    .flatMap((path) => (textAt(files, `${path}/scaling_available_frequencies`) ?? "").split(/\s+/))
    .map((text) => wholeNumber(text))
    .filter((frequency) => frequency !== undefined);
  const top = extreme(table, Math.max);
  return top !== undefined && table.includes(top - 1000) ? top - 1000 : top;
}

/** CPPC has it in megahertz. */
function cppcNominal(files: HostFiles): number | undefined {
  const megahertz = numberAt(files, `${CPU}/cpu0/acpi_cppc/nominal_freq`);
  return megahertz === undefined ? undefined : megahertz * 1000;
}

/** Of the figures there are; 0 is no frequency. */
function extreme(values: readonly (number | undefined)[], pick: (a: number, b: number) => number): number | undefined {
  let found: number | undefined;
  for (const value of values) {
    if (value !== undefined && value > 0) found = found === undefined ? value : pick(found, value);
  }
  return found;
}
