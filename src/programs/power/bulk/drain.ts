import { annotations, type Pod } from "../../../core/api/index.ts";
import { isFinished, isOfNode } from "../../../core/demand/index.ts";
import { formatDuration, type Milliseconds, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { jittered } from "../../../platform/random/index.ts";

export type MovablePod = KubeObject & Pod;

/** The pod has to leave its node before the machine is switched off. */
export const hasToMove = (pod: Pod): boolean => !isFinished(pod) && !isOfNode(pod);

/** Why the pod cannot be moved: as with kubectl, no pod is lost that nothing creates again. */
export function whyStuck({ metadata }: MovablePod): string | undefined {
  if (metadata.ownerReferences?.some(({ controller }) => controller === true)) return undefined;
  return `no controller would create pod ${metadata.namespace ?? "default"}/${metadata.name} again`;
}

export interface DrainOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** How long pods may take to leave. */
  readonly timeout: Milliseconds;
  readonly signal: AbortSignal;
}

const RETRY = milliseconds(5000);
const JITTER = 0.3;

type CordonedNode = KubeObject & { readonly spec?: { readonly unschedulable?: boolean } };

const MAX_CONFLICTS = 10;

/**
 * Keeps new pods away, with an annotation that lets a later run take it back. Returns false for a node that a user or another
 * controller has cordoned: it stays as it is.
 */
export async function cordon(client: KubeClient, node: string, now: string): Promise<boolean> {
  for (let conflicts = 0; ; conflicts++) {
    const { metadata, spec } = await client.get<CordonedNode>(resources.nodes, { name: node });
    if (spec?.unschedulable === true) return metadata.annotations?.[annotations.drainedForTest] !== undefined;
    const { resourceVersion } = metadata;
    const marked = { resourceVersion, annotations: { [annotations.drainedForTest]: now } };
    try {
      await client.mergePatch(resources.nodes, { name: node }, { metadata: marked, spec: { unschedulable: true } });
      return true;
    } catch (error) {
      // The node has changed since it was read: its kubelet has reported, or another controller has cordoned it.
      if (!isApiError(error, "conflict") || conflicts === MAX_CONFLICTS) throw error;
    }
  }
}

/** Takes `cordon` back, unless the node is gone. */
export async function uncordon(client: KubeClient, node: string): Promise<void> {
  const metadata = { annotations: { [annotations.drainedForTest]: null } };
  try {
    await client.mergePatch(resources.nodes, { name: node }, { metadata, spec: { unschedulable: null } });
  } catch (error) {
    if (!isApiError(error, "notFound")) throw error;
  }
}

/**
 * Evicts the pods of a node until none is left. PodDisruptionBudgets are respected: an eviction that they forbid is tried again.
 * Returns why it did not end.
 */
export async function drain(node: string, options: DrainOptions): Promise<string | undefined> {
  const { client, clock, random, timeout, signal } = options;
  const started = clock.monotonic();
  let held = "";
  while (!signal.aborted) {
    const found = await client.listAll<MovablePod>(resources.pods, { fieldSelector: `spec.nodeName=${node}` });
    const pods = found.items.filter(hasToMove);
    if (pods.length === 0) return undefined;
    const stuck = pods.map(whyStuck).find((why) => why !== undefined);
    if (stuck !== undefined) return stuck;
    if (clock.monotonic() - started >= timeout)
      return held === ""
        ? `${pods.length} ${pods.length === 1 ? "pod" : "pods"} did not end within ${formatDuration(timeout)}`
        : `a PodDisruptionBudget kept pod ${held} on it for ${formatDuration(timeout)}`;
    held = "";
    for (const { metadata } of pods) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const { name, namespace = "default", uid } = metadata;
      try {
        await client.evict({ name, namespace, ...(uid !== undefined && { uid }) });
      } catch (error) {
        if (isApiError(error, "tooMany")) held = `${namespace}/${name}`;
        else if (!isApiError(error, "notFound") && !isApiError(error, "conflict")) throw error;
      }
    }
    await clock.sleep(jittered(RETRY, JITTER, random), signal).catch(() => undefined);
  }
  return "interrupted";
}
