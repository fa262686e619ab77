import type { Node, NodeHardwareStatus } from "../api/index.ts";
import { builtinCatalogue, type Catalogue } from "./catalogue.ts";
import { type CpuView, cpuView } from "./cpu-view.ts";
import { type GpuView, gpuView } from "./gpu-view.ts";
import { identityOf } from "./identity.ts";
import { GENERIC_KEY } from "./match.ts";
import { cpuNameParts, gpuNameParts } from "./normalise.ts";
import type { Resolution } from "./resolution.ts";

export interface HardwareView {
  readonly cpu: CpuView;
  /** Absent on a CPU-only node. */
  readonly gpu?: GpuView;
  /** Nodes of one family can stand in for each other: the GPU model, on CPU-only nodes the CPU model (POL-07). */
  readonly family: string;
}

export interface HardwareViewOptions {
  readonly catalogue?: Catalogue;
  /** GPU_PRODUCT_LABEL_KEYS. */
  readonly productLabelKeys?: readonly string[];
}

/** What a node is made of, as well as it can be known; complete without any NodeHardware. */
export function hardwareView(
  node: Node,
  discovered: NodeHardwareStatus | undefined,
  { catalogue = builtinCatalogue, productLabelKeys }: HardwareViewOptions = {},
): HardwareView {
  const identity = identityOf(node, discovered, productLabelKeys);
  const cpu = cpuView(identity.cpu, discovered, catalogue);
  const gpu = gpuView(identity.gpu, discovered, catalogue);
  return gpu ? { cpu, gpu, family: gpuFamily(gpu) } : { cpu, family: cpuFamily(cpu) };
}

const slug = (id: string): string => id.replaceAll(" ", "-");
const familyOf = (view: Resolution & { readonly vendor?: string }, kind: string, id: string): string => {
  if (view.key !== GENERIC_KEY) return view.key;
  return id === "" ? `${view.vendor ?? "unknown"}-${kind}` : slug(id);
};
const cpuFamily = (cpu: CpuView): string => familyOf(cpu, "cpu", cpuNameParts(cpu.model ?? "").id);
const gpuFamily = (gpu: GpuView): string => familyOf(gpu, "gpu", gpuNameParts(gpu.model ?? "").id);
