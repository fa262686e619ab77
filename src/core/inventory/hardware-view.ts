import type { Node, NodeHardwareStatus } from "../api/index.ts";
import { builtinCatalogue, type Catalogue } from "./catalogue.ts";
import { type CpuView, cpuView } from "./cpu-view.ts";
import { type GpuView, gpuView } from "./gpu-view.ts";
import { identityOf } from "./identity.ts";
import { GENERIC_KEY } from "./match.ts";
import { cpuNameParts, gpuNameParts, type NameParts } from "./normalise.ts";
import type { Resolution } from "./resolution.ts";

export interface HardwareView {
  readonly cpu: CpuView;
  /** Absent on a CPU-only node. */
  readonly gpu?: GpuView;
  /** Nodes of one family are interchangeable: the GPU model, or the CPU model on CPU-only nodes (POL-07). */
  readonly family: string;
}

export interface HardwareViewOptions {
  readonly catalogue?: Catalogue;
  /** GPU_PRODUCT_LABEL_KEYS. */
  readonly productLabelKeys?: readonly string[];
}

/** Combines all information about a node's hardware. The result is complete even without a NodeHardware object. */
export function hardwareView(
  node: Node,
  discovered: NodeHardwareStatus | undefined,
  { catalogue = builtinCatalogue, productLabelKeys }: HardwareViewOptions = {},
): HardwareView {
  const identity = identityOf(node, discovered, productLabelKeys);
  const cpu = cpuView(identity.cpu, discovered, catalogue);
  const gpu = gpuView(identity.gpu, discovered, catalogue);
  return gpu
    ? { cpu, gpu, family: familyOf(gpu, "gpu", gpuNameParts) }
    : { cpu, family: familyOf(cpu, "cpu", cpuNameParts) };
}

const familyOf = (
  { key, model, vendor }: Resolution & { readonly vendor?: string },
  kind: string,
  partsOf: (name: string) => NameParts,
): string => {
  if (key !== GENERIC_KEY) return key;
  const { id } = partsOf(model ?? "");
  return id === "" ? `${vendor ?? "unknown"}-${kind}` : id.replaceAll(" ", "-");
};
