import { type BoardRow, boards } from "./board-table.ts";
import { figure, type GpuEntry, type Proxy } from "./entry.ts";
import { SOURCES } from "./sources.ts";

/** Product names as nvidia-smi and the labels of GPU feature discovery spell them, including dashes. */
const ROWS: readonly BoardRow[] = [
  ["nvidia-b200", [200, 1000, 1000], 140, 2250, ["B200", "B200 SXM", "B200 180GB", "B200 SXM6 180GB", "HGX B200"]],
  ["nvidia-gb200", [200, 1200, 1200], 150, 2500, ["GB200"]],
  [
    "nvidia-h200-sxm",
    [200, 700, 700],
    78,
    989,
    ["H200", "H200 SXM", "H200 SXM5 141GB", "H200 141GB HBM3e", "H200 SXM 141GB"],
  ],
  ["nvidia-h200-nvl", [200, 600, 600], 70, 835, ["H200 NVL", "H200 NVL 141GB"]],
  [
    "nvidia-h100-sxm",
    [200, 700, 700],
    79,
    989,
    ["H100 80GB HBM3", "H100 SXM", "H100 SXM5", "H100 SXM5 80GB", "H100 SXM 80GB", "HGX H100"],
  ],
  ["nvidia-h100-pcie", [200, 350, 350], 48, 756, ["H100 PCIe", "H100 PCIe 80GB", "H100 80GB PCIe", "H100 80GB HBM2e"]],
  ["nvidia-h100-nvl", [200, 400, 400], 60, 835, ["H100 NVL", "H100 NVL 94GB"]],
  [
    "nvidia-a100-sxm-80gb",
    [100, 400, 400],
    62,
    312,
    ["A100 SXM4 80GB", "A100 SXM 80GB", "A100 80GB SXM4", "A100 80GB SXM"],
  ],
  [
    "nvidia-a100-sxm-40gb",
    [100, 400, 400],
    52,
    312,
    ["A100 SXM4 40GB", "A100 SXM 40GB", "A100 40GB SXM4", "A100 40GB SXM"],
  ],
  ["nvidia-a100-pcie-80gb", [150, 300, 300], 44, 312, ["A100 80GB PCIe", "A100 PCIe 80GB"]],
  ["nvidia-a100-pcie-40gb", [100, 250, 250], 34, 312, ["A100 PCIe 40GB", "A100 40GB PCIe"]],
  ["nvidia-a40", [100, 300, 300], 30, 149.7, ["A40", "A40 48GB", "A40 PCIe"]],
  ["nvidia-a30", [100, 165, 165], 28, 165, ["A30", "A30 24GB", "A30 PCIe"]],
  ["nvidia-a10", [60, 150, 150], 17, 125, ["A10", "A10 24GB", "A10 PCIe"]],
  ["nvidia-l40s", [100, 350, 350], 34, 362, ["L40S", "L40S 48GB", "L40S PCIe"]],
  ["nvidia-l40", [100, 300, 300], 34, 181, ["L40", "L40 48GB", "L40 PCIe"]],
  ["nvidia-l4", [40, 72, 72], 13, 121, ["L4", "L4 24GB", "L4 PCIe"]],
  ["nvidia-t4", [60, 70, 70], 10, 65, ["T4", "T4 16GB", "T4 PCIe"]],
  ["nvidia-rtx-6000-ada", [100, 300, 300], 22, 364, ["RTX 6000 Ada Generation", "RTX 6000 Ada", "RTX6000 Ada"]],
  ["nvidia-v100-sxm2-32gb", [150, 300, 300], 42, 125, ["V100 SXM2 32GB", "V100 32GB SXM2"]],
  ["nvidia-v100-sxm2-16gb", [150, 300, 300], 42, 125, ["V100 SXM2 16GB", "V100 16GB SXM2"]],
  ["nvidia-v100-pcie-32gb", [100, 250, 250], 27, 112, ["V100 PCIe 32GB", "V100 32GB PCIe"]],
  ["nvidia-v100-pcie-16gb", [100, 250, 250], 27, 112, ["V100 PCIe 16GB", "V100 16GB PCIe"]],
];

const UNCHECKED = new Set(["nvidia-gb200", "nvidia-h200-nvl", "nvidia-a40", "nvidia-l4", "nvidia-rtx-6000-ada"]);

/** Boards with published measurements of limits or idle power. */
const MEASURED: Readonly<Record<string, (entry: GpuEntry) => GpuEntry>> = {
  "nvidia-h100-sxm": (entry) => ({
    ...entry,
    minWatts: figure(entry.minWatts.value, "measured", SOURCES.h100SmiLog),
    defaultWatts: figure(entry.defaultWatts.value, "measured", SOURCES.h100SmiLog),
    maxWatts: figure(entry.maxWatts.value, "measured", SOURCES.h100SmiLog),
    idleWatts: figure(entry.idleWatts.value, "measured", SOURCES.h100SmiLog),
  }),
  "nvidia-a100-sxm-80gb": (entry) => ({
    ...entry,
    minWatts: figure(entry.minWatts.value, "measured", SOURCES.a100SmiLog),
    maxWatts: figure(entry.maxWatts.value, "measured", SOURCES.a100SmiLog),
    idleWatts: figure(entry.idleWatts.value, "measured", SOURCES.a100IdleLog),
  }),
  "nvidia-a100-sxm-40gb": (entry) => ({
    ...entry,
    minWatts: figure(entry.minWatts.value, "measured", SOURCES.a100SmiLog),
    maxWatts: figure(entry.maxWatts.value, "measured", SOURCES.a100SmiLog),
  }),
};

/** Memory in GB of the boards that support MIG, from NVIDIA's list. */
const MIG_MEMORY: Readonly<Record<string, number>> = {
  "nvidia-gb200": 186,
  "nvidia-b200": 180,
  "nvidia-h200-sxm": 141,
  "nvidia-h200-nvl": 141,
  "nvidia-h100-sxm": 80,
  "nvidia-h100-pcie": 80,
  "nvidia-h100-nvl": 94,
  "nvidia-a100-sxm-80gb": 80,
  "nvidia-a100-sxm-40gb": 40,
  "nvidia-a100-pcie-80gb": 80,
  "nvidia-a100-pcie-40gb": 40,
  "nvidia-a30": 24,
};

const withMemory = (entry: GpuEntry): GpuEntry => {
  const memoryGB = MIG_MEMORY[entry.key];
  return memoryGB === undefined ? entry : { ...entry, memoryGB };
};

export const NVIDIA_GPUS: readonly GpuEntry[] = boards(
  { vendor: "nvidia", sheet: SOURCES.nvidiaDataSheet, limits: SOURCES.nvidiaLimits, unchecked: UNCHECKED },
  ROWS,
).map((entry) => withMemory(MEASURED[entry.key]?.(entry) ?? entry));

const strongest =
  "the form factor is not named, and the strongest board neither understates the node's power nor caps it too low";

/**
 * A bare "H100" may be a 350 W card or a 700 W module. If a module were treated as the card, it would be capped too low and
 * its rack overfilled. If a card is treated as the module, its power is only overestimated. So a bare name maps to the
 * strongest board.
 */
export const NVIDIA_GPU_PROXIES: readonly Proxy[] = [
  { names: ["H100", "H100 80GB"], standsFor: "nvidia-h100-sxm", because: strongest },
  { names: ["A100", "A100 80GB", "A100 SXM4", "A100 SXM"], standsFor: "nvidia-a100-sxm-80gb", because: strongest },
  { names: ["A100 40GB"], standsFor: "nvidia-a100-sxm-40gb", because: strongest },
  {
    names: ["A100 PCIe"],
    standsFor: "nvidia-a100-pcie-80gb",
    because: "the memory size is not named and the larger board draws more",
  },
  { names: ["V100", "V100 32GB", "V100 SXM2"], standsFor: "nvidia-v100-sxm2-32gb", because: strongest },
  { names: ["V100 16GB"], standsFor: "nvidia-v100-sxm2-16gb", because: strongest },
  {
    names: ["V100 PCIe", "V100S PCIe 32GB", "V100S"],
    standsFor: "nvidia-v100-pcie-32gb",
    because: "it is a V100 card of the same power",
  },
  { names: ["H800"], standsFor: "nvidia-h100-sxm", because: "an H800 is an H100 with slower links" },
  { names: ["H800 PCIe"], standsFor: "nvidia-h100-pcie", because: "an H800 is an H100 with slower links" },
  {
    names: ["A800", "A800 SXM4 80GB"],
    standsFor: "nvidia-a100-sxm-80gb",
    because: "an A800 is an A100 with slower links",
  },
  { names: ["A800 80GB PCIe"], standsFor: "nvidia-a100-pcie-80gb", because: "an A800 is an A100 with slower links" },
  {
    names: ["GH200", "GH200 480GB", "GH200 144G HBM3e"],
    standsFor: "nvidia-h200-sxm",
    because: "the GPU half of a GH200 is a Hopper module",
  },
  { names: ["A10G"], standsFor: "nvidia-a10", because: "an A10G is a cloud variant of the A10" },
];
