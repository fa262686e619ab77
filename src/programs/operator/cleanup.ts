import { labels, managedByOperator, type NodePowerProfile } from "../../core/api/index.ts";
import { eligibilityOf } from "../../core/policy/index.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { OperatorSettings } from "./settings.ts";

/** What is left of a node that is gone or no longer managed. Objects are named by uid: what came after them stays. */
export interface Leftovers {
  readonly labels: readonly string[];
  readonly hardware?: string | undefined;
  readonly mirror?: string | undefined;
  readonly twin?: string | undefined;
}

/** A person's NodePowerProfile is never ours to remove. */
export const isMirror = (profile: NodePowerProfile | undefined): profile is NodePowerProfile =>
  profile?.metadata.labels?.[labels.managedBy] === managedByOperator;

/** Nothing while the nodes are not surely known: a node that is not in an old list may well be there. */
export function leftoversIn(
  view: ClusterView,
  settings: OperatorSettings,
  managed: { has(name: string): boolean },
): ReadonlyMap<string, Leftovers> {
  const found = new Map<string, Leftovers>();
  if (!view.nodesCurrent) return found;
  const candidates = new Set<string>();
  for (const { metadata } of view.nodes()) if (!managed.has(metadata.name)) candidates.add(metadata.name);
  for (const name of view.recorded()) if (!managed.has(name)) candidates.add(name);
  for (const name of candidates) {
    const left = leftoversOf(view, name, settings);
    if (left !== undefined) found.set(name, left);
  }
  return found;
}

/** Asked again right before it is removed: the node may be managed again. */
export function leftoversOf(view: ClusterView, name: string, settings: OperatorSettings): Leftovers | undefined {
  const node = view.node(name);
  if (node !== undefined && eligibilityOf(node, settings.eligibility) !== "unmanaged") return undefined;
  if (node === undefined && !view.isGone(name)) return undefined;
  const ours = [settings.labels.powerProfile, settings.labels.draining];
  const profile = view.profile(name);
  const left: Leftovers = {
    labels: ours.filter((key) => node?.metadata.labels?.[key] !== undefined),
    hardware: view.hardware(name)?.metadata.uid,
    mirror: isMirror(profile) ? profile.metadata.uid : undefined,
    twin: view.twin(name)?.metadata.uid,
  };
  const { hardware, mirror, twin } = left;
  return left.labels.length > 0 || (hardware ?? mirror ?? twin) !== undefined ? left : undefined;
}
