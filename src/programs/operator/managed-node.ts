import type { NodeHardware, NodePowerProfile, NodePowerProfileSpec } from "../../core/api/index.ts";
import { type Density, densityOf, type HardwareView, hardwareView } from "../../core/inventory/index.ts";
import type { Eligibility, ProfileCaps } from "../../core/policy/index.ts";
import type { ClusterNode } from "./cluster-view.ts";
import type { OperatorSettings } from "./settings.ts";

/** What follows from a node's hardware alone. */
export interface NodeShape {
  readonly view: HardwareView;
  readonly density: Density;
  readonly caps: ProfileCaps;
}

/** A node that is ours to manage, with what follows from its own objects. */
export interface ManagedNode {
  readonly name: string;
  readonly node: ClusterNode;
  readonly hardware: NodeHardware | undefined;
  readonly profile: NodePowerProfile | undefined;
  readonly eligibility: Eligibility;
  readonly shape: NodeShape;
  readonly pin: NodePowerProfileSpec | undefined;
}

export function shapeOf(node: ClusterNode, hardware: NodeHardware | undefined, settings: OperatorSettings): NodeShape {
  const { gpuProductLabels: productLabelKeys, catalogue } = settings;
  const view = hardwareView(node, hardware?.status, { productLabelKeys, catalogue });
  return { view, density: densityOf(view), caps: settings.capsOf(view) };
}
