import type { NodeTwin, TwinControlReport } from "../api/index.ts";
import type { CapIntents } from "./caps.ts";
import { hasSameCaps } from "./observed-state.ts";

/**
 * Whether a node may be published as performance with these caps. Pods that need full speed are bound a moment later, so the
 * agent must have set the caps before: its receipt covers the spec that has them, and both devices accepted them.
 *
 * A node that is published as performance stays so. Without a receipt there is no agent to wait for: none has ever reported,
 * the last one restored all limits and stopped, or it is older than receipts.
 */
export function hasConfirmedCaps(twin: NodeTwin | undefined, wanted: CapIntents): boolean {
  const { schedulableClass, controlStatus } = twin?.status ?? {};
  const receipt = controlStatus?.observedGeneration;
  if (twin === undefined || schedulableClass === "performance" || receipt === undefined) return true;
  const isWritten = twin.spec.profile === "performance" && hasSameCaps(twin.spec, wanted);
  const isCovered = receipt >= (twin.metadata.generation ?? 0);
  return isWritten && isCovered && isSet(controlStatus?.cpu) && isSet(controlStatus?.gpu);
}

const isSet = (report: TwinControlReport | undefined): boolean =>
  report?.result === undefined || report.result === "applied" || report.result === "none";
