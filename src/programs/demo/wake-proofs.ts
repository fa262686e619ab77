import { annotations } from "../../core/api/index.ts";
import { type Instant, milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources } from "../../platform/kube/index.ts";

/** The fields of a simulated node that matter here. Nodes of one kind share their model. */
interface ProvableNode {
  readonly spec: { readonly name: string; readonly model: object };
}

const RETRY = milliseconds(100);
const TRIES = 300;

/**
 * Every second node of each kind of machine. At most half of a zone may sleep, so that further nodes need no proof; and the others
 * run the first jobs while these are tested.
 */
export function nodesToProve(nodes: Iterable<ProvableNode>): readonly string[] {
  const seen = new Map<object, number>();
  const chosen: string[] = [];
  for (const { spec } of nodes) {
    const before = seen.get(spec.model) ?? 0;
    seen.set(spec.model, before + 1);
    if (before % 2 === 1) chosen.push(spec.name);
  }
  return chosen;
}

export interface WakeProofOptions {
  readonly client: KubeClient;
  readonly ioClock: Clock;
  /** Simulated time. */
  readonly now: Instant;
}

/** Asks the power program to test the wake of these nodes, as `joulie power test` does: each is switched off and on once. */
export async function askForWakeProofs(
  names: readonly string[],
  { client, ioClock, now }: WakeProofOptions,
  signal: AbortSignal,
): Promise<void> {
  const patch = { metadata: { annotations: { [annotations.testPower]: new Date(now).toISOString() } } };
  await Promise.all(
    names.map(async (name) => {
      for (let attempt = 1; ; attempt++) {
        try {
          await client.mergePatch(resources.powerEndpoints, { name }, patch, { signal });
          return;
        } catch (error) {
          // The fleet creates the PowerEndpoints when all nodes are registered.
          if (attempt === TRIES || !isApiError(error, "notFound")) throw error;
          await ioClock.sleep(RETRY, signal);
        }
      }
    }),
  );
}
