import { boards } from "./board-table.ts";
import { figure, type GpuEntry, type Proxy } from "./entry.ts";
import { SOURCES } from "./sources.ts";

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
