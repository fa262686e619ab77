import type { PodDemand } from "../../demand/index.ts";
import type { Instant, Seconds } from "../../units/index.ts";

/** A pod to place, as far as its joules depend on it. */
export interface PlacedPod {
  readonly demand: Pick<PodDemand, "cpuCores" | "gpus">;
  /** As the pod declares it. */
  readonly duration: Seconds | undefined;
}

/** A pod on a node. */
export interface RunningPod extends PlacedPod {
  /** Undefined if unknown: then a declared duration does not tell when the pod ends. */
  readonly startedAt: Instant | undefined;
  /** The pod runs as long as its node (DaemonSet, static pod), so it does not keep the node from sleeping. */
  readonly background: boolean;
}
