import { boards } from "./board-table.ts";
import { figure, type GpuEntry, type Proxy } from "./entry.ts";
import { SOURCES } from "./sources.ts";

const UNCHECKED = new Set(["amd-mi350x", "amd-mi300a", "amd-mi250", "amd-mi210", "amd-w7900"]);

const INSTINCT = boards(
  { vendor: "amd", sheet: SOURCES.amdInstinct, limits: SOURCES.amdLimits, unchecked: UNCHECKED },
  [
    ["amd-mi355x", [0, 1400, 1400], 180, 2516, ["MI355X", "MI355X OAM"]],
    ["amd-mi350x", [0, 1000, 1000], 170, 2309, ["MI350X", "MI350X OAM"]],
    ["amd-mi325x", [0, 1000, 1000], 150, 1307, ["MI325X", "MI325X OAM", "MI325X O"]],
    ["amd-mi300x", [0, 750, 750], 140, 1307, ["MI300X", "MI300X OAM", "MI300X O", "MI300X 192GB"]],
    ["amd-mi300a", [0, 550, 760], 120, 981, ["MI300A", "MI300A APU"]],
    ["amd-mi250x", [100, 500, 560], 90, 383, ["MI250X", "MI250X OAM", "MI250X MI250", "MI250X 128GB"]],
    ["amd-mi250", [100, 500, 560], 90, 362, ["MI250", "MI250 OAM"]],
    ["amd-mi210", [0, 300, 300], 41, 181, ["MI210", "MI210 64GB", "MI210 PCIe"]],
    ["amd-mi100", [0, 300, 300], 35, 184.6, ["MI100", "MI100 32GB"]],
  ],
);

const RADEON_PRO = boards(
  { vendor: "amd", sheet: SOURCES.amdRadeonPro, limits: SOURCES.amdLimits, unchecked: UNCHECKED },
  [["amd-w7900", [241, 295, 295], 20, 122.6, ["Radeon PRO W7900", "W7900"]]],
);

const MEASURED: Readonly<Record<string, (entry: GpuEntry) => GpuEntry>> = {
  "amd-mi300x": (entry) => ({
    ...entry,
    minWatts: figure(entry.minWatts.value, "measured", SOURCES.mi300xCap),
    maxWatts: figure(entry.maxWatts.value, "measured", SOURCES.mi300xCap),
  }),
  "amd-mi210": (entry) => ({ ...entry, maxWatts: figure(entry.maxWatts.value, "measured", SOURCES.mi210Cap) }),
};

/** The driver reports the two dies of an MI250 as two GPUs. For MI300 and MI350 the number depends on the partition mode. */
const DIES: Readonly<Record<string, Pick<GpuEntry, "devicesPerBoard" | "maxPartitions">>> = {
  "amd-mi250x": { devicesPerBoard: 2 },
  "amd-mi250": { devicesPerBoard: 2 },
  "amd-mi300a": { maxPartitions: 6 },
  "amd-mi300x": { maxPartitions: 8 },
  "amd-mi325x": { maxPartitions: 8 },
  "amd-mi350x": { maxPartitions: 8 },
  "amd-mi355x": { maxPartitions: 8 },
};

export const AMD_GPUS: readonly GpuEntry[] = [...INSTINCT, ...RADEON_PRO].map((entry) => ({
  ...(MEASURED[entry.key]?.(entry) ?? entry),
  ...DIES[entry.key],
}));

export const AMD_GPU_PROXIES: readonly Proxy[] = [
  {
    names: ["MI300"],
    standsFor: "amd-mi300x",
    because: "only the generation is named and the X is its strongest accelerator",
  },
  {
    names: ["MI200"],
    standsFor: "amd-mi250x",
    because: "only the generation is named and the MI250X is its strongest board",
  },
  { names: ["MI350"], standsFor: "amd-mi350x", because: "only the generation is named" },
  {
    names: ["Radeon PRO W7900 Dual Slot"],
    standsFor: "amd-w7900",
    because: "it is the same board in a narrower case",
  },
];
