import type { Pod } from "../../api/index.ts";
import { demandOf, expectedDurationOf, type PodDemand } from "../../demand/index.ts";
import { type Instant, parseInstant, type Seconds } from "../../units/index.ts";

/** A pod to place, as far as its joules depend on it. */
export interface PlacedPod {
  readonly demand: Pick<PodDemand, "cpuCores" | "gpus">;
  /** As the pod declares it. */
  readonly duration: Seconds | undefined;
}

export interface RunningPod extends PlacedPod {
  /** Undefined if unknown: then a declared duration does not tell when the pod ends. */
  readonly startedAt: Instant | undefined;
  /** The pod runs as long as its node (DaemonSet, static pod), so it does not keep the node from sleeping. */
  readonly background: boolean;
}

/** More kinds of GPUs than any real pod requests. Each event of a node reads every kind. */
const MAX_GPU_KINDS = 16;

/** Owners whose pods run as long as their node: DaemonSets, and the Node itself for static pods. */
const BACKGROUND: ReadonlySet<unknown> = new Set(["DaemonSet", "Node"]);

/** The fields of a pod on a node that the node's load depends on. They may have any type. */
export function runningPodOf(pod: Pod): RunningPod {
  const { cpuCores, gpus } = demandOf(pod);
  const owners: unknown = pod.metadata.ownerReferences;
  return {
    demand: { cpuCores, gpus: gpus.size <= MAX_GPU_KINDS ? gpus : new Map([...gpus].slice(0, MAX_GPU_KINDS)) },
    duration: expectedDurationOf(pod).duration,
    startedAt: parseInstant(pod.status?.startTime) ?? parseInstant(pod.metadata.creationTimestamp),
    background:
      Array.isArray(owners) && owners.some((owner) => BACKGROUND.has((owner as { kind?: unknown } | null)?.kind)),
  };
}
