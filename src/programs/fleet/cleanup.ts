import type { ErrorCode } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { type Clock, Deadline } from "../../platform/clock/index.ts";
import { forEachConcurrently } from "../../platform/concurrency/index.ts";
import { isApiError, type KubeIo, resources } from "../../platform/kube/index.ts";
import { jittered } from "../../platform/random/index.ts";
import { fleetLabels } from "./names.ts";
import type { NodeRegistrar } from "./nodes/node-registrar.ts";
import type { PowerEndpoints } from "./nodes/power-endpoints.ts";
import { deleteIfUnchanged } from "./pods/deletion.ts";

export interface CleanupOptions extends KubeIo {
  readonly registrar: Pick<NodeRegistrar, "removeAll">;
  readonly endpoints?: Pick<PowerEndpoints, "removeAll"> | undefined;
  /** Node prefix that identifies this fleet's pods. */
  readonly prefix: string;
  readonly ioClock: Clock;
}

const CLEANUP: ErrorCode = "JOULIE_E_CLEANUP";
/** Time limit: cleanup delays the exit of the program. */
const LIMIT = milliseconds(20_000);
const PAUSE = milliseconds(500);
const SPREAD = 0.5;
const REMOVALS_AT_ONCE = 32;

export async function cleanUpFleet(remains: CleanupOptions): Promise<void> {
  const { registrar, endpoints, ioClock, random, log } = remains;
  const deadline = new Deadline(ioClock, LIMIT, { message: "cleanup timed out", background: true });
  let failures: readonly unknown[] = [];
  try {
    for (;;) {
      const { signal } = deadline;
      failures = [
        ...(await clearPods(remains, signal)),
        ...((await endpoints?.removeAll(signal)) ?? []),
        ...(await registrar.removeAll(signal)),
      ];
      if (failures.every((error) => isApiError(error, "forbidden"))) break;
      await ioClock.sleep(jittered(PAUSE, SPREAD, random), deadline.signal);
    }
  } catch (error) {
    if (!deadline.expired) throw error;
  } finally {
    deadline.release();
  }
  const [err] = failures;
  if (err === undefined) return;
  const left = "could not delete all simulated nodes and pods; a run with the same --node-prefix takes them over";
  log.warn({ code: CLEANUP, failures: failures.length, err }, left);
}

async function clearPods({ client, prefix }: CleanupOptions, signal: AbortSignal): Promise<readonly unknown[]> {
  try {
    // Listed from the API: the watch may not have delivered the last pods yet.
    const own = { labelSelector: `${fleetLabels.submitter}=${prefix}` };
    const { items } = await client.listAll(resources.pods, own, { signal, lean: true });
    return await forEachConcurrently(
      items,
      REMOVALS_AT_ONCE,
      async ({ metadata: { name, namespace = "", uid = "" } }) =>
        deleteIfUnchanged(client, resources.pods, { name, namespace }, { uid, gracePeriodSeconds: 0, signal }),
    );
  } catch (error) {
    return [error];
  }
}
