import type { Catalogue } from "../inventory/index.ts";
import type { EligibilitySettings, GuardOptions, LimitsOf, PolicySettings } from "../policy/index.ts";
import type { SleepSettings } from "../sleep/index.ts";
import type { PowerSourceMode, TwinModel } from "../twin/index.ts";
import type { Milliseconds } from "../units/index.ts";

export interface PlanningSettings {
  readonly eligibility: EligibilitySettings;
  readonly policy: PolicySettings;
  /** The minimum time that a promoted node keeps the performance profile. */
  readonly minDwell: Milliseconds;
  readonly guard: GuardOptions;
  readonly limitsOf: LimitsOf;
  /** The keys of the labels on Nodes. */
  readonly labels: { readonly powerProfile: string; readonly draining: string };
  readonly gpuProductLabels: readonly string[];
  readonly catalogue: Catalogue;
  /** Absent: no node sleeps. */
  readonly sleep?: SleepSettings | undefined;
  readonly twin: TwinModel;
  readonly powerSource: PowerSourceMode;
  /** A reading from outside the cluster is ignored when it is older. */
  readonly readingsFreshFor: Milliseconds;
}
