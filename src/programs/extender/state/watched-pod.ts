import type { Pod } from "../../../core/api/index.ts";
import { demandOf, expectedDurationOf } from "../../../core/demand/index.ts";
import type { RunningPod } from "../../../core/scoring/index.ts";
import { type Instant, instant } from "../../../core/units/index.ts";
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

/** More kinds of GPUs than any real pod requests. Each event of a node reads every kind. */
const MAX_GPU_KINDS = 16;

/** Owners whose pods run as long as their node: DaemonSets, and the Node itself for static pods. */
const BACKGROUND: ReadonlySet<unknown> = new Set(["DaemonSet", "Node"]);

/** Identifies a pod in watch events and in the requests of kube-scheduler. */
export const podKey = ({ uid = "", namespace = "", name }: Pod["metadata"]): string =>
  uid === "" ? `${namespace}/${name}` : uid;

/** Undefined for a pod that is not on a node, or has ended. */
export function watchedPod(object: KubeObject): WatchedPod | undefined {
  const pod = object as KubeObject & Pod;
  const { nodeName } = pod.spec ?? {};
  const { phase, startTime } = pod.status ?? {};
  if (typeof nodeName !== "string" || nodeName === "" || phase === "Succeeded" || phase === "Failed") return undefined;
  const { cpuCores, gpus } = demandOf(pod);
  const owners: unknown = object.metadata["ownerReferences"];
  return {
    key: podKey(object.metadata),
    node: nodeName,
    pod: {
      demand: { cpuCores, gpus: gpus.size <= MAX_GPU_KINDS ? gpus : new Map([...gpus].slice(0, MAX_GPU_KINDS)) },
      duration: expectedDurationOf(pod).duration,
      startedAt: instantOf(startTime) ?? instantOf(object.metadata["creationTimestamp"]),
      background:
        Array.isArray(owners) && owners.some((owner) => BACKGROUND.has((owner as { kind?: unknown } | null)?.kind)),
    },
  };
}

function instantOf(text: unknown): Instant | undefined {
  const parsed = typeof text === "string" ? Date.parse(text) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : instant(parsed);
}
