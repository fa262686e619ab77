import type { NodeHardware, NodePowerProfile, NodePowerProfileSpec } from "../api/index.ts";
import { type Density, densityOf, type HardwareView, hardwareView } from "../inventory/index.ts";
import { type Eligibility, eligibilityOf, type ProfileCaps, pinFrom } from "../policy/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { PlanningSettings } from "./settings.ts";

/** Values derived from a node's hardware. */
export interface NodeShape {
  readonly hardware: HardwareView;
  readonly density: Density;
  readonly caps: ProfileCaps;
}

/** A node that Joulie manages, and the values derived from its own objects. */
export interface ManagedNode {
  readonly name: string;
  readonly node: SnapshotNode;
  readonly hardware: NodeHardware | undefined;
  readonly profile: NodePowerProfile | undefined;
  readonly eligibility: Eligibility;
  readonly shape: NodeShape;
  readonly pin: NodePowerProfileSpec | undefined;
}

export function managedNodesIn({ snapshot, settings, cache }: PlanningInput): ManagedNode[] {
  const managed: ManagedNode[] = [];
  for (const node of snapshot.nodes()) {
    const { name } = node.metadata;
    const hardware = snapshot.hardware(name);
    const profile = snapshot.profile(name);
    const found = cache.managed.get(name, [node, hardware, profile, settings], () => {
      const eligibility = eligibilityOf(node, settings.eligibility);
      if (eligibility === "unmanaged") return undefined;
      const shape = cache.shapes.get(name, [node, hardware, settings], () => shapeOf(node, hardware, settings));
      return { name, node, hardware, profile, eligibility, shape, pin: pinFrom(profile) };
    });
    if (found !== undefined) managed.push(found);
  }
  return managed;
}

function shapeOf(node: SnapshotNode, discovered: NodeHardware | undefined, settings: PlanningSettings): NodeShape {
  const { gpuProductLabels: productLabelKeys, catalogue } = settings;
  const hardware = hardwareView(node, discovered?.status, { productLabelKeys, catalogue });
  return { hardware, density: densityOf(hardware), caps: settings.capsOf(hardware) };
}
