import { conflict, invalid, modified, nameMismatch } from "../api/status.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { ownersAfterUpdate, sameOwners } from "../patch/managed-fields.ts";
import { equal, type JsonObject, jsonObjectOr, stringAt, withField, without } from "../storage/json.ts";
import type { ApiObject, ApiObjectMetadata, ManagedFields, StoredObject } from "../storage/kube-object.ts";
import type { Server } from "../storage/store.ts";
import {
  type ApiWriteOptions,
  serverMetadata,
  validated,
  type WriteResult,
  withHeader,
  withNamespace,
  withoutUnknownFields,
  writerOf,
} from "./admission.ts";
import { isReleased } from "./deletion.ts";

function checkPreconditions(resource: ServedResource, stored: StoredObject, metadata: JsonObject): void {
  const { name, uid, resourceVersion } = stored.object.metadata;
  const given = stringAt(metadata, "name");
  if (given !== "" && given !== name) throw nameMismatch(given, name);
  const version = stringAt(metadata, "resourceVersion");
  // As in Kubernetes, which takes whole built-in objects without one.
  if (version === "" && resource.custom) {
    const message = "Invalid value: 0: must be specified for an update";
    throw invalid(resource, name, [{ field: "metadata.resourceVersion", reason: "FieldValueInvalid", message }]);
  }
  if (version !== "" && version !== resourceVersion) throw modified(resource, name);
  const asked = stringAt(metadata, "uid");
  if (asked !== "" && asked !== uid) {
    const why = `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${uid}`;
    throw conflict(resource, name, why);
  }
}

/** Limits an update to what the endpoint may change: status only through /status, everything else only outside it. */
function withinEndpoint(
  resource: ServedResource,
  before: ApiObject,
  given: JsonObject,
  options: ApiWriteOptions,
): JsonObject {
  if (options.subresource === "status") return withField(before, "status", given.status);
  const metadata = { ...without(jsonObjectOr(given.metadata), serverMetadata), ...kept(before.metadata) };
  const object = { ...given, metadata };
  return resource.hasStatus ? withField(object, "status", before.status) : object;
}

const kept = (metadata: ApiObjectMetadata): JsonObject =>
  Object.fromEntries(
    [...serverMetadata, "name"].filter((key) => Object.hasOwn(metadata, key)).map((key) => [key, metadata[key]]),
  );

function generationOf(resource: ServedResource, before: ApiObject, after: JsonObject): JsonObject {
  if (!resource.hasGeneration) return {};
  const apart = resource.hasStatus ? ["metadata", "status"] : ["metadata"];
  const changed = !equal(without(before, apart), without(after, apart));
  return { generation: (before.metadata.generation ?? 1) + (changed ? 1 : 0) };
}

/** Replaces an object; `owners` is set when an apply has already computed the ownership. A no-op keeps the resourceVersion. */
export function update(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  body: JsonObject,
  options: ApiWriteOptions,
  owners?: readonly ManagedFields[],
): WriteResult {
  const before = stored.object;
  const given = withoutUnknownFields(resource, withHeader(resource, body), options);
  const metadata = withNamespace(resource, jsonObjectOr(given.metadata), before.metadata.namespace);
  checkPreconditions(resource, stored, metadata);
  const asked = withinEndpoint(resource, before, { ...given, metadata }, options);
  const shaped = validated(resource, resource.merged?.(asked) ?? asked);

  const entries = before.metadata.managedFields ?? [];
  const writer = writerOf(server, resource, options, "Update");
  const held = owners ?? ownersAfterUpdate(before, shaped, entries, writer, resource.schema, resource.hasStatus);
  const same = equal({ ...shaped, metadata: without(jsonObjectOr(shaped.metadata), ["managedFields"]) }, bare(before));
  if (same && (held === entries || sameOwners(held, entries))) return { stored, created: false };
  const complete = {
    ...(shaped.metadata as ApiObjectMetadata),
    ...generationOf(resource, before, shaped),
    managedFields: held,
  };
  const object = { ...shaped, metadata: complete } as ApiObject;
  const collection = server.store.collection(resource.storedAs);
  const written = isReleased(object) ? server.store.remove(collection, stored) : server.store.put(collection, object);
  return { stored: written, created: false };
}

const bare = (object: ApiObject): JsonObject => ({ ...object, metadata: without(object.metadata, ["managedFields"]) });
