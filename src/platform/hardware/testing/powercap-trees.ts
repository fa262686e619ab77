import { type HostTree, noData } from "./fake-host.ts";

// Trees of /sys/class/powercap of real machines. Sources: the kernel's powercap and intel_rapl drivers, and published
// listings: intel/powertelemetry#3 (A), powercap/raplcap#14 and OpenGamingCollective/asusctl#145 (B), the linux-pm
// list of July 2024 (C), joular/powerjoular#25, kepler#2262 and kubernetes#125970 (none at all).

type Figure = number | typeof noData;
/** Limit in µW, time window in µs, maximum in µW. */
type Constraint = readonly [limit: Figure, window: Figure, max: Figure];

export interface Zone {
  readonly dir: string;
  readonly name: string;
  readonly enabled: 0 | 1;
  readonly energy: number;
  readonly range: number;
  /** long_term, short_term, peak_power. */
  readonly constraints?: readonly Constraint[];
}

const CONSTRAINT_NAMES = ["long_term", "short_term", "peak_power"] as const;

/** `intel-rapl:0:1` lies in `intel-rapl/intel-rapl:0/intel-rapl:0:1`. */
export function zonePath(dir: string): string {
  const [control = "", ...ids] = dir.split(":");
  const folders = ids.map((_, depth) => [control, ...ids.slice(0, depth + 1)].join(":"));
  return ["devices/virtual/powercap", control, ...folders].join("/");
}

const asText = (figure: Figure): string | typeof noData => (figure === noData ? noData : String(figure));

export function powercapTree(zones: readonly Zone[]): HostTree {
  const files: Record<string, string | typeof noData> = {};
  const links: Record<string, string> = {};
  for (const control of new Set(zones.map(({ dir }) => dir.split(":")[0] ?? ""))) {
    files[`${zonePath(control)}/enabled`] = "1";
    links[`class/powercap/${control}`] = `../../${zonePath(control)}`;
  }
  for (const { dir, name, enabled, energy, range, constraints = [] } of zones) {
    const path = zonePath(dir);
    links[`class/powercap/${dir}`] = `../../${path}`;
    Object.assign(files, {
      [`${path}/name`]: name,
      [`${path}/enabled`]: String(enabled),
      [`${path}/energy_uj`]: String(energy),
      [`${path}/max_energy_range_uj`]: String(range),
      [`${path}/uevent`]: "",
    });
    for (const [index, [limit, window, max]] of constraints.entries()) {
      files[`${path}/constraint_${index}_name`] = CONSTRAINT_NAMES[index] ?? "";
      files[`${path}/constraint_${index}_power_limit_uw`] = asText(limit);
      files[`${path}/constraint_${index}_time_window_us`] = asText(window);
      files[`${path}/constraint_${index}_max_power_uw`] = asText(max);
    }
  }
  return { files, links };
}

const DEFAULT_RANGE = 262143328850;
const XEON_DRAM_RANGE = 65712999613;
const AMD_RANGE = 65532610987;

const XEON: readonly Constraint[] = [
  [350000000, 999424, 350000000],
  [420000000, 7808, 764000000],
];
const XEON_DRAM: readonly Constraint[] = [[0, 976, 122000000]];
const UNUSED: Constraint = [0, 976, noData];

/** A: two Sapphire Rapids sockets; psys takes the number between them. */
const SAPPHIRE_RAPIDS_ZONES: readonly Zone[] = [
  { dir: "intel-rapl:0", name: "package-0", enabled: 1, energy: 171340287145, range: DEFAULT_RANGE, constraints: XEON },
  {
    dir: "intel-rapl:0:0",
    name: "dram",
    enabled: 0,
    energy: 41277804211,
    range: XEON_DRAM_RANGE,
    constraints: XEON_DRAM,
  },
  {
    dir: "intel-rapl:1",
    name: "psys",
    enabled: 0,
    energy: 60293987000000,
    range: 4294967295000000,
    constraints: [UNUSED, UNUSED],
  },
  { dir: "intel-rapl:2", name: "package-1", enabled: 1, energy: 98812345678, range: DEFAULT_RANGE, constraints: XEON },
  {
    dir: "intel-rapl:2:0",
    name: "dram",
    enabled: 0,
    energy: 38110220019,
    range: XEON_DRAM_RANGE,
    constraints: XEON_DRAM,
  },
];
export const sapphireRapids: HostTree = powercapTree(SAPPHIRE_RAPIDS_ZONES);

/** E: like A, but locked by the BIOS: the limits are readable, and `enabled` is 0. */
export const lockedByBios: HostTree = powercapTree(
  SAPPHIRE_RAPIDS_ZONES.map((zone) => (zone.name.startsWith("package-") ? { ...zone, enabled: 0 } : zone)),
);

/** B: one client socket with a second, lower limit in memory-mapped registers. */
export const clientWithMmio: HostTree = powercapTree([
  {
    dir: "intel-rapl:0",
    name: "package-0",
    enabled: 1,
    energy: 240422366267,
    range: DEFAULT_RANGE,
    constraints: [
      [135000000, 95944704, 55000000],
      [162000000, 2440, 0],
      [315000000, noData, 0],
    ],
  },
  {
    dir: "intel-rapl:0:0",
    name: "core",
    enabled: 0,
    energy: 118821284256,
    range: DEFAULT_RANGE,
    constraints: [UNUSED],
  },
  {
    dir: "intel-rapl:0:1",
    name: "uncore",
    enabled: 0,
    energy: 6564982278,
    range: DEFAULT_RANGE,
    constraints: [UNUSED],
  },
  {
    dir: "intel-rapl:1",
    name: "psys",
    enabled: 0,
    energy: 250110000000,
    range: DEFAULT_RANGE,
    constraints: [UNUSED, UNUSED],
  },
  {
    dir: "intel-rapl-mmio:0",
    name: "package-0",
    enabled: 1,
    energy: 240422366267,
    range: DEFAULT_RANGE,
    constraints: [
      [45000000, 27983872, 55000000],
      [90000000, 2440, 0],
    ],
  },
]);

const amd = (dir: string, name: string, energy: number): Zone => ({ dir, name, enabled: 0, energy, range: AMD_RANGE });

/** C: two EPYC sockets with energy counters and no limits. */
export const epyc: HostTree = powercapTree([
  amd("intel-rapl:0", "package-0", 64930873566),
  amd("intel-rapl:0:0", "core", 31041919121),
  amd("intel-rapl:1", "package-1", 45514845753),
  amd("intel-rapl:1:0", "core", 2214845753),
]);

const EPYC_SOCKET_ENERGY = [64930873566, 45514845753] as const;

/** C on kernels 6.10 and 6.11: one zone per die, all showing the same counter of their socket. */
export const epycWithDieZones: HostTree = powercapTree(
  EPYC_SOCKET_ENERGY.flatMap((energy, socket) =>
    Array.from({ length: 8 }, (_, die) =>
      amd(`intel-rapl:${(socket * 8 + die).toString(16)}`, `package-${socket}-die-${die}`, energy),
    ),
  ),
);

/** A package of two dies that are separate power domains (Cascade Lake AP), each with its own counter and limit. */
export const multiDie: HostTree = powercapTree(
  [81340287145, 98812345678].map((energy, die) => ({
    dir: `intel-rapl:${die}`,
    name: `package-0-die-${die}`,
    enabled: 1,
    energy,
    range: DEFAULT_RANGE,
    constraints: [
      [200000000, 999424, 200000000],
      [240000000, 7808, 400000000],
    ] as const,
  })),
);

/** D: cloud virtual machines have an empty class or none; in a container the links are broken. */
export const emptyPowercap: HostTree = { files: {}, folders: ["class/powercap"] };
export const noPowercap: HostTree = { files: {}, folders: ["class"] };
export const maskedPowercap: HostTree = {
  files: {},
  links: Object.fromEntries(
    ["intel-rapl", "intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"].map((dir) => [
      `class/powercap/${dir}`,
      `../../${zonePath(dir)}`,
    ]),
  ),
};
