import type { NodeHardware } from "../api/index.ts";
import type { QueuedPools } from "../demand/index.ts";
import { densityOf, hardwareView } from "../inventory/index.ts";
import { eligibilityOf, pinFrom, profileCaps } from "../policy/index.ts";
import { nodePowerModelOf } from "../power/index.ts";
import { idleAtWall } from "../twin/index.ts";
import { memoize } from "../units/index.ts";
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
  { snapshot, settings, now }: PlanningInput,
  queued: QueuedPools,
): ManagedNode | undefined {
  const { name } = node.metadata;
  const eligibility = eligibilityOf(node, settings.eligibility);
  if (eligibility === "unmanaged") return undefined;
  const pin = pinFrom(snapshot.profile(name), now);
  const shape = shapeOf(node, snapshot.hardware(name), settings, queued);
  const caps = pin === undefined ? shape.caps : profileCaps(shape.limits, pin, shape.hardware);
  return { name, node, eligibility, shape, pin, caps };
}

/** Memoized, because matching hardware with the catalogue takes most of the time of a pass. */
const shapeOf = memoize(computeShape);

function computeShape(
  node: SnapshotNode,
  discovered: NodeHardware | undefined,
  settings: PlanningSettings,
  queued: QueuedPools,
): NodeShape {
  const { gpuProductLabels: productLabelKeys, catalogue } = settings;
  const hardware = hardwareView(node, discovered?.status, { productLabelKeys, catalogue });
  const power = nodePowerModelOf(hardware);
  const limits = settings.limitsOf(hardware, queued);
  return {
    hardware,
    power,
    density: densityOf(hardware),
    limits,
    caps: profileCaps(limits, undefined, hardware),
    idle: idleAtWall(power),
  };
}
