import { selectsNode, untoleratedTaint } from "../../../core/demand/index.ts";
import {
  allocationScore,
  kubeResources,
  nodesToScore,
  nonZeroRequests,
  type ScoringStrategy,
} from "../../../core/scoring/index.ts";
import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import type { SchedulerNode, SchedulerPod } from "./cluster-view.ts";
import type { ExtenderClient } from "./extender.ts";
import type { Load, Occupancy } from "./occupancy.ts";

/** No node fits the pod. The message counts the reasons. */
export class NoNodeFitsError extends Error {
  override readonly name = "NoNodeFitsError";
  /** No extender was involved, so no pod with the same requirements fits either. */
  readonly forAllAlike: boolean;

  constructor(message: string, forAllAlike: boolean) {
    super(message);
    this.forAllAlike = forAllAlike;
  }
}

export interface SchedulingInput {
  readonly nodes: readonly SchedulerNode[];
  readonly occupancy: Occupancy;
  /** Index of the first node to try; it rotates so that a large cluster fills evenly. */
  readonly start: number;
  /** As in KubeSchedulerConfiguration; undefined uses kube-scheduler's default. */
  readonly percentageOfNodesToScore: number | undefined;
  /** Undefined uses kube-scheduler's default. */
  readonly scoringStrategy: ScoringStrategy | undefined;
  readonly extenders: readonly ExtenderClient[];
  readonly random: RandomSource;
  readonly log: Logger;
}

/** Chooses a node: filters nodes, calls the extenders, scores, and picks randomly among the best. */
export async function chooseNode(
  pod: SchedulerPod,
  world: SchedulingInput,
  signal: AbortSignal,
): Promise<{ node: string; looked: number }> {
  const reasons = new Map<string, number>();
  const count = (reason: string) => reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const { fitting, scores, looked } = fittingNodes(pod, world, count);
  const left = await filtered(pod, fitting, world, count, signal);
  const [only] = left;
  if (only === undefined) throw new NoNodeFitsError(explain(world.nodes.length, reasons), fitting.length === 0);
  if (left.length === 1) return { node: only.name, looked };
  const totals = await scored(pod, left, scores, world, signal);
  const best = Math.max(...totals);
  const equals = left.filter((_, index) => totals[index] === best).map(({ name }) => name);
  return { node: equals[Math.floor(world.random.next() * equals.length)] ?? only.name, looked };
}

function fittingNodes(pod: SchedulerPod, world: SchedulingInput, count: (reason: string) => void) {
  const { nodes, occupancy, start } = world;
  const wanted = nodesToScore(nodes.length, world.percentageOfNodesToScore);
  const fitting: SchedulerNode[] = [];
  const scores = new Map<SchedulerNode, number>();
  const requests = nonZeroRequests(kubeResources(pod.requests));
  let looked = 0;
  while (looked < nodes.length && fitting.length < wanted) {
    const node = nodes[(start + looked++) % nodes.length];
    if (node === undefined) continue;
    const load = occupancy.on(node.name);
    const reason = unfitReason(pod, node, load);
    if (reason === undefined) {
      fitting.push(node);
      scores.set(node, allocationScore(node.scored, load.assumed, requests, world.scoringStrategy));
    } else count(reason);
  }
  return { fitting, scores, looked };
}

async function filtered(
  pod: SchedulerPod,
  nodes: readonly SchedulerNode[],
  { extenders, log }: SchedulingInput,
  count: (reason: string) => void,
  signal: AbortSignal,
): Promise<readonly SchedulerNode[]> {
  let left = nodes;
  for (const extender of extenders) {
    if (left.length === 0 || pod.waiting === undefined) break;
    try {
      const { nodes: kept, failed } = await extender.filter(pod.waiting.object, left, signal);
      for (const reason of failed.values()) count(reason);
      left = kept;
    } catch (err) {
      if (!extender.ignorable || signal.aborted) throw err;
      log.warn({ extender: extender.name, err }, "extender unavailable; ignoring it");
    }
  }
  return left;
}

/** The nodes' scores, including those of the extenders. */
async function scored(
  pod: SchedulerPod,
  nodes: readonly SchedulerNode[],
  own: ReadonlyMap<SchedulerNode, number>,
  { extenders, log }: SchedulingInput,
  signal: AbortSignal,
): Promise<number[]> {
  const object = pod.waiting?.object;
  // As in kube-scheduler, a failed prioritize call is ignored even if the extender is not ignorable.
  const added = await Promise.all(
    extenders.map(async (extender) => {
      try {
        return object === undefined ? undefined : await extender.prioritize(object, nodes, signal);
      } catch (err) {
        log.warn({ extender: extender.name, err }, "extender scoring failed; ignoring its scores");
        return undefined;
      }
    }),
  );
  return nodes.map((node) => {
    const more = added.map((scores) => scores?.get(node.name) ?? 0).filter(Number.isFinite);
    return more.reduce((sum, score) => sum + score, own.get(node) ?? 0);
  });
}

/** Why a node does not fit a pod, in kube-scheduler's wording; undefined when it fits. */
export function unfitReason(pod: SchedulerPod, node: SchedulerNode, load: Load): string | undefined {
  const { waiting } = pod;
  if (waiting === undefined) return "pod is not waiting";
  const { tolerations } = waiting.constraint;
  if (node.unschedulable && untoleratedTaint(tolerations, [UNSCHEDULABLE]) !== undefined)
    return "node(s) were unschedulable";
  const taint = untoleratedTaint(tolerations, node.taints);
  if (taint !== undefined) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  if (!selectsNode(waiting.constraint, node)) return "node(s) didn't match Pod's node affinity/selector";
  return shortage(pod, node, load);
}

const UNSCHEDULABLE = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;

function shortage({ requests }: SchedulerPod, { allocatable }: SchedulerNode, load: Load): string | undefined {
  const room = allocatable.get("pods");
  if (room !== undefined && load.pods + 1 > room) return "Too many pods";
  for (const [resource, amount] of requests) {
    if (amount === 0) continue;
    const free = (allocatable.get(resource) ?? 0) - (load.requested.get(resource) ?? 0);
    // Quantities have a resolution of 1e-9; the tolerance absorbs rounding errors of sums.
    if (amount - free > 1e-9) return `Insufficient ${resource}`;
  }
  return undefined;
}

/** `0/3 nodes are available: 2 Insufficient cpu, 1 Too many pods.` */
export function explain(total: number, reasons: ReadonlyMap<string, number>): string {
  if (total === 0) return "no nodes available to schedule pods";
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return `0/${total} nodes are available: ${parts.join(", ")}.`;
}
