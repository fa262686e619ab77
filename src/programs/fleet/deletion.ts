import { milliseconds } from "../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../platform/clock/index.ts";
import {
  ApiError,
  isApiError,
  type KubeClient,
  type ObjectName,
  pathOf,
  type Resource,
  resources,
  type Transport,
} from "../../platform/kube/index.ts";

/** Longer than an API server takes for one delete. */
const TIMEOUT = milliseconds(10_000);

/**
 * The API server rejects a patch with a different uid as an attempt to change it: another object has that name now.
 */
export const isUidConflict = (error: unknown): boolean =>
  isApiError(error, "invalid") && error.message.includes("metadata.uid");

/** Deletes an object if its uid still matches. Succeeds if it is gone or was replaced. */
export async function deleteIfUnchanged(
  client: KubeClient,
  resource: Resource,
  at: ObjectName,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.delete(resource, at, { preconditions: { uid }, signal });
  } catch (error) {
    if (!isApiError(error, "notFound", "conflict")) throw error;
  }
}

/**
 * Confirms a pod's termination as its kubelet does, with a grace period of zero. The client's `delete` keeps the
 * pod's grace period, so this uses the transport directly. The caller retries.
 */
export async function confirmPodDeletion(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  { name, namespace, uid }: { readonly name: string; readonly namespace: string; readonly uid: string },
  signal: AbortSignal,
): Promise<void> {
  const remove = async (limit: AbortSignal): Promise<void> => {
    const { status, body } = await transport.request({
      method: "DELETE",
      path: pathOf(resources.pods, { name, namespace }),
      headers: { "content-type": "application/json", "user-agent": "joulie-simulator" },
      body: JSON.stringify({
        apiVersion: "v1",
        kind: "DeleteOptions",
        gracePeriodSeconds: 0,
        preconditions: { uid },
      }),
      signal: limit,
    });
    // Drains the body, which frees the connection for the next call.
    for await (const _ of body);
    if (status >= 300 && status !== 404 && status !== 409)
      throw new ApiError(status === 403 ? "forbidden" : "internal", `deleting pod ${namespace}/${name}: ${status}`);
  };
  const message = "the API server took too long";
  await withTimeLimit(clock, TIMEOUT, remove, { signal, message, background: true });
}
