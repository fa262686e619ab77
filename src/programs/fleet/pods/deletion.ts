import { isApiError, type KubeClient, type ObjectName, type Resource } from "../../../platform/kube/index.ts";

/**
 * The API server rejects a patch with a different uid as an attempt to change it: another object has that name now.
 */
export const isUidConflict = (error: unknown): boolean =>
  isApiError(error, "invalid") && error.message.includes("metadata.uid");

/**
 * Deletes an object if its uid still matches. Succeeds if it is gone or was replaced. With a grace period of 0 it confirms the
 * termination of a pod, as its kubelet does.
 */
export async function deleteIfUnchanged(
  client: KubeClient,
  resource: Resource,
  at: ObjectName,
  options: { readonly uid: string; readonly gracePeriodSeconds?: 0; readonly signal: AbortSignal },
): Promise<void> {
  const { uid, ...others } = options;
  try {
    await client.delete(resource, at, { ...others, preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, "notFound", "conflict")) throw error;
  }
}
