import { counted } from "./quantities.ts";

export interface SleepFigures {
  /** Nodes that are asleep now. */
  readonly asleep: number;
  /** Since the first jobs. */
  readonly sleeps: number;
  readonly wakes: number;
  readonly failedWakes: number;
  /** Pods for which the operator woke a node. */
  readonly podsThatWaited: number;
  /** In simulated time, until the pod was bound; undefined if none waited. */
  readonly longestWaitSeconds: number | undefined;
  readonly longestPerformanceWaitSeconds: number | undefined;
}

/** What slept and woke, and who waited for it. */
export function sleepText({ sleeps, wakes, failedWakes, ...waits }: SleepFigures): string {
  const { podsThatWaited, longestWaitSeconds: longest, longestPerformanceWaitSeconds: performance } = waits;
  if (sleeps === 0) return "none yet: a node sleeps when it has been empty for five minutes of the cluster's time";
  const failed = failedWakes > 0 ? `, ${failedWakes} failed` : "";
  const waited =
    longest === undefined
      ? "no pod waited for a wake"
      : `${counted(podsThatWaited, "pod")} waited for a wake, longest ${minutes(longest)}${performance === undefined ? "" : ` (performance ${minutes(performance)})`}`;
  return `${counted(sleeps, "sleep")}, ${counted(wakes, "wake")}${failed}; ${waited}`;
}

const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`;
