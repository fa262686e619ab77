import { badRequest, notFound } from "../api/status.ts";
import { pods } from "../kinds/pods.ts";
import { keyOf } from "../storage/collection.ts";
import { at, type JsonObject, jsonObjectOr, textAt } from "../storage/json.ts";
import type { Server } from "../storage/server.ts";
import { deletionOptionsOf, remove } from "./deletion.ts";

/** Evicts a pod for `kubectl drain`. Always succeeds, because PodDisruptionBudgets are not supported. */
export function evict(
  server: Server,
  namespace: string,
  name: string,
  eviction: JsonObject,
  query: URLSearchParams,
): void {
  const given = textAt(eviction, "metadata", "name");
  if (given !== "" && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  const stored = server.store.collection(pods.storedAs).get(keyOf(namespace, name));
  if (stored === undefined) throw notFound(pods, name);
  remove(server, pods, stored, deletionOptionsOf(query, jsonObjectOr(at(eviction, "deleteOptions"))));
}
