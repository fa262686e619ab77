import type { NodeHardware } from "../api/index.ts";
import type { QueuedPools } from "../demand/index.ts";
import { densityOf, hardwareView } from "../inventory/index.ts";
import { eligibilityOf, pinFrom, profileCaps } from "../policy/index.ts";
import { nodePowerModelOf } from "../power/index.ts";
import { idleAtWall } from "../twin/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";
import type { ManagedNode, NodeShape } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";
import type { PlanningSettings } from "./settings.ts";

export function managedNodesIn(input: PlanningInput, queued: QueuedPools): ManagedNode[] {
  const managed: ManagedNode[] = [];
  for (const node of input.snapshot.nodes()) {
    const found = managedNodeOf(node, input, queued);
    if (found !== undefined) managed.push(found);
  }
  return managed;
}

function managedNodeOf(
  node: SnapshotNode,
  { snapshot, settings, cache, now }: PlanningInput,
  queued: QueuedPools,
): ManagedNode | undefined {
  const { name } = node.metadata;
  const hardware = snapshot.hardware(name);
  const profile = snapshot.profile(name);
  const last = cache.find(name)?.managed;
  const isSameHardware = last?.node === node && last.hardware === hardware && last.shape.queued === queued;
  // A pin ends at its time, without a change of any object.
  const pin = pinFrom(profile, now);
  if (isSameHardware && last.profile === profile && last.pin === pin) return last;
  const eligibility = eligibilityOf(node, settings.eligibility);
  if (eligibility === "unmanaged") return undefined;
  const shape = isSameHardware ? last.shape : shapeOf(node, hardware, settings, queued);
  const caps = profileCaps(shape.limits, pin, shape.hardware);
  return (cache.of(name).managed = { name, node, hardware, profile, eligibility, shape, pin, caps });
}

function shapeOf(
  node: SnapshotNode,
  discovered: NodeHardware | undefined,
  settings: PlanningSettings,
  queued: QueuedPools,
): NodeShape {
  const { gpuProductLabels: productLabelKeys, catalogue } = settings;
  const hardware = hardwareView(node, discovered?.status, { productLabelKeys, catalogue });
  const power = nodePowerModelOf(hardware);
  return {
    hardware,
    power,
    density: densityOf(hardware),
    limits: settings.limitsOf(hardware, queued),
    queued,
    idle: idleAtWall(power),
  };
}
