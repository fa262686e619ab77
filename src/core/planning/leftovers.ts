import { labels, managedByOperator, type NodePowerProfile } from "../api/index.ts";
import { eligibilityOf } from "../policy/index.ts";
import type { ClusterSnapshot } from "./cluster-snapshot.ts";
import type { PlanningSettings } from "./settings.ts";

type LeftoverSettings = Pick<PlanningSettings, "eligibility" | "labels">;

/** Label keys, and uids of objects, of a node that was deleted or is no longer managed. Newer objects of its name stay. */
export interface Leftovers {
  readonly labels: readonly string[];
  readonly hardware?: string | undefined;
  readonly mirror?: string | undefined;
  readonly twin?: string | undefined;
}

/** Whether the operator wrote this NodePowerProfile. One written by a user is never removed. */
export const isMirror = (profile: NodePowerProfile | undefined): profile is NodePowerProfile =>
  profile?.metadata.labels?.[labels.managedBy] === managedByOperator;

/** Empty while the list of Nodes may be outdated: a Node that is missing there may exist. */
export function leftoversIn(
  snapshot: ClusterSnapshot,
  settings: LeftoverSettings,
  planned: { has(name: string): boolean },
): ReadonlyMap<string, Leftovers> {
  const found = new Map<string, Leftovers>();
  if (!snapshot.nodesCurrent) return found;
  const candidates = new Set<string>();
  for (const { metadata } of snapshot.nodes()) if (!planned.has(metadata.name)) candidates.add(metadata.name);
  for (const name of snapshot.recorded()) if (!planned.has(name)) candidates.add(name);
  for (const name of candidates) {
    const leftovers = leftoversOf(snapshot, name, settings);
    if (leftovers !== undefined) found.set(name, leftovers);
  }
  return found;
}

/** The operator calls it again right before the removal, because the node may be managed again. */
export function leftoversOf(
  snapshot: ClusterSnapshot,
  name: string,
  settings: LeftoverSettings,
): Leftovers | undefined {
  const node = snapshot.node(name);
  if (node !== undefined && eligibilityOf(node, settings.eligibility) !== "unmanaged") return undefined;
  if (node === undefined && !snapshot.isGone(name)) return undefined;
  const profile = snapshot.profile(name);
  const leftovers: Leftovers = {
    labels: Object.values(settings.labels).filter((key) => node?.metadata.labels?.[key] !== undefined),
    hardware: snapshot.hardware(name)?.metadata.uid,
    mirror: isMirror(profile) ? profile.metadata.uid : undefined,
    twin: snapshot.twin(name)?.metadata.uid,
  };
  const { hardware, mirror, twin } = leftovers;
  return leftovers.labels.length > 0 || (hardware ?? mirror ?? twin) !== undefined ? leftovers : undefined;
}
