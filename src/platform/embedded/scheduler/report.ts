import type { Clock } from "../../clock/index.ts";
import { type EventRecorder, type KubeClient, resources } from "../../kube/index.ts";
import type { Logger } from "../../log/index.ts";
import { kubeTimestamp } from "../storage/kube-object.ts";
import type { SchedulerPod } from "./cluster-view.ts";

const MANAGER = "embedded-scheduler";

interface Condition {
  readonly type: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Reports why a pod is unschedulable in its condition and in an event; skips unchanged messages. */
export async function reportUnschedulable(
  { client, clock, log }: { readonly client: KubeClient; readonly clock: Clock; readonly log: Logger },
  events: EventRecorder,
  pod: SchedulerPod,
  message: string,
  noFit: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid, key } = pod;
  const reason = noFit ? "Unschedulable" : "SchedulerError";
  const regarding = { apiVersion: "v1", kind: "Pod", name, namespace, uid };
  events.record({ regarding, type: "Warning", reason: "FailedScheduling", action: "Scheduling", note: message });
  const status = pod.waiting?.object as { status?: { conditions?: readonly Condition[] } } | undefined;
  const before = status?.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (before?.reason === reason && before.message === message) return;
  const lastTransitionTime = kubeTimestamp(clock.now());
  const condition = { type: "PodScheduled", status: "False", reason, message, lastTransitionTime };
  try {
    const manifest = { metadata: { uid }, status: { conditions: [condition] } };
    await client.apply(resources.pods, { name, namespace }, manifest, {
      subresource: "status",
      fieldManager: MANAGER,
      force: true,
      signal,
    });
  } catch (err) {
    if (!signal.aborted) log.debug({ pod: key, err }, "cannot write the pod's PodScheduled condition");
  }
}
