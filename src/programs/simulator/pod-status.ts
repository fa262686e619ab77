import type { Instant } from "../../core/units/index.ts";
import type { PodView } from "./pod-job.ts";

/** When a pod began and ended, as its kubelet saw it. */
export interface PodTimes {
  readonly startedAt: Instant;
  readonly finishedAt?: Instant | undefined;
}

/** Kubernetes counts in whole seconds here. */
const stamp = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** The status a kubelet would write: all of it, since a merge patch replaces lists. */
export function podStatus({ containers }: PodView, { startedAt, finishedAt }: PodTimes) {
  const started = stamp(startedAt);
  const finished = finishedAt === undefined ? undefined : stamp(finishedAt);
  const condition = (type: string, holds: boolean, reason?: string) => ({
    type,
    status: holds ? "True" : "False",
    lastProbeTime: null,
    lastTransitionTime: holds ? started : (finished ?? started),
    ...(reason !== undefined && { reason }),
  });
  const working = finished === undefined;
  const ended = working ? undefined : "PodCompleted";
  return {
    phase: working ? "Running" : "Succeeded",
    startTime: started,
    conditions: [
      condition("PodScheduled", true),
      condition("PodReadyToStartContainers", working, ended),
      condition("Initialized", true, ended),
      condition("ContainersReady", working, ended),
      condition("Ready", working, ended),
    ],
    containerStatuses: containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      ready: working,
      started: working,
      restartCount: 0,
      state: working
        ? { running: { startedAt: started } }
        : { terminated: { exitCode: 0, reason: "Completed", startedAt: started, finishedAt: finished } },
    })),
  };
}
