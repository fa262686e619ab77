import type { Milliseconds } from "../units/index.ts";

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
