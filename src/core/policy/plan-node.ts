import type { Profile } from "../api/index.ts";
import { byDensity, type Density } from "../inventory/index.ts";
import type { Instant } from "../units/index.ts";

/** An eligible node as a policy sees it. */
export interface PlanNode {
  readonly name: string;
  readonly density: Density;
  /** Nodes of one family can stand in for each other. */
  readonly family: string;
  /** The profile a person's NodePowerProfile fixes. */
  readonly pin?: Profile | undefined;
  /** It was promoted a short time ago and stays performance until then (PROFILE_MIN_DWELL). A pin is obeyed all the same. */
  readonly heldUntil?: Instant | undefined;
}

export interface PlannedNode {
  readonly name: string;
  readonly profile: Profile;
  /** One sentence for people: why this profile. */
  readonly reason: string;
}

const unknown: Density = { cpu: 0, gpu: 0, total: 0 };

/** Densest first, ties by name, each name once; a density that is no number counts as none. */
export function inDensityOrder(nodes: readonly PlanNode[]): PlanNode[] {
  const sorted = nodes.map((node) => (Number.isNaN(node.density.total) ? { ...node, density: unknown } : node));
  sorted.sort(byDensity);
  const names = new Set<string>();
  return sorted.filter(({ name }) => !names.has(name) && names.add(name));
}

const pinned: Readonly<Record<Profile, string>> = {
  performance: "pinned to performance by its NodePowerProfile",
  eco: "pinned to eco by its NodePowerProfile",
};

export const asPinned = (name: string, pin: Profile): PlannedNode => ({ name, profile: pin, reason: pinned[pin] });
