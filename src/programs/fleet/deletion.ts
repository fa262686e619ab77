import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
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

/** Longer than any API server takes for one delete. */
const TIMEOUT = milliseconds(10_000);

/** A patch that names a uid met another object of that name: the server takes it for an attempt to change the uid. */
export const isUidConflict = (error: unknown): boolean =>
  isApiError(error, "invalid") && error.message.includes("metadata.uid");

/** Takes an object away if it is still this one; that it is gone, or another by now, is as good. */
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
 * Says that a pod has ended, as only its kubelet may: a delete without grace. The client's own `delete` leaves grace to the
 * pod, so this goes to the transport; whoever calls it tries again later.
 */
export async function confirmPodDeletion(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  { name, namespace, uid }: { readonly name: string; readonly namespace: string; readonly uid: string },
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const timer = clock.after(TIMEOUT, () => late.abort(new Error("the API server took too long")), { background: true });
  try {
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
      signal: AbortSignal.any([signal, late.signal]),
    });
    // To the end, or the connection is not free for the next call.
    for await (const _ of body);
    if (status >= 300 && status !== 404 && status !== 409)
      throw new ApiError(status === 403 ? "forbidden" : "internal", `deleting pod ${namespace}/${name}: ${status}`);
  } finally {
    timer.cancel();
  }
}
