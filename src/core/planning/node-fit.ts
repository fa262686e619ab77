import { allocatableOf, podRequests } from "../demand/index.ts";
import type { NodeFit } from "../policy/index.ts";
import { cappedPower, effectiveCaps } from "../twin/index.ts";
import { isPositive, watts } from "../units/index.ts";
import type { ManagedNode } from "./node-plan.ts";
import type { PlanningInput } from "./planning-input.ts";

/** What fit_aware_v1 needs to know about a node. A node without a NodeTwin starts at performance. */
export function nodeFitOf(managed: ManagedNode, { snapshot, settings }: PlanningInput): NodeFit {
  const { metadata, spec } = managed.node;
  const { powerProfile, draining } = settings.labels;
  const allocatable = allocatableOf(managed.node);
  return {
    labels: { ...metadata.labels, [powerProfile]: "performance", [draining]: "false" },
    taints: spec?.taints ?? [],
    allocatable,
    gpus: podRequests(allocatable).gpus,
    performance: (snapshot.twin(managed.name)?.spec.profile ?? "performance") === "performance",
    liftedWatts: liftedWattsOf(managed),
  };
}

function liftedWattsOf({ shape: { hardware }, caps: { performance, eco } }: ManagedNode): NodeFit["liftedWatts"] {
  const high = cappedPower(hardware, effectiveCaps(performance, hardware));
  const low = cappedPower(hardware, effectiveCaps(eco, hardware));
  const between = (device: "cpu" | "gpu") => {
    const lifted = (high?.[device] ?? 0) - (low?.[device] ?? 0);
    return watts(isPositive(lifted) ? lifted : 0);
  };
  return { cpu: between("cpu"), gpu: between("gpu") };
}
