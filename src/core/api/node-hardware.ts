import * as z from "zod";
import {
  atomicList,
  block,
  choiceField,
  decimal,
  flagField,
  integerField,
  objectNameField,
  power,
  setList,
  textField,
  timestampField,
} from "./fields.ts";
import { header } from "./metadata.ts";
import { namedAfterNode, withRules } from "./rules.ts";

const exactnesses = ["exact", "proxy", "generic"] as const;
export type Exactness = (typeof exactnesses)[number];
const hardwareQualities = ["exact", "heuristic", "unavailable"] as const;
export type HardwareQuality = (typeof hardwareQualities)[number];

const warnings = () => atomicList(textField(1024, "One warning."), 64, "Open questions of hardware discovery.");
const quality = (of: string) => choiceField(hardwareQualities, `How well ${of} is known.`);
const frequency = (description: string) => decimal(0, undefined, description);

/** Identity and availability fields, the same for CPU and GPU. */
const device = (name: string) => ({
  rawModel: textField(253, `${name} model as the operating system reports it.`).optional(),
  model: textField(253, `${name} model as the catalogue spells it.`).optional(),
  vendor: textField(63, `${name} vendor, in lower case.`).optional(),
  controlAvailable: flagField(`Whether the agent can cap the ${name}.`).optional(),
  telemetryAvailable: flagField(`Whether the agent can read the ${name}'s power.`).optional(),
  quality: quality(`the ${name}`).optional(),
  warnings: warnings().optional(),
});

const cpu = block("The node's CPUs.", {
  ...device("CPU"),
  sockets: integerField(0, undefined, "Number of CPU packages.").optional(),
  coresPerSocket: integerField(0, undefined, "Physical cores per package.").optional(),
  totalCores: integerField(0, undefined, "Physical cores of all packages.").optional(),
  driverFamily: textField(
    63,
    "Kernel driver that controls power or frequency, for example intel_rapl or amd_pstate.",
  ).optional(),
  capRange: block("The range of caps that the CPU accepts.", {
    type: textField(63, "Scope of the range, for example package.").optional(),
    minWattsPerSocket: power("Lowest cap of one package, in watts.").optional(),
    maxWattsPerSocket: power("Highest cap of one package, in watts.").optional(),
  }).optional(),
  landmarks: block("Reference frequencies of the CPU.", {
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
  present: flagField("Whether the node has any GPU.").optional(),
  count: integerField(0, undefined, "Number of physical GPUs.").optional(),
  capRangePerGpu: block("The range of caps that one GPU accepts.", {
    minWatts: power("Lowest cap, in watts.").optional(),
    maxWatts: power("Highest cap, in watts.").optional(),
    defaultWatts: power("Default cap of the GPU, in watts.").optional(),
  }).optional(),
  currentCapWatts: power("Cap that each GPU enforces now, in watts.").optional(),
  slicing: block("How one GPU can be shared.", {
    supported: flagField("Whether the GPU can be sliced.").optional(),
    modes: setList(textField(63, "One mode."), 16, "Supported modes, for example mig or time-slicing.").optional(),
  }).optional(),
});

const status = block("What the agent discovered.", {
  cpu: cpu.optional(),
  gpu: gpu.optional(),
  memory: block("The node's memory.", {
    totalBytes: integerField(0, undefined, "Installed memory, in bytes.").optional(),
  }).optional(),
  inventoryResolution: block("How the agent matched the hardware with the catalogue.", {
    hardwareCatalogKey: block("Keys of the matched catalogue entries.", {
      cpu: textField(253, "Key of the CPU's entry.").optional(),
      gpu: textField(253, "Key of the GPU's entry.").optional(),
    }).optional(),
    exactness: block("How closely the entries match.", {
      cpu: choiceField(exactnesses, "How closely the CPU's entry matches.").optional(),
      gpu: choiceField(exactnesses, "How closely the GPU's entry matches.").optional(),
    }).optional(),
  }).optional(),
  capabilities: block("What the agent can do on this node.", {
    cpuControl: flagField("Whether the agent can cap the CPUs.").optional(),
    gpuControl: flagField("Whether the agent can cap the GPUs.").optional(),
    cpuTelemetry: flagField("Whether the agent can read CPU power.").optional(),
    gpuTelemetry: flagField("Whether the agent can read GPU power.").optional(),
  }).optional(),
  quality: block("How reliable this information is.", {
    overall: quality("the hardware as a whole").optional(),
    warnings: warnings().optional(),
  }).optional(),
  updatedAt: timestampField("When the agent last ran discovery.").optional(),
});

export const nodeHardwareSchema = withRules(
  z.object({
    ...header("NodeHardware"),
    spec: block("The node that this object describes.", {
      nodeName: objectNameField("Name of the node; it is also the name of this object."),
    }),
    status: status.optional(),
  }),
  namedAfterNode,
);

export type NodeHardware = z.infer<typeof nodeHardwareSchema>;
export type NodeHardwareStatus = z.infer<typeof status>;
export type CpuHardware = z.infer<typeof cpu>;
export type GpuHardware = z.infer<typeof gpu>;
