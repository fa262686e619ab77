/** What tells simulators' nodes and pods from everybody else's, and the pods of one from those of another. */
export const labels = {
  simulated: "joulie.io/simulated",
  /** The node prefix of the simulator that submitted a pod: only that one clears it away. */
  submitter: "sim.joulie.io/submitter",
} as const;
export const SIMULATED = `${labels.simulated}=true`;

/** How a pod says what it would do if it ran. */
export const annotations = {
  /** Seconds it takes at full speed; without it, it runs until it is deleted. */
  workSeconds: "sim.joulie.io/work-seconds",
  /** One of WORK_KINDS of core/physics. */
  kind: "sim.joulie.io/kind",
  /** How busy it keeps the cores it asks for, 0 to 1; unset = as its kind does. */
  cpuUtil: "sim.joulie.io/cpu-utilization",
  gpuUtil: "sim.joulie.io/gpu-utilization",
  /** How long it takes to end when it is told to, within its grace. */
  stopSeconds: "sim.joulie.io/stop-seconds",
} as const;

export const FIELD_MANAGER = "joulie-simulator";
