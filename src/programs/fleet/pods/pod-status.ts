import type { Instant } from "../../../core/units/index.ts";
import type { FleetPod } from "./pod-job.ts";

interface PodEnd {
  readonly phase: "Succeeded" | "Failed";
  readonly at: Instant;
}

export interface PodTimes {
  readonly startedAt: Instant;
  readonly end?: PodEnd | undefined;
}

/** Kubernetes timestamps here have whole seconds. */
const stamp = (at: Instant): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** Container exit states: a terminated container exits with signal 15 (128 + 15). */
const LEFT = {
  Succeeded: { exitCode: 0, reason: "Completed" },
  Failed: { exitCode: 143, reason: "Error" },
} as const;
const WHY = { Succeeded: "PodCompleted", Failed: "PodFailed" } as const;

/** The full status that a kubelet would write: a merge patch replaces lists. */
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
    // Keeps conditions of other controllers, such as DisruptionTarget.
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
