// A server as a directory of plain files: sysfs and procfs of its CPUs, packages and GPUs.
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { type HostTree, joinTrees, powercapTree } from "../../src/platform/hardware/testing/index.ts";

export interface MachineFilesShape {
  readonly cpus: number;
  readonly packages: number;
  readonly gpus: number;
}

const CPU = "devices/system/cpu";
/** max_energy_range_uj of a Xeon package. */
const ENERGY_RANGE = 262143328850;

/** All boards have different limits, so that a test detects a restore to another board's original. */
const packageLimit = (index: number): number => 350_000_000 - index * 10_000_000;
const gpuLimit = (index: number): number => 750_000_000 - index * 10_000_000;

export const limitFile = (index: number): string =>
  `devices/virtual/powercap/intel-rapl/intel-rapl:${index}/constraint_0_power_limit_uw`;
const energyFile = (index: number): string => `devices/virtual/powercap/intel-rapl/intel-rapl:${index}/energy_uj`;
export const maximumFile = (cpu: number): string => `${CPU}/cpufreq/policy${cpu}/scaling_max_freq`;
export const gpuFile = (index: number): string => `${gpuFolder(index)}/hwmon/hwmon${index + 5}/power1_cap`;

/** Path below `proc`. */
export const bootFile = "sys/kernel/random/boot_id";

const gpuFolder = (index: number): string =>
  `devices/pci0000:00/0000:${(index + 1).toString(16).padStart(2, "0")}:00.0`;

function sysTree({ cpus, packages, gpus }: MachineFilesShape): HostTree {
  const zones = Array.from({ length: packages }, (_, index) => ({
    dir: `intel-rapl:${index}`,
    name: `package-${index}`,
    enabled: 1 as const,
    energy: 171340287145 + index,
    range: ENERGY_RANGE,
    constraints: [
      [packageLimit(index), 999424, 350_000_000],
      [420_000_000, 7808, 764_000_000],
    ] as const,
  }));
  const cards = Array.from({ length: gpus }, (_, index) => gpuTree(index));
  return joinTrees(powercapTree(zones), cpufreqTree(cpus, packages), ...cards);
}

/** A cpufreq policy for each CPU, numbered consecutively per socket. */
function cpufreqTree(cpus: number, packages: number): HostTree {
  const files: Record<string, string> = {};
  const links: Record<string, string> = {};
  for (const name of ["present", "possible", "online"]) files[`${CPU}/${name}`] = `0-${cpus - 1}`;
  files[`${CPU}/offline`] = "";
  files[`${CPU}/intel_pstate/status`] = "active";
  files[`${CPU}/intel_pstate/no_turbo`] = "0";
  for (let cpu = 0; cpu < cpus; cpu++) {
    files[`${CPU}/cpu${cpu}/topology/physical_package_id`] = String(socketOf(cpu, cpus, packages));
    files[`${CPU}/cpu${cpu}/topology/core_id`] = String(cpu % (cpus / packages));
    links[`${CPU}/cpu${cpu}/cpufreq`] = `../cpufreq/policy${cpu}`;
    const own = {
      affected_cpus: String(cpu),
      related_cpus: String(cpu),
      scaling_driver: "intel_pstate",
      scaling_governor: "powersave",
      cpuinfo_min_freq: "800000",
      cpuinfo_max_freq: "3800000",
      scaling_min_freq: "800000",
      // Every fourth policy has a lower maximum, set by another program.
      scaling_max_freq: cpu % 4 === 1 ? "3000000" : "3800000",
      scaling_cur_freq: "1900000",
      base_frequency: "2000000",
    };
    for (const [name, text] of Object.entries(own)) files[`${CPU}/cpufreq/policy${cpu}/${name}`] = text;
  }
  return { files, links };
}

const socketOf = (cpu: number, cpus: number, packages: number): number => Math.floor((cpu * packages) / cpus);

/** The files of an MI300X with the amdgpu driver. */
function gpuTree(index: number): HostTree {
  const folder = gpuFolder(index);
  const hwmon = `${folder}/hwmon/hwmon${index + 5}`;
  const card = `${folder}/drm/card${index}`;
  return {
    files: {
      [`${hwmon}/name`]: "amdgpu",
      [`${hwmon}/power1_cap`]: String(gpuLimit(index)),
      [`${hwmon}/power1_cap_max`]: "750000000",
      [`${hwmon}/power1_cap_min`]: "0",
      [`${hwmon}/power1_cap_default`]: "750000000",
      [`${hwmon}/power1_input`]: "191000000",
      [`${folder}/unique_id`]: `5c88007d49b8e9e${index}`,
      [`${folder}/vendor`]: "0x1002",
      [`${folder}/device`]: "0x74a1",
      [`${folder}/class`]: "0x120000",
      [`${card}/dev`]: `226:${index}`,
    },
    links: {
      [`class/drm/card${index}`]: `../../${card}`,
      [`${card}/device`]: "../..",
      [`bus/pci/devices/${folder.split("/").at(-1)}`]: `../../../${folder}`,
    },
  };
}

function procTree({ cpus, packages }: MachineFilesShape): HostTree {
  const processors = Array.from({ length: cpus }, (_, cpu) =>
    Object.entries({
      processor: cpu,
      vendor_id: "GenuineIntel",
      "cpu family": 6,
      "model name": "Intel(R) Xeon(R) Platinum 8480+",
      "physical id": socketOf(cpu, cpus, packages),
      "core id": cpu % (cpus / packages),
      "cpu cores": cpus / packages,
      flags: "fpu msr sse2 ht lm constant_tsc aes avx2 avx512f",
    })
      .map(([name, value]) => `${name}\t: ${value}`)
      .join("\n"),
  );
  return {
    files: {
      cpuinfo: `${processors.join("\n\n")}\n`,
      meminfo: "MemTotal:       527954216 kB",
      [bootFile]: "a6c2f3c0-0000-4000-8000-000000000001\n",
    },
  };
}

/** Writes files without line ends, so that restored files are identical to the byte. */
function writeTree(root: string, { files, links = {} }: HostTree): void {
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    symlinkSync(target, join(root, path));
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), String(text));
  }
}

/** `sys`, `proc` and `state` below a folder. */
export function createMachineFiles(folder: string, shape: MachineFilesShape): void {
  writeTree(join(folder, "sys"), sysTree(shape));
  writeTree(join(folder, "proc"), procTree(shape));
  mkdirSync(join(folder, "state"));
}

/** The content of every file except energy counters. */
export function readTree(root: string): ReadonlyMap<string, string> {
  const tree = new Map<string, string>();
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile() && entry.name !== "energy_uj") tree.set(path, readFileSync(join(root, path), "latin1"));
    }
  };
  walk("");
  return tree;
}

/** Advances the energy counters of all packages. */
export function addEnergy(folder: string, { packages }: MachineFilesShape, watts: number, seconds: number): void {
  for (let index = 0; index < packages; index++) {
    const file = join(folder, "sys", energyFile(index));
    writeFileSync(file, String(Math.round(Number(readFileSync(file, "utf8")) + watts * seconds * 1e6) % ENERGY_RANGE));
  }
}

/** Lets each package draw this power until the returned function is called. */
export function drawPower(folder: string, shape: MachineFilesShape, watts: number): () => void {
  const over = new AbortController();
  const drawing = async (): Promise<void> => {
    while (!over.signal.aborted) addEnergy(folder, shape, watts, (await simulatedDelay(200, over.signal)) / 1000);
  };
  drawing().catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  return () => over.abort();
}

/** Files that differ, with actual and expected content. */
export const differences = (is: ReadonlyMap<string, string>, should: ReadonlyMap<string, string>): readonly string[] =>
  [...new Set([...is.keys(), ...should.keys()])]
    .filter((path) => is.get(path) !== should.get(path))
    .map((path) => `${path} is ${is.get(path)} instead of ${should.get(path)}`);
