import { boards } from "./board-table.ts";
import { cpuTable, idleToFull } from "./cpu-table.ts";
import { type CpuEntry, type CpuFamily, figure, type GpuEntry, type Proxy } from "./entry.ts";
import { INTEL_CPUS_TO_SAPPHIRE_RAPIDS, withoutPlus } from "./intel-cpu-early.ts";
import { SOURCES } from "./sources.ts";

const EMERALD_RAPIDS_CURVE = idleToFull(0.182, "assumed", SOURCES.specPowerFamily);
const GRANITE_RAPIDS_CURVE = idleToFull(0.23, "assumed", SOURCES.specPowerFamily);

const EMERALD_RAPIDS = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Emerald Rapids",
    keyPrefix: "intel-xeon-",
    threadsPerCore: 2,
    from: ["vendor", SOURCES.intelArkCopies],
    boostFrom: ["assumed", SOURCES.intelArkUnchecked],
    curve: EMERALD_RAPIDS_CURVE,
    also: withoutPlus,
  },
  [
    ["Platinum 8592+", 64, 1.9, 3.9, 350],
    ["Platinum 8592V", 64, 2, 3.9, 330],
    ["Platinum 8580", 60, 2, 4, 350],
    ["Platinum 8568Y+", 48, 2.3, 4, 350],
    ["Platinum 8562Y+", 32, 2.8, 4.1, 300],
    ["Platinum 8558", 48, 2.1, 4, 330],
    ["Platinum 8558P", 48, 2.7, 4, 350],
    ["Gold 6548Y+", 32, 2.5, 4.1, 250],
    ["Gold 6542Y", 24, 2.9, 4.1, 250],
    ["Gold 6538Y+", 32, 2.2, 4, 225],
    ["Gold 6530", 32, 2.1, 4, 270],
  ],
);

const EMERALD_RAPIDS_UNCHECKED = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Emerald Rapids",
    keyPrefix: "intel-xeon-",
    threadsPerCore: 2,
    from: ["assumed", SOURCES.intelArkUnchecked],
    curve: EMERALD_RAPIDS_CURVE,
    also: withoutPlus,
  },
  [
    ["Platinum 8593Q", 64, 2.2, 3.9, 385],
    ["Platinum 8581V", 60, 2, 3.9, 270],
    ["Platinum 8570", 56, 2.1, 4, 350],
    ["Platinum 8571N", 52, 2.4, 4, 300],
    ["Platinum 8558U", 48, 2, 4, 300],
    ["Gold 6558Q", 32, 3.2, 4.1, 350],
    ["Gold 6554S", 36, 2.2, 4, 270],
    ["Gold 6548N", 32, 2.8, 4.1, 250],
    ["Gold 6544Y", 16, 3.6, 4.1, 270],
    ["Gold 6538N", 32, 2.1, 4.1, 205],
    ["Gold 6534", 8, 3.9, 4.2, 195],
    ["Gold 6526Y", 16, 2.8, 3.9, 195],
    ["Gold 5520+", 28, 2.2, 4, 205],
    ["Gold 5515+", 8, 3.2, 4.1, 165],
    ["Gold 5512U", 28, 2.1, 3.7, 185],
    ["Silver 4516Y+", 24, 2.2, 3.7, 185],
    ["Silver 4514Y", 16, 2, 3.4, 150],
    ["Silver 4510", 12, 2.4, 4.1, 150],
    ["Silver 4509Y", 8, 2.6, 4.1, 125],
  ],
);

const GRANITE_RAPIDS = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Granite Rapids",
    keyPrefix: "intel-xeon-",
    threadsPerCore: 2,
    from: ["vendor", SOURCES.intelArkCopies],
    boostFrom: ["assumed", SOURCES.intelArkUnchecked],
    curve: GRANITE_RAPIDS_CURVE,
  },
  [
    ["6980P", 128, 2, 3.9, 500],
    ["6979P", 120, 2.1, 3.9, 500],
    ["6972P", 96, 2.4, 3.9, 500],
    ["6960P", 72, 2.7, 3.9, 500],
    ["6952P", 96, 2.1, 3.9, 400],
    ["6760P", 64, 2.2, 3.8, 330],
    ["6747P", 48, 2.7, 3.9, 330],
    ["6740P", 48, 2.1, 3.8, 270],
    ["6737P", 32, 2.9, 4, 270],
    ["6736P", 36, 2, 4.1, 205],
    ["6730P", 32, 2.5, 3.8, 250],
    ["6724P", 16, 3.6, 4.3, 210],
    ["6714P", 8, 4, 4.3, 165],
    ["6530P", 32, 2.3, 4.1, 225],
    ["6527P", 24, 3, 4.2, 255],
    ["6520P", 24, 2.4, 4, 210],
    ["6517P", 16, 3.2, 4.2, 190],
    ["6515P", 16, 2.3, 3.8, 150],
    ["6507P", 8, 3.5, 4.3, 150],
    ["6505P", 12, 2.2, 4.1, 150],
  ],
);

const GRANITE_RAPIDS_UNCHECKED = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Granite Rapids",
    keyPrefix: "intel-xeon-",
    threadsPerCore: 2,
    from: ["assumed", SOURCES.intelArkUnchecked],
    curve: GRANITE_RAPIDS_CURVE,
  },
  [
    ["6788P", 86, 2, 3.8, 350],
    ["6787P", 86, 2, 3.8, 350],
    ["6776P", 64, 2.3, 3.9, 350],
    ["6767P", 64, 2.4, 3.9, 350],
    ["6745P", 32, 3.1, 4.3, 300],
    ["6738P", 32, 2.9, 4.2, 270],
    ["6728P", 24, 2.7, 4.1, 210],
  ],
);

const SIERRA_FOREST = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Sierra Forest",
    keyPrefix: "intel-xeon-",
    threadsPerCore: 1,
    from: ["vendor", SOURCES.intelArkCopies],
    boostFrom: ["assumed", SOURCES.intelArkUnchecked],
  },
  [
    ["6780E", 144, 2.2, 3, 330],
    ["6766E", 144, 1.9, 2.7, 250],
    ["6756E", 128, 1.8, 2.6, 225],
    ["6746E", 112, 2, 2.7, 250],
    ["6740E", 96, 2.4, 3.2, 250],
    ["6710E", 64, 2.4, 3.2, 205],
  ],
);

const XEON_MAX = cpuTable(
  {
    vendor: "intel",
    family: "Xeon Max",
    keyPrefix: "intel-xeon-max-",
    threadsPerCore: 2,
    from: ["assumed", SOURCES.intelArkUnchecked],
    also: (model) => [`Max ${model}`],
  },
  [
    ["9460", 40, 2.2, 3.5, 350],
    ["9480", 56, 1.9, 3.5, 350],
    ["9470", 52, 2, 3.5, 350],
    ["9468", 48, 2.1, 3.5, 350],
    ["9462", 32, 2.7, 3.5, 350],
  ],
);

export const INTEL_CPUS: readonly CpuEntry[] = [
  ...INTEL_CPUS_TO_SAPPHIRE_RAPIDS,
  ...EMERALD_RAPIDS,
  ...EMERALD_RAPIDS_UNCHECKED,
  ...GRANITE_RAPIDS,
  ...GRANITE_RAPIDS_UNCHECKED,
  ...SIERRA_FOREST,
  ...XEON_MAX,
];

/** Workstation models such as the w9-3495X and the W-3375 have numbers like those of servers. */
const WORKSTATION = /^w\d?$/;

/** A P or E at the end of a 65xx, 67xx or 69xx marks a Xeon 6, not the older Gold of the same number. */
export const INTEL_CPU_FAMILIES: readonly CpuFamily[] = [
  {
    family: "Xeon Granite Rapids",
    brand: "xeon",
    model: /^6[579]\d\dp[a-z]*$/,
    representative: "intel-xeon-6960p",
  },
  { family: "Xeon Sierra Forest", brand: "xeon", model: /^6[79]\d\de[a-z]*$/, representative: "intel-xeon-6766e" },
  {
    family: "Xeon Ice Lake",
    brand: "xeon",
    model: /^[8654]3\d\d(?!p)[a-z]*$/,
    representative: "intel-xeon-platinum-8358",
  },
  {
    family: "Xeon Sapphire Rapids",
    brand: "xeon",
    model: /^[86543]4\d\d(?!p[a-z]*$)[a-z]*$/,
    representative: "intel-xeon-platinum-8468",
  },
  {
    family: "Xeon Emerald Rapids",
    brand: "xeon",
    model: /^[86543]5\d\d(?!p[a-z]*$)[a-z]*$/,
    representative: "intel-xeon-platinum-8558",
  },
].map((family) => ({ ...family, except: WORKSTATION }));

/** Names that hypervisors report instead of a model. */
export const INTEL_CPU_PROXIES: readonly Proxy[] = [
  {
    names: ["Xeon Icelake", "Xeon Ice Lake", "Xeon Icelake Server"],
    standsFor: "intel-xeon-platinum-8358",
    because: "only the generation is named, Ice Lake",
  },
  {
    names: ["Xeon SapphireRapids", "Xeon Sapphire Rapids"],
    standsFor: "intel-xeon-platinum-8468",
    because: "only the generation is named, Sapphire Rapids",
  },
  {
    names: ["Xeon EmeraldRapids", "Xeon Emerald Rapids"],
    standsFor: "intel-xeon-platinum-8558",
    because: "only the generation is named, Emerald Rapids",
  },
  {
    names: ["Xeon GraniteRapids", "Xeon Granite Rapids"],
    standsFor: "intel-xeon-6960p",
    because: "only the generation is named, Granite Rapids",
  },
  {
    names: ["Xeon SierraForest", "Xeon Sierra Forest"],
    standsFor: "intel-xeon-6766e",
    because: "only the generation is named, Sierra Forest",
  },
];

/** Intel publishes FP16 throughput only for the Max 1550. */
const DERIVED = new Set(["intel-max-1100", "intel-flex-170"]);

export const INTEL_GPUS: readonly GpuEntry[] = boards(
  { vendor: "intel", sheet: SOURCES.intelGpu, limits: SOURCES.intelGpu, unchecked: DERIVED },
  [
    ["intel-max-1550", [0, 600, 600], 160, 839, ["Data Center GPU Max 1550"]],
    ["intel-max-1100", [0, 300, 300], 100, 355, ["Data Center GPU Max 1100"]],
    ["intel-flex-170", [0, 150, 150], 35, 125, ["Data Center GPU Flex 170"]],
  ],
).map((entry) =>
  DERIVED.has(entry.key) ? { ...entry, perf: figure(entry.perf.value, "assumed", SOURCES.intelGpuDerived) } : entry,
);

export const INTEL_GPU_PROXIES: readonly Proxy[] = [
  {
    names: ["Data Center GPU Max 1450"],
    standsFor: "intel-max-1550",
    because: "it is the same accelerator with slower links",
  },
];
