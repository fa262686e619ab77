import type { Pod } from "../../../core/api/index.ts";
import { type RunningPod, runningPodOf } from "../../../core/scoring/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";

/** A pod on a node, with the fields that its node's load depends on: whole pods of a large cluster would take 100 MB. */
export interface WatchedPod {
  readonly key: string;
  readonly node: string;
  readonly pod: RunningPod;
}

/** The API server sends only pods on nodes that have not ended. */
export const podSelection = {
  fieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
} as const;

/** Identifies a pod in watch events and in the requests of kube-scheduler. */
export const podKey = ({ uid = "", namespace = "", name }: Pod["metadata"]): string =>
  uid === "" ? `${namespace}/${name}` : uid;

/** Undefined for a pod that is not on a node, or has ended. */
export function watchedPod(object: KubeObject): WatchedPod | undefined {
  const pod = object as KubeObject & Pod;
  const { nodeName } = pod.spec ?? {};
  const { phase } = pod.status ?? {};
  if (typeof nodeName !== "string" || nodeName === "" || phase === "Succeeded" || phase === "Failed") return undefined;
  return { key: podKey(object.metadata), node: nodeName, pod: runningPodOf(pod) };
}
