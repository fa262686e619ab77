import type { EnergyOutcome, EnergySettings, GpuMix, PlacedPod } from "../../../core/scoring/index.ts";

/** How SCORING=energy answered one request. */
export interface EnergyDecision {
  readonly pod: PlacedPod;
  /** Why the pod's declared duration is ignored. */
  readonly durationProblem?: string | undefined;
  /** Why all nodes have the `headroom` score. */
  readonly fallback?: string | undefined;
  readonly outcome?: EnergyOutcome | undefined;
  readonly mix?: GpuMix | undefined;
  readonly settings: EnergySettings;
}
