import { annotations, type Pod } from "../../../core/api/index.ts";
import { isFinished, isOfNode } from "../../../core/demand/index.ts";
import { type Milliseconds, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { jittered } from "../../../platform/random/index.ts";

export type MovablePod = KubeObject & Pod;

/** Pods that have to leave a node before its machine is switched off. */
export const podsToMove = (pods: readonly MovablePod[]): readonly MovablePod[] =>
  pods.filter((pod) => !isFinished(pod) && !isOfNode(pod));

/** Why pods cannot be moved: like kubectl, no pod is lost that nothing creates again. */
export function whyStuck(pods: readonly MovablePod[]): string | undefined {
  const lonely = podsToMove(pods).find(
    ({ metadata }) => !metadata.ownerReferences?.some(({ controller }) => controller === true),
  );
  return (
    lonely && `no controller would create pod ${lonely.metadata.namespace ?? "default"}/${lonely.metadata.name} again`
  );
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

/** Keeps new pods away. The annotation says that `joulie power test` did, so that a later run can take it back. */
export async function cordon(client: KubeClient, node: string, now: string): Promise<void> {
  const metadata = { annotations: { [annotations.drainedForTest]: now } };
  await client.mergePatch(resources.nodes, { name: node }, { metadata, spec: { unschedulable: true } });
}

export async function uncordon(client: KubeClient, node: string): Promise<void> {
  const metadata = { annotations: { [annotations.drainedForTest]: null } };
  await client.mergePatch(resources.nodes, { name: node }, { metadata, spec: { unschedulable: null } });
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
    const pods = podsToMove(found.items);
    if (pods.length === 0) return undefined;
    const stuck = whyStuck(pods);
    if (stuck !== undefined) return stuck;
    if (clock.monotonic() - started >= timeout)
      return held === "" ? `${pods.length} pods did not end in time` : `a PodDisruptionBudget keeps pod ${held} on it`;
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
