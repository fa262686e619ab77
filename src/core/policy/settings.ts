import type { Milliseconds } from "../units/index.ts";

/** `rule_swap_v1` is for debugging: it makes transitions happen. */
export const policyTypes = ["static_partition", "queue_aware_v1", "rule_swap_v1"] as const;
export type PolicyType = (typeof policyTypes)[number];

/** Checked where configuration is read; a policy still gives a defined plan for anything. */
export interface PolicySettings {
  readonly type: PolicyType;
  /** The share of nodes static_partition keeps at performance. */
  readonly staticHpFrac: number;
  readonly queue: QueueSettings;
  /** How long a phase of rule_swap_v1 lasts. */
  readonly reconcileInterval: Milliseconds;
}

export interface QueueSettings {
  /** The share of nodes kept at performance whatever the queue. */
  readonly hpBaseFrac: number;
  readonly hpMin: number;
  readonly hpMax: number;
  /** How many performance pods one performance node is expected to hold. */
  readonly perfPerHpNode: number;
}
