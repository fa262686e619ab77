import { cpuTable, idleToFull } from "./cpu-table.ts";
import type { CpuEntry, CpuFamily, LoadCurve, Proxy } from "./entry.ts";
import { SOURCES } from "./sources.ts";

/** The P of a 9654P only marks it as single-socket; its values are those of the 9654. */
const singleSocket = (...models: string[]) => {
  const sold = new Set(models);
  return (model: string): string[] => (sold.has(model) ? [`${model}P`] : []);
};

/** 94.6 W idle of 408 W, ASUS RS700A-E11-RS4U. */
const EPYC_7763_CURVE = idleToFull(0.232, "measured", SOURCES.specPower);
/** 128 W idle of 817 W, ASUS RS720A-E12-RS12. */
const EPYC_9654_CURVE = idleToFull(0.157, "measured", SOURCES.specPower);

const withCurve =
  (curves: Readonly<Record<string, LoadCurve>>) =>
  (entry: CpuEntry): CpuEntry => {
    const curve = curves[entry.key];
    return curve ? { ...entry, curve } : entry;
  };

const EPYC_7003 = cpuTable(
  {
    vendor: "amd",
    family: "EPYC 7003",
    keyPrefix: "amd-epyc-",
    threadsPerCore: 2,
    from: ["vendor", SOURCES.amdProductExport],
    curve: idleToFull(0.233, "assumed", SOURCES.specPowerFamily),
    also: singleSocket("7713", "7663", "7643", "7543", "7443", "7313"),
  },
  [
    ["7773X", 64, 2.2, 3.5, 280, 225, 280],
    ["7763", 64, 2.45, 3.5, 280, 225, 280],
    ["7713", 64, 2.0, 3.675, 225, 225, 240],
    ["7663", 56, 2.0, 3.5, 240, 225, 240],
    ["7643", 48, 2.3, 3.6, 225, 225, 240],
    ["7573X", 32, 2.8, 3.6, 280, 225, 280],
    ["75F3", 32, 2.95, 4.0, 280, 225, 280],
    ["7543", 32, 2.8, 3.7, 225, 225, 240],
    ["7513", 32, 2.6, 3.65, 200, 165, 200],
    ["7473X", 24, 2.8, 3.7, 240, 225, 280],
    ["7453", 28, 2.75, 3.45, 225, 225, 240],
    ["74F3", 24, 3.2, 4.0, 240, 225, 240],
    ["7443", 24, 2.85, 4.0, 200, 165, 200],
    ["7413", 24, 2.65, 3.6, 180, 165, 200],
    ["73F3", 16, 3.5, 4.0, 240, 225, 240],
    ["7373X", 16, 3.05, 3.8, 240, 225, 280],
    ["7343", 16, 3.2, 3.9, 190, 165, 200],
    ["7313", 16, 3.0, 3.7, 155, 155, 180],
    ["72F3", 8, 3.7, 4.1, 180, 165, 200],
  ],
);

const EPYC_9004 = cpuTable(
  {
    vendor: "amd",
    family: "EPYC 9004",
    keyPrefix: "amd-epyc-",
    threadsPerCore: 2,
    from: ["vendor", SOURCES.amdEpyc9004],
    boostFrom: ["assumed", SOURCES.amdEpyc9004Sheet],
    also: singleSocket("9654", "9554", "9454", "9354"),
  },
  [
    ["9754", 128, 2.25, 3.1, 360, 320, 400],
    ["9734", 112, 2.2, 3.0, 340, 320, 400],
    ["9684X", 96, 2.55, 3.7, 400, 320, 400],
    ["9654", 96, 2.4, 3.7, 360, 320, 400],
    ["9634", 84, 2.25, 3.7, 290, 240, 300],
    ["9554", 64, 3.1, 3.75, 360, 320, 400],
    ["9534", 64, 2.45, 3.7, 280, 240, 300],
    ["9474F", 48, 3.6, 4.1, 360, 320, 400],
    ["9454", 48, 2.75, 3.8, 290, 240, 300],
    ["9384X", 32, 3.1, 3.9, 320, 320, 400],
    ["9374F", 32, 3.85, 4.3, 320, 320, 400],
    ["9354", 32, 3.25, 3.8, 280, 240, 300],
    ["9334", 32, 2.7, 3.9, 210, 200, 240],
    ["9254", 24, 2.9, 4.15, 200, 200, 240],
    ["9224", 24, 2.5, 3.7, 200, 200, 240],
    ["9174F", 16, 4.1, 4.4, 320, 320, 400],
    ["9124", 16, 3.0, 3.7, 200, 200, 240],
  ],
);

const EPYC_9004_UNCHECKED = cpuTable(
  {
    vendor: "amd",
    family: "EPYC 9004",
    keyPrefix: "amd-epyc-",
    threadsPerCore: 2,
    from: ["assumed", SOURCES.amdEpyc9004Sheet],
  },
  [
    ["9274F", 24, 4.05, 4.3, 320, 320, 400],
    ["9184X", 16, 3.55, 4.2, 320, 320, 400],
  ],
);

const EPYC_9005 = cpuTable(
  {
    vendor: "amd",
    family: "EPYC 9005",
    keyPrefix: "amd-epyc-",
    threadsPerCore: 2,
    from: ["vendor", SOURCES.amdEpyc9005],
    boostFrom: ["assumed", SOURCES.amdEpyc9005Sheet],
    also: singleSocket("9655", "9555", "9455", "9355"),
  },
  [
    ["9965", 192, 2.25, 3.7, 500, 450, 500],
    ["9845", 160, 2.1, 3.7, 390, 320, 400],
    ["9825", 144, 2.2, 3.7, 390, 320, 400],
    ["9755", 128, 2.7, 4.1, 500, 450, 500],
    ["9745", 128, 2.4, 3.7, 400, 320, 400],
    ["9655", 96, 2.6, 4.5, 400, 320, 400],
    ["9645", 96, 2.3, 3.7, 320, 320, 400],
    ["9565", 72, 3.15, 4.3, 400, 320, 400],
    ["9575F", 64, 3.3, 5.0, 400, 320, 400],
    ["9555", 64, 3.2, 4.4, 360, 320, 400],
    ["9535", 64, 2.4, 4.3, 300, 240, 300],
    ["9475F", 48, 3.65, 4.8, 400, 320, 400],
    ["9455", 48, 3.15, 4.4, 300, 240, 300],
    ["9365", 36, 3.4, 4.3, 300, 240, 300],
    ["9375F", 32, 3.8, 4.8, 320, 320, 400],
    ["9355", 32, 3.55, 4.4, 280, 240, 300],
    ["9335", 32, 3.0, 4.4, 210, 200, 240],
    ["9275F", 24, 4.1, 4.8, 320, 320, 400],
    ["9255", 24, 3.2, 4.3, 200, 200, 240],
    ["9175F", 16, 4.2, 5.0, 320, 320, 400],
    ["9135", 16, 3.65, 4.3, 200, 200, 240],
    ["9115", 16, 2.6, 4.1, 125, 120, 155],
    ["9015", 8, 3.6, 4.1, 125, 120, 155],
  ],
);

export const AMD_CPUS: readonly CpuEntry[] = [...EPYC_7003, ...EPYC_9004, ...EPYC_9004_UNCHECKED, ...EPYC_9005].map(
  withCurve({ "amd-epyc-7763": EPYC_7763_CURVE, "amd-epyc-9654": EPYC_9654_CURVE }),
);

/** The last digit is the generation. Cloud models have a letter in the middle (7R13, 9R14, 9B45). */
export const AMD_CPU_FAMILIES: readonly CpuFamily[] = [
  { family: "EPYC 7003", brand: "epyc", model: /^7[0-9a-z]{2}3[a-z]*$/, representative: "amd-epyc-7713" },
  { family: "EPYC 9004", brand: "epyc", model: /^9[0-9a-z]\d4[a-z]*$/, representative: "amd-epyc-9654" },
  { family: "EPYC 9005", brand: "epyc", model: /^9[0-9a-z]\d5[a-z]*$/, representative: "amd-epyc-9655" },
];

export const AMD_CPU_PROXIES: readonly Proxy[] = [
  {
    names: ["EPYC Milan", "EPYC Milan v2"],
    standsFor: "amd-epyc-7713",
    because: "a virtual machine reports only the generation, EPYC 7003",
  },
  {
    names: ["EPYC Genoa", "EPYC Genoa v2"],
    standsFor: "amd-epyc-9654",
    because: "a virtual machine reports only the generation, EPYC 9004",
  },
  {
    names: ["EPYC 9V33X"],
    standsFor: "amd-epyc-9684x",
    because: "it is the Genoa-X of Azure, with 96 cores and the large cache",
  },
  {
    names: ["EPYC 7V73X"],
    standsFor: "amd-epyc-7773x",
    because: "it is the Milan-X of Azure, with 64 cores and the large cache",
  },
  { names: ["EPYC Bergamo"], standsFor: "amd-epyc-9754", because: "only the code name of the EPYC 97x4 is given" },
  {
    names: ["EPYC Turin"],
    standsFor: "amd-epyc-9655",
    because: "a virtual machine reports only the generation, EPYC 9005",
  },
];
