import { createHash } from "node:crypto";

/** Labels that mark simulated nodes and pods, and the fleet that owns a pod. */
export const fleetLabels = {
  simulated: "joulie.io/simulated",
  /** Node prefix of the fleet that submitted a pod: only that fleet deletes it. */
  submitter: "sim.joulie.io/submitter",
} as const;
export const SIMULATED = `${fleetLabels.simulated}=true`;

/** Annotations that describe the simulated work of a pod. */
export const fleetAnnotations = {
  /** Duration at full speed in seconds; unset = runs until deleted. */
  workSeconds: "sim.joulie.io/work-seconds",
  /** One of WORK_KINDS in core/physics. */
  kind: "sim.joulie.io/kind",
  /** Utilization of the requested cores, 0 to 1; unset = default of its kind. */
  cpuUtil: "sim.joulie.io/cpu-utilization",
  gpuUtil: "sim.joulie.io/gpu-utilization",
  /** Seconds from SIGTERM to exit, limited by the grace period. */
  stopSeconds: "sim.joulie.io/stop-seconds",
} as const;

export const FIELD_MANAGER = "joulie-simulator";

/** The UUID in the firmware of a simulated machine: the same in every run, for its kubelet and its BMC. */
export function systemUuidOf(node: string): string {
  const digits = createHash("sha256").update(`joulie fleet ${node}`).digest("hex");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}
