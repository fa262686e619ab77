import { type Instant, milliseconds } from "../units/index.ts";
import type { PowerConstraint } from "./constraint.ts";
import { type PodSummary, QUEUED_AFTER } from "./pod-summary.ts";

/** Pods that request GPUs wait for other nodes than pods that do not. */
export type PodPool = "cpu" | "gpu";

interface PoolWait {
  /** When the oldest pending pod was created. */
  oldestPending?: Instant;
  /** When the last pod was bound that had waited in a queue. */
  lastWaitEnded?: Instant;
}

type PoolWaits = Readonly<Record<PodPool, Readonly<PoolWait>>>;

/** The pools in which pods wait, or waited a short time ago. */
export type QueuedPools = Readonly<Record<PodPool, boolean>>;

/** Collects the waits of active pods. */
class WaitRecorder {
  readonly waits: Record<PodPool, PoolWait> = { cpu: {}, gpu: {} };

  add({ node, createdAt, waitedUntil, demand }: PodSummary): void {
    if (createdAt === undefined && waitedUntil === undefined) return;
    const wait = this.waits[demand.gpus.size > 0 ? "gpu" : "cpu"];
    if (node === undefined && createdAt !== undefined) {
      const { oldestPending } = wait;
      if (oldestPending === undefined || createdAt < oldestPending) wait.oldestPending = createdAt;
    }
    if (waitedUntil !== undefined) {
      const { lastWaitEnded } = wait;
      if (lastWaitEnded === undefined || waitedUntil > lastWaitEnded) wait.lastWaitEnded = waitedUntil;
    }
  }
}

/** A queue counts for this long after its last pod was bound, so that caps do not follow every short queue. */
const QUEUE_COUNTS_FOR = milliseconds(600_000);

/**
 * A pool is queued while a pod has waited for `QUEUED_AFTER`, and for ten minutes after the last such pod was bound. Returns one
 * of four fixed objects, because planning caches the figures of nodes by it.
 */
export function queuedPools({ cpu, gpu }: PoolWaits, now: Instant): QueuedPools {
  if (isQueued(cpu, now)) return isQueued(gpu, now) ? bothQueued : onlyCpuQueued;
  return isQueued(gpu, now) ? onlyGpuQueued : noQueues;
}

function isQueued({ oldestPending, lastWaitEnded }: PoolWait, now: Instant): boolean {
  if (oldestPending !== undefined && now - oldestPending >= QUEUED_AFTER) return true;
  // A time ahead of the clock counts as now.
  return lastWaitEnded !== undefined && now - lastWaitEnded < QUEUE_COUNTS_FOR;
}

export const noQueues: QueuedPools = { cpu: false, gpu: false };
const onlyCpuQueued: QueuedPools = { cpu: true, gpu: false };
const onlyGpuQueued: QueuedPools = { cpu: false, gpu: true };
const bothQueued: QueuedPools = { cpu: true, gpu: true };

/** The power demand of the active pods of a cluster. */
export interface DemandView {
  readonly constraints: Readonly<Record<PowerConstraint, number>>;
  /** Performance-sensitive pods in the cluster, including pending ones: the P of queue_aware_v1. */
  readonly performancePods: number;
  /** Performance-sensitive pods by node, as the downgrade guard counts them. Absent means none. */
  readonly performancePodsByNode: ReadonlyMap<string, number>;
  /** How long pods wait for nodes. */
  readonly waits: PoolWaits;
}

export function demandViewOf(pods: Iterable<PodSummary>): DemandView {
  const constraints: Record<PowerConstraint, number> = { "performance-only": 0, "eco-only": 0, general: 0 };
  const performancePodsByNode = new Map<string, number>();
  const recorder = new WaitRecorder();
  let performancePods = 0;
  for (const pod of pods) {
    const { active, constraint, performanceSensitive, node } = pod;
    if (!active) continue;
    recorder.add(pod);
    constraints[constraint]++;
    if (!performanceSensitive) continue;
    performancePods++;
    if (node !== undefined) performancePodsByNode.set(node, (performancePodsByNode.get(node) ?? 0) + 1);
  }
  return { constraints, performancePods, performancePodsByNode, waits: recorder.waits };
}
