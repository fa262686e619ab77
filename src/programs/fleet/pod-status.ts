import type { Instant } from "../../core/units/index.ts";
import type { FleetPod } from "./pod-job.ts";

/** How a pod ended: its work was done, or it was told to end before. */
interface PodEnd {
  readonly phase: "Succeeded" | "Failed";
  readonly at: Instant;
}

/** When a pod began, and how it ended if it did, as its kubelet saw it. */
export interface PodTimes {
  readonly startedAt: Instant;
  readonly end?: PodEnd | undefined;
}

/** Kubernetes counts in whole seconds here. */
const stamp = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** What a container leaves behind: one that is told to end goes by the signal (128 + 15). */
const LEFT = {
  Succeeded: { exitCode: 0, reason: "Completed" },
  Failed: { exitCode: 143, reason: "Error" },
} as const;
/** Why a pod at its end is not ready. */
const WHY = { Succeeded: "PodCompleted", Failed: "PodFailed" } as const;

/** The status a kubelet would write: all of it, since a merge patch replaces lists. */
export function podStatus({ containers, conditions }: FleetPod, { startedAt, end }: PodTimes) {
  const started = stamp(startedAt);
  const finished = end && stamp(end.at);
  const working = end === undefined;
  const why = end && WHY[end.phase];
  const condition = (type: string, holds: boolean, reason?: string) => ({
    type,
    status: holds ? "True" : "False",
    lastProbeTime: null,
    lastTransitionTime: holds ? started : (finished ?? started),
    ...(reason !== undefined && { reason }),
  });
  const own = [
    condition("PodScheduled", true),
    condition("PodReadyToStartContainers", working, why),
    condition("Initialized", true, why),
    condition("ContainersReady", working, why),
    condition("Ready", working, why),
  ];
  const types = new Set(own.map(({ type }) => type));
  return {
    phase: end?.phase ?? "Running",
    startTime: started,
    // What others say of it, such as that it is about to be evicted, stays said.
    conditions: [...own, ...conditions.filter(({ type }) => !types.has(type))],
    containerStatuses: containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      ready: working,
      started: working,
      restartCount: 0,
      state:
        end === undefined
          ? { running: { startedAt: started } }
          : { terminated: { ...LEFT[end.phase], startedAt: started, finishedAt: finished } },
    })),
  };
}
