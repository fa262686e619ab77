import type { Logger } from "../../log/index.ts";
import type { RandomSource } from "../../random/index.ts";
import type { NodeView, PodView } from "./cluster-view.ts";
import type { Extender } from "./extender.ts";
import { enough, explain, leastAllocated, misfit } from "./fit.ts";
import type { Occupancy } from "./occupancy.ts";

/** No node takes the pod; the message says why, node by node. */
export class NoFit extends Error {
  override readonly name = "NoFit";
}

export interface World {
  readonly nodes: readonly NodeView[];
  readonly occupancy: Occupancy;
  /** Where in the nodes to begin to look, so that a large cluster fills evenly. */
  readonly start: number;
  readonly extenders: readonly Extender[];
  readonly random: RandomSource;
  readonly log: Logger;
}

/** The node for a pod: filter, ask the extenders, score, take the best; of equals any. */
export async function choose(
  pod: PodView,
  world: World,
  signal: AbortSignal,
): Promise<{ node: string; looked: number }> {
  const reasons = new Map<string, number>();
  const count = (reason: string) => reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const { fitting, looked } = fittingNodes(pod, world, count);
  const left = await filtered(pod, fitting, world, count, signal);
  const [only] = left;
  if (only === undefined) throw new NoFit(explain(world.nodes.length, reasons));
  if (left.length === 1) return { node: only.name, looked };
  const scores = await scored(pod, left, world, signal);
  const best = Math.max(...scores.values());
  const equals = [...scores].filter(([, score]) => score === best).map(([name]) => name);
  return { node: equals[Math.floor(world.random.next() * equals.length)] ?? only.name, looked };
}

function fittingNodes(pod: PodView, { nodes, occupancy, start }: World, count: (reason: string) => void) {
  const wanted = enough(nodes.length);
  const fitting: NodeView[] = [];
  let looked = 0;
  while (looked < nodes.length && fitting.length < wanted) {
    const node = nodes[(start + looked++) % nodes.length];
    if (node === undefined) continue;
    const reason = misfit(pod, node, occupancy.on(node.name));
    if (reason === undefined) fitting.push(node);
    else count(reason);
  }
  return { fitting, looked };
}

async function filtered(
  pod: PodView,
  nodes: readonly NodeView[],
  { extenders, log }: World,
  count: (reason: string) => void,
  signal: AbortSignal,
): Promise<readonly NodeView[]> {
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

async function scored(
  pod: PodView,
  nodes: readonly NodeView[],
  world: World,
  signal: AbortSignal,
): Promise<Map<string, number>> {
  const { occupancy, extenders, log } = world;
  const scores = new Map(nodes.map((node) => [node.name, leastAllocated(pod, node, occupancy.on(node.name))]));
  const object = pod.waiting?.object;
  if (object === undefined) return scores;
  // As in kube-scheduler, who fails to score is left out, ignorable or not.
  const added = await Promise.all(
    extenders.map(async (extender) =>
      extender.prioritize(object, nodes, signal).catch((err: unknown) => {
        log.warn({ extender: extender.name, err }, "an extender's scores were left out");
        return new Map<string, number>();
      }),
    ),
  );
  for (const [name, own] of scores) {
    const more = added.reduce((sum, one) => sum + (Number.isFinite(one.get(name)) ? (one.get(name) ?? 0) : 0), 0);
    scores.set(name, own + more);
  }
  return scores;
}
