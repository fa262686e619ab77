import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import type { SchedulerNode, SchedulerPod } from "./cluster-view.ts";
import type { ExtenderClient } from "./extender.ts";
import { enough, explain, leastAllocated, unfitReason } from "./fit.ts";
import type { Occupancy } from "./occupancy.ts";

/** No node takes the pod; the message says why, node by node. */
export class NoNodeFits extends Error {
  override readonly name = "NoFit";
  /** Nobody else was asked: as things stand no pod that asks for the same finds a node. */
  readonly forAllAlike: boolean;

  constructor(message: string, forAllAlike: boolean) {
    super(message);
    this.forAllAlike = forAllAlike;
  }
}

export interface SchedulingInput {
  readonly nodes: readonly SchedulerNode[];
  readonly occupancy: Occupancy;
  /** Where in the nodes to begin to look, so that a large cluster fills evenly. */
  readonly start: number;
  /** Of how many nodes those that fit are enough, in percent; as kube-scheduler chooses it where undefined. */
  readonly percentageOfNodesToScore: number | undefined;
  readonly extenders: readonly ExtenderClient[];
  readonly random: RandomSource;
  readonly log: Logger;
}

/** The node for a pod: filter, ask the extenders, score, take the best; of equals any. */
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
  if (only === undefined) throw new NoNodeFits(explain(world.nodes.length, reasons), fitting.length === 0);
  if (left.length === 1) return { node: only.name, looked };
  const totals = await scored(pod, left, scores, world, signal);
  const best = Math.max(...totals);
  const equals = left.filter((_, index) => totals[index] === best).map(({ name }) => name);
  return { node: equals[Math.floor(world.random.next() * equals.length)] ?? only.name, looked };
}

function fittingNodes(pod: SchedulerPod, world: SchedulingInput, count: (reason: string) => void) {
  const { nodes, occupancy, start } = world;
  const wanted = enough(nodes.length, world.percentageOfNodesToScore);
  const fitting: SchedulerNode[] = [];
  const scores = new Map<SchedulerNode, number>();
  let looked = 0;
  while (looked < nodes.length && fitting.length < wanted) {
    const node = nodes[(start + looked++) % nodes.length];
    if (node === undefined) continue;
    const load = occupancy.on(node.name);
    const reason = unfitReason(pod, node, load);
    if (reason === undefined) {
      fitting.push(node);
      scores.set(node, leastAllocated(pod, node, load));
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
      log.warn({ extender: extender.name, err }, "an extender is away and was passed over");
    }
  }
  return left;
}

/** The nodes' scores in their order: our own and what the extenders add. */
async function scored(
  pod: SchedulerPod,
  nodes: readonly SchedulerNode[],
  own: ReadonlyMap<SchedulerNode, number>,
  { extenders, log }: SchedulingInput,
  signal: AbortSignal,
): Promise<number[]> {
  const object = pod.waiting?.object;
  // As in kube-scheduler, who fails to score is left out, ignorable or not.
  const added = await Promise.all(
    extenders.map(async (extender) => {
      try {
        return object === undefined ? undefined : await extender.prioritize(object, nodes, signal);
      } catch (err) {
        log.warn({ extender: extender.name, err }, "an extender's scores were left out");
        return undefined;
      }
    }),
  );
  return nodes.map((node) => {
    const more = added.map((scores) => scores?.get(node.name) ?? 0).filter(Number.isFinite);
    return more.reduce((sum, score) => sum + score, own.get(node) ?? 0);
  });
}
