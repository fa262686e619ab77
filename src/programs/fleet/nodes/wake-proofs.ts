import type { PowerEndpointStatus } from "../../../core/api/index.ts";
import { type Instant, instant, milliseconds, type Seconds, seconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { forEachConcurrently } from "../../../platform/concurrency/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";

interface ProvableNode {
  readonly spec: { readonly name: string; readonly model: { readonly states: { readonly bootTime: Seconds } } };
}

const RETRY = milliseconds(200);
const TRIES = 300;
const WRITES_AT_ONCE = 32;
/** A test also waits for the switch, the kubelet and the agent. */
const BESIDE_BOOT = 60;
const DAY = 86_400_000;

export interface WakeProofOptions {
  readonly client: KubeClient;
  readonly ioClock: Clock;
  /** Simulated time. */
  readonly now: Instant;
}

export async function recordWakeProofs(
  nodes: Iterable<ProvableNode>,
  { client, ioClock, now }: WakeProofOptions,
  signal: AbortSignal,
): Promise<void> {
  const at = new Date(instant(now - DAY)).toISOString();
  const failures = await forEachConcurrently(Array.from(nodes), WRITES_AT_ONCE, async ({ spec: { name, model } }) => {
    const status: PowerEndpointStatus = {
      wakeProven: true,
      lastWake: { at, seconds: seconds(model.states.bootTime + BESIDE_BOOT), result: "succeeded" },
    };
    for (let attempt = 1; ; attempt++) {
      try {
        await client.mergePatch(resources.powerEndpoints, { name }, { status }, { subresource: "status", signal });
        return;
      } catch (error) {
        // The fleet creates the PowerEndpoints when all nodes are registered.
        if (attempt === TRIES || signal.aborted || !isApiError(error, "notFound")) throw error;
        await ioClock.sleep(RETRY, signal);
      }
    }
  });
  if (failures.length > 0) throw failures[0];
}
