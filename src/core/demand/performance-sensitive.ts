import type { Pod } from "../api/index.ts";
import { powerConstraintOf } from "./constraint.ts";
import { workloadClassOf } from "./workload-class.ts";

/** The annotation says so, or the required constraints exclude eco. The extender's filter goes by the annotation alone. */
export const isPerformanceSensitive = (pod: Pod, powerProfileLabel?: string): boolean =>
  workloadClassOf(pod).workloadClass === "performance" ||
  powerConstraintOf(pod, powerProfileLabel) === "performance-only";

/** Not finished. A pending pod is active: it is what the queue is made of. */
export const isActive = ({ status }: Pod): boolean => status?.phase !== "Succeeded" && status?.phase !== "Failed";

/**
 * Bound and not finished. A pod bound but not yet running is about to need its node, and one terminating may still need it
 * for its whole grace period, so both hold a downgrade back.
 */
export const countsOnNode = (pod: Pod): pod is Pod & { spec: { nodeName: string } } =>
  Boolean(pod.spec.nodeName) && isActive(pod);
