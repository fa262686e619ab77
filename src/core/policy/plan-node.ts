import type { AwaitedPod, Profile } from "../api/index.ts";
import type { NodeRoom } from "../fit/index.ts";
import { byDensity, type Density } from "../inventory/index.ts";
import type { Instant, Milliseconds, Watts } from "../units/index.ts";

/** The input of a policy about one eligible node. */
export interface PlanNode {
  readonly name: string;
  readonly density: Density;
  /** Nodes of one family are interchangeable. */
  readonly family: string;
  /** The profile that a user's NodePowerProfile pins. */
  readonly pin?: Profile | undefined;
  /** The node was promoted recently and stays at performance until this time (PROFILE_MIN_DWELL). Pins take precedence. */
  readonly heldUntil?: Instant | undefined;
  /** The node was promoted, but its agent has not raised the caps yet. Its time in `heldUntil` starts after that. */
  readonly isRaising?: boolean;
  /** The pod that the node is kept free for, or was a short time ago, as published. */
  readonly awaitedBy?: AwaitedPod | undefined;
  /** For fit_aware_v1 only. */
  readonly fit?: NodeFit | undefined;
}

export interface PlannedNode {
  readonly name: string;
  readonly profile: Profile;
  /** Why the node has this profile, one sentence for users. */
  readonly reason: string;
  /** The pod that the node is kept free for, or was a short time ago. */
  readonly awaitedBy?: AwaitedPod;
}

const unknown: Density = { cpu: 0, gpu: 0, total: 0 };

/** Sorts by density, then by name, and removes duplicates. An invalid density counts as 0. */
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

export const asHeld = (until: Instant): string =>
  `promoted less than PROFILE_MIN_DWELL ago: performance until ${new Date(until).toISOString()}`;

export const asPinned = (name: string, pin: Profile): PlannedNode => ({ name, profile: pin, reason: pinned[pin] });

/** What fit_aware_v1 knows about a node besides a `PlanNode`. Its labels are those that the node has at performance. */
export interface NodeFit extends NodeRoom {
  /** The node publishes performance now. */
  readonly performance: boolean;
  /** Watts that the caps of performance allow beyond the eco caps. */
  readonly liftedWatts: { readonly cpu: Watts; readonly gpu: Watts };
}

/** `rule_swap_v1` is for debugging: it forces transitions. */
export const policyTypes = ["static_partition", "queue_aware_v1", "fit_aware_v1", "rule_swap_v1"] as const;
export type PolicyType = (typeof policyTypes)[number];

/** Validated when the configuration is read. A policy still returns a defined plan for any values. */
export interface PolicySettings {
  readonly type: PolicyType;
  /** The share of nodes that static_partition keeps at performance. */
  readonly staticHpFrac: number;
  readonly queue: QueueSettings;
  /** The quantile of arriving performance pods that fit_aware_v1 keeps room for, 0 to 1. */
  readonly fitReserve: number;
  /** The duration of a phase of rule_swap_v1. */
  readonly reconcileInterval: Milliseconds;
}

export interface QueueSettings {
  /** The share of nodes that are kept at performance for any queue. */
  readonly hpBaseFrac: number;
  readonly hpMin: number;
  readonly hpMax: number;
  /** The expected number of performance pods per performance node. */
  readonly perfPerHpNode: number;
}
