import { cpuTable } from "./cpu-table.ts";
import type { CpuEntry, Proxy } from "./entry.ts";
import { SOURCES } from "./sources.ts";

const ALTRA = cpuTable(
  {
    vendor: "ampere",
    family: "Ampere Altra",
    keyPrefix: "ampere-altra-",
    threadsPerCore: 1,
    from: ["assumed", SOURCES.ampereLaunch],
    boostFrom: ["vendor", SOURCES.ampereBrief],
    also: (model) => [`Altra ${model}`],
  },
  // The clock is fixed, so base and boost are equal.
  [
    ["Q80-30", 80, 3.0, 3.0, 210],
    ["Q80-28", 80, 2.8, 2.8, 190],
    ["Q80-26", 80, 2.6, 2.6, 175],
    ["Q64-30", 64, 3.0, 3.0, 180],
    ["Q64-26", 64, 2.6, 2.6, 125],
    ["Q64-22", 64, 2.2, 2.2, 95],
    ["Q32-17", 32, 1.7, 1.7, 58],
  ],
);

const ALTRA_UNCHECKED = cpuTable(
  {
    vendor: "ampere",
    family: "Ampere Altra",
    keyPrefix: "ampere-altra-",
    threadsPerCore: 1,
    from: ["assumed", SOURCES.ampereLaunch],
    also: (model) => [`Altra ${model}`],
  },
  [["Q80-33", 80, 3.3, 3.3, 250]],
);

const ALTRA_MAX = cpuTable(
  {
    vendor: "ampere",
    family: "Ampere Altra Max",
    keyPrefix: "ampere-altra-max-",
    threadsPerCore: 1,
    from: ["assumed", SOURCES.ampereLaunch],
    boostFrom: ["vendor", SOURCES.ampereBrief],
    also: (model) => [`Altra Max ${model}`],
  },
  [
    ["M128-30", 128, 3.0, 3.0, 250],
    ["M128-28", 128, 2.8, 2.8, 230],
    ["M128-26", 128, 2.6, 2.6, 190],
    ["M96-30", 96, 3.0, 3.0, 220],
    ["M96-28", 96, 2.8, 2.8, 190],
  ],
);

const GRACE = cpuTable(
  {
    vendor: "nvidia",
    family: "Grace",
    keyPrefix: "nvidia-",
    threadsPerCore: 1,
    from: ["assumed", SOURCES.nvidiaGrace],
    also: () => ["Grace Superchip", "Grace CPU Superchip"],
  },
  [["Grace", 72, 3.1, 3.4, 250]],
);

const GRAVITON = cpuTable(
  {
    vendor: "aws",
    family: "Graviton",
    keyPrefix: "aws-",
    threadsPerCore: 1,
    from: ["assumed", SOURCES.awsGraviton],
    also: (model) => [model.replace("Graviton", "Graviton ")],
  },
  [
    ["Graviton2", 64, 2.5, 2.5, 110],
    ["Graviton3", 64, 2.6, 2.6, 100],
    ["Graviton4", 96, 2.8, 2.8, 130],
  ],
);

export const ARM_CPUS: readonly CpuEntry[] = [...ALTRA, ...ALTRA_UNCHECKED, ...ALTRA_MAX, ...GRACE, ...GRAVITON];

/** /proc/cpuinfo of ARM has no model name, only implementer 0x41 and a part number that several vendors license. */
export const ARM_CPU_PROXIES: readonly Proxy[] = [
  {
    names: ["Neoverse N1", "0x41 0xd0c", "0xd0c"],
    standsFor: "ampere-altra-q80-30",
    because: "the core is a Neoverse N1, which Ampere Altra and Graviton2 share",
  },
  {
    names: ["Neoverse N2", "0x41 0xd49", "0xd49"],
    standsFor: "ampere-altra-max-m128-30",
    because: "the core is a Neoverse N2, whose servers (Cobalt 100, Yitian 710) have 128 cores like this one",
  },
  {
    names: ["Neoverse V1", "0x41 0xd40", "0xd40"],
    standsFor: "aws-graviton3",
    because: "the core is a Neoverse V1, which Graviton3 has",
  },
  {
    names: ["Neoverse V2", "0x41 0xd4f", "0xd4f"],
    standsFor: "nvidia-grace",
    because: "the core is a Neoverse V2, which Grace and Graviton4 share",
  },
  { names: ["Altra"], standsFor: "ampere-altra-q80-30", because: "the name gives no Altra model" },
  { names: ["Altra Max"], standsFor: "ampere-altra-max-m128-30", because: "the name gives no Altra Max model" },
  {
    names: ["Graviton3E"],
    standsFor: "aws-graviton3",
    because: "Graviton3E is a Graviton3 with a higher power budget",
  },
];
