import type { NodeHardware } from "../api/index.ts";
import { densityOf, hardwareView } from "../inventory/index.ts";
import { eligibilityOf, pinFrom } from "../policy/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { ManagedNode, NodeShape } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { PlanningSettings } from "./settings.ts";

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
