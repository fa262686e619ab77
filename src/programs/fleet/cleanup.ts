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
/** Cleanup delays the exit of the program, so it is short. */
const TIMEOUT = milliseconds(20_000);
const RETRY_PAUSE = milliseconds(500);
const RETRY_SPREAD = 0.5;
const MAX_CONCURRENT_DELETIONS = 32;

/** Deletes the fleet's pods, PowerEndpoints and nodes. Tries again until all are gone, deletion is forbidden or time is up. */
export async function cleanUpFleet(options: CleanupOptions): Promise<void> {
  const { registrar, endpoints, ioClock, random, log } = options;
  const deadline = new Deadline(ioClock, TIMEOUT, { message: "cleanup timed out", background: true });
  let failures: readonly unknown[] = [];
  try {
    for (;;) {
      const { signal } = deadline;
      const podFailures = await deletePods(options, signal);
      const endpointFailures = (await endpoints?.removeAll(signal)) ?? [];
      const nodeFailures = await registrar.removeAll(signal);
      failures = [...podFailures, ...endpointFailures, ...nodeFailures];
      // Also true if nothing failed.
      if (failures.every((error) => isApiError(error, "forbidden"))) break;
      await ioClock.sleep(jittered(RETRY_PAUSE, RETRY_SPREAD, random), signal);
    }
  } catch (error) {
    if (!deadline.expired) throw error;
  } finally {
    deadline.release();
  }
  const [err] = failures;
  if (err === undefined) return;
  log.warn(
    { code: CLEANUP, failures: failures.length, err },
    "could not delete all simulated nodes and pods; a run with the same --node-prefix takes them over",
  );
}

/** Returns what failed. */
async function deletePods({ client, prefix }: CleanupOptions, signal: AbortSignal): Promise<readonly unknown[]> {
  try {
    // Listed from the API: the watch may not have delivered the last pods yet.
    const own = { labelSelector: `${fleetLabels.submitter}=${prefix}` };
    const { items } = await client.listAll(resources.pods, own, { signal, lean: true });
    return await forEachConcurrently(
      items,
      MAX_CONCURRENT_DELETIONS,
      async ({ metadata: { name, namespace = "", uid = "" } }) =>
        deleteIfUnchanged(client, resources.pods, { name, namespace }, { uid, gracePeriodSeconds: 0, signal }),
    );
  } catch (error) {
    return [error];
  }
}
