import type { Registry } from "../kinds/registry.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { badRequest, noSuchPath } from "./status.ts";

/** The resource and object that an API path names. */
export interface ApiRoute {
  readonly resource: ServedResource;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/**
 * As in Kubernetes, a trailing slash is ignored: `DELETE …/nodes/` deletes the collection, so clients must reject empty
 * names. An empty segment anywhere else gives 404.
 */
export function segmentsOf(path: string): string[] {
  const parts = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  if (parts.length === 1 && parts[0] === "") return [];
  if (parts.includes("")) throw noSuchPath();
  try {
    return parts.map(decodeURIComponent);
  } catch {
    throw badRequest(`the path ${JSON.stringify(path)} has an invalid percent-encoding`);
  }
}

/** Subresources of a Namespace. Any other segment after a namespace name is a namespaced kind. */
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
  // A cluster-scoped kind cannot be addressed in a namespace, nor a namespaced object outside one.
  if (inNamespace ? !resource.namespaced : resource.namespaced && name !== undefined) return undefined;
  return { resource, namespace, name, subresource };
}
