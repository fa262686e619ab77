import { probeConfig } from "../../src/programs/agent/config.ts";
import { HERE, hereOnly, probed, probedWithBrokenBoard, THERE } from "./agent-on-host.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const text = { ...hereOnly, JSON: "false" };
const inText = {
  beside: text,
  observe: probed,
  byDefault: { heading: "Power caps, and what 60 % of a CPU's and 60 % of a GPU's maximum would set" },
};
const inJson = {
  beside: hereOnly,
  observe: probed,
  byDefault: {
    cpu: "Intel(R) Xeon(R) Platinum 8480+, intel-xeon-platinum-8480plus (exact)",
    wouldSet: ["rapl 210 W", "rapl 210 W"],
    lowest: 1_500_000,
    nvml: "nothing",
  },
};

const table: VariableTable = {
  HARDWARE_CATALOG_PATH: {
    ...inJson,
    value: `${HERE}/catalogue.yaml`,
    beside: { ...hereOnly, HOST_PROC_ROOT: `${HERE}/vm/proc` },
    byDefault: { cpu: "Our Chip 7, generic (generic)" },
    changed: { cpu: "Our Chip 7, our-vm (exact)" },
  },
  HOST_SYS_ROOT: { ...inJson, value: `${HERE}/amd/sys`, changed: { wouldSet: ["amdgpu 450 W"] } },
  HOST_PROC_ROOT: {
    ...inJson,
    value: `${THERE}/proc`,
    changed: { cpu: "AMD EPYC 9654 96-Core Processor, amd-epyc-9654 (exact)" },
  },
  NVML_LIBRARY: {
    ...inJson,
    value: `${THERE}/libnvidia-ml.so`,
    changed: { nvml: `NVML library ${THERE}/libnvidia-ml.so` },
  },
  STATE_DIR: {
    value: `${THERE}/state`,
    beside: hereOnly,
    observe: probedWithBrokenBoard,
    byDefault: "ended by it",
    changed: "NVML is not used",
  },
  DVFS_MIN_FREQ_KHZ: { ...inJson, value: "2000000", changed: { lowest: 2_000_000 } },
  JSON: { ...inText, value: "true", changed: inJson.byDefault },
  CPU_PCT: [
    { ...inJson, value: "40", changed: { wouldSet: ["rapl 140 W", "rapl 140 W"] } },
    {
      ...inText,
      value: "40",
      changed: { heading: "Power caps, and what 40 % of a CPU's and 60 % of a GPU's maximum would set" },
    },
  ],
  GPU_PCT: [
    {
      ...inJson,
      value: "40",
      beside: { ...hereOnly, HOST_SYS_ROOT: `${HERE}/amd/sys` },
      byDefault: { wouldSet: ["amdgpu 450 W"] },
      changed: { wouldSet: ["amdgpu 300 W"] },
    },
    {
      ...inText,
      value: "40",
      changed: { heading: "Power caps, and what 60 % of a CPU's and 40 % of a GPU's maximum would set" },
    },
  ],
};

describeVariables("agent probe", probeConfig, table);
