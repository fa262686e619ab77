import { isApiError, type KubeClient, type ObjectName, type Resource } from "../../../platform/kube/index.ts";

/** The API server rejects a patch with another uid: another object has that name now. */
export const isUidConflict = (error: unknown): boolean =>
  isApiError(error, "invalid") && error.message.includes("metadata.uid");

/** Deletes an object if its uid still matches. A grace period of 0 confirms the termination of a pod. */
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
