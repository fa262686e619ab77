import type { Registry } from "../kinds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { badRequest, noSuchPath } from "./status.ts";

/** What a path of the API is about. */
export interface ApiRoute {
  readonly resource: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/**
 * As in Kubernetes, one slash at the end says nothing: `DELETE …/nodes/` deletes the collection, and clients have to refuse empty
 * names themselves. A part left empty anywhere else leads nowhere.
 */
export function segmentsOf(path: string): string[] {
  const parts = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  if (parts.length === 1 && parts[0] === "") return [];
  if (parts.includes("")) throw noSuchPath();
  try {
    return parts.map(decodeURIComponent);
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} is not well encoded`);
  }
}

/** The subresources a Namespace itself has; anything else below one is a kind that lives in it. */
const namespaceSubresources = new Set(["status", "finalize"]);

export function routeOf(registry: Registry, segments: readonly string[]): ApiRoute | undefined {
  const [root, ...after] = segments;
  if (root !== "api" && root !== "apis") return undefined;
  const group = root === "api" ? "" : (after.shift() ?? "");
  const version = after.shift() ?? "";
  const inNamespace = after[0] === "namespaces" && after.length > 2 && !namespaceSubresources.has(after[2] ?? "");
  const [plural = "", name, subresource, ...more] = inNamespace ? after.slice(2) : after;
  const resource = registry.find(group, version, plural);
  const namespace = inNamespace ? after[1] : undefined;
  if (resource === undefined || more.length > 0) return undefined;
  // A cluster-scoped kind has no place in a namespace, and an object of a namespaced one none outside.
  if (inNamespace ? !resource.namespaced : resource.namespaced && name !== undefined) return undefined;
  return { resource, namespace, name, subresource };
}
