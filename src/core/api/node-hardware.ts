import * as z from "zod";
import {
  atomicList,
  block,
  choice,
  decimal,
  flag,
  objectName,
  power,
  setList,
  text,
  timestamp,
  integerField,
} from "./fields.ts";
import { header } from "./metadata.ts";
import { namedAfterNode, withRules } from "./rules.ts";

export const exactnesses = ["exact", "proxy", "generic"] as const;
export type Exactness = (typeof exactnesses)[number];
export const hardwareQualities = ["exact", "heuristic", "unavailable"] as const;
export type HardwareQuality = (typeof hardwareQualities)[number];

const warnings = () => atomicList(text(1024, "One warning."), 64, "What discovery could not settle.");
const quality = (of: string) => choice(hardwareQualities, `How well ${of} is known.`);
const frequency = (description: string) => decimal(0, undefined, description);

/** Identity and availability, which CPU and GPU report alike. */
const device = (name: string) => ({
  rawModel: text(253, `${name} model as the system spells it.`).optional(),
  model: text(253, `${name} model in the catalogue's spelling.`).optional(),
  vendor: text(63, `${name} vendor, in lower case.`).optional(),
  controlAvailable: flag(`Whether the agent can cap the ${name}.`).optional(),
  telemetryAvailable: flag(`Whether the agent can read the ${name}'s power.`).optional(),
  quality: quality(`the ${name}`).optional(),
  warnings: warnings().optional(),
});

const cpu = block("The node's CPUs.", {
  ...device("CPU"),
  sockets: integerField(0, undefined, "Number of CPU packages.").optional(),
  coresPerSocket: integerField(0, undefined, "Physical cores of one package.").optional(),
  totalCores: integerField(0, undefined, "Physical cores of all packages.").optional(),
  driverFamily: text(
    63,
    "Kernel driver that controls power or frequency, for example intel_rapl or amd_pstate.",
  ).optional(),
  capRange: block("The caps the CPU accepts.", {
    type: text(63, "What the range is about, for example package.").optional(),
    minWattsPerSocket: power("Lowest cap of one package, in watts.").optional(),
    maxWattsPerSocket: power("Highest cap of one package, in watts.").optional(),
  }).optional(),
  landmarks: block("Frequencies that matter for power.", {
    minFreqMHz: frequency("Lowest frequency, in megahertz.").optional(),
    nominalFreqMHz: frequency("Base frequency, in megahertz.").optional(),
    maxBoostMHz: frequency("Highest boost frequency, in megahertz.").optional(),
    lowestNonlinearFreqMHz: frequency(
      "Frequency below which power no longer falls in proportion, in megahertz.",
    ).optional(),
  }).optional(),
});

const gpu = block("The node's GPUs.", {
  ...device("GPU"),
  present: flag("Whether the node has any GPU.").optional(),
  count: integerField(0, undefined, "Number of physical GPUs.").optional(),
  capRangePerGpu: block("The caps one GPU accepts.", {
    minWatts: power("Lowest cap, in watts.").optional(),
    maxWatts: power("Highest cap, in watts.").optional(),
    defaultWatts: power("Cap the GPU starts with, in watts.").optional(),
  }).optional(),
  currentCapWatts: power("Cap in force on each GPU, in watts.").optional(),
  slicing: block("How one GPU can be shared.", {
    supported: flag("Whether the GPU can be sliced.").optional(),
    modes: setList(text(63, "One mode."), 16, "Ways to slice it, for example mig or time-slicing.").optional(),
  }).optional(),
});

const status = block("What the agent found.", {
  cpu: cpu.optional(),
  gpu: gpu.optional(),
  memory: block("The node's memory.", {
    totalBytes: integerField(0, undefined, "Installed memory, in bytes.").optional(),
  }).optional(),
  inventoryResolution: block("How the hardware was matched with the catalogue.", {
    hardwareCatalogKey: block("Catalogue entries used.", {
      cpu: text(253, "Entry of the CPU.").optional(),
      gpu: text(253, "Entry of the GPU.").optional(),
    }).optional(),
    exactness: block("How close those entries are.", {
      cpu: choice(exactnesses, "How close the CPU's entry is.").optional(),
      gpu: choice(exactnesses, "How close the GPU's entry is.").optional(),
    }).optional(),
  }).optional(),
  capabilities: block("What the agent can do on this node.", {
    cpuControl: flag("Whether CPU power can be controlled.").optional(),
    gpuControl: flag("Whether GPU power can be controlled.").optional(),
    cpuTelemetry: flag("Whether CPU power can be read.").optional(),
    gpuTelemetry: flag("Whether GPU power can be read.").optional(),
  }).optional(),
  quality: block("How far these facts can be trusted.", {
    overall: quality("the hardware as a whole").optional(),
    warnings: warnings().optional(),
  }).optional(),
  updatedAt: timestamp("When the agent last looked.").optional(),
});

export const nodeHardwareSchema = withRules(
  z.object({
    ...header("NodeHardware"),
    spec: block("Which node this describes.", {
      nodeName: objectName("Name of the node this is about; it is also the object's name."),
    }),
    status: status.optional(),
  }),
  namedAfterNode,
);

export type NodeHardware = z.infer<typeof nodeHardwareSchema>;
export type NodeHardwareStatus = z.infer<typeof status>;
export type CpuHardware = z.infer<typeof cpu>;
export type GpuHardware = z.infer<typeof gpu>;
