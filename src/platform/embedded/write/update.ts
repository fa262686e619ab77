import { badRequest, conflict, invalid, modified } from "../api/status.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { ownersAfterUpdate, sameOwners } from "../patch/managed-fields.ts";
import { equal, type Fields, fieldsOr, textAt, withField, without } from "../storage/json.ts";
import type { KubeObject, ManagedFields, Metadata } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";
import type { Stored } from "../storage/stored-object.ts";
import {
  fitted,
  known,
  placed,
  save,
  serverMetadata,
  type WriteOptions,
  type Written,
  withHeader,
  writerOf,
} from "./admission.ts";
import { isReleased } from "./deletion.ts";

function checkPreconditions(resource: ServedResource, stored: Stored, metadata: Fields): void {
  const { name, uid, resourceVersion } = stored.object.metadata;
  const given = textAt(metadata, "name");
  if (given !== "" && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  const version = textAt(metadata, "resourceVersion");
  if (version === "" && !resource.overwritable) {
    const message = "Invalid value: 0: must be specified for an update";
    throw invalid(resource, name, [{ field: "metadata.resourceVersion", reason: "FieldValueInvalid", message }]);
  }
  if (version !== "" && version !== "0" && version !== resourceVersion) throw modified(resource, name);
  const asked = textAt(metadata, "uid");
  if (asked !== "" && asked !== uid) {
    const why = `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${uid}`;
    throw conflict(resource, name, why);
  }
}

/** What the writer may change through this door, on top of what stays as it was. */
function throughTheDoor(resource: ServedResource, before: KubeObject, given: Fields, options: WriteOptions): Fields {
  if (options.subresource === "status") return withField(before, "status", given.status);
  const metadata = { ...without(fieldsOr(given.metadata), serverMetadata), ...kept(before.metadata) };
  const object = { ...given, metadata };
  return resource.hasStatus ? withField(object, "status", before.status) : object;
}

const kept = (metadata: Metadata): Fields =>
  Object.fromEntries(
    [...serverMetadata, "name"].filter((key) => Object.hasOwn(metadata, key)).map((key) => [key, metadata[key]]),
  );

function generationOf(resource: ServedResource, before: KubeObject, after: Fields): Fields {
  if (!resource.counted) return {};
  const apart = resource.hasStatus ? ["metadata", "status"] : ["metadata"];
  const changed = !equal(without(before, apart), without(after, apart));
  return { generation: (before.metadata.generation ?? 1) + (changed ? 1 : 0) };
}

/** Replaces an object; `owners` where an apply has already said who owns what. A write that changes nothing is none. */
export function update(
  server: Server,
  resource: ServedResource,
  stored: Stored,
  body: Fields,
  options: WriteOptions,
  owners?: readonly ManagedFields[],
): Written {
  const before = stored.object;
  const { object: given, warnings } = known(resource, withHeader(resource, body), options);
  const metadata = placed(resource, fieldsOr(given.metadata), before.metadata.namespace);
  checkPreconditions(resource, stored, metadata);
  const asked = throughTheDoor(resource, before, { ...given, metadata }, options);
  const shaped = fitted(resource, resource.merged?.(asked, before) ?? asked, before);

  const entries = before.metadata.managedFields ?? [];
  const writer = writerOf(server, resource, options, "Update");
  const held = owners ?? ownersAfterUpdate(before, shaped, entries, writer, resource.schema, resource.hasStatus);
  const same = equal({ ...shaped, metadata: without(fieldsOr(shaped.metadata), ["managedFields"]) }, bare(before));
  if (same && (held === entries || sameOwners(held, entries))) return { stored, created: false, warnings };
  const complete = { ...(shaped.metadata as Metadata), ...generationOf(resource, before, shaped), managedFields: held };
  const object = { ...shaped, metadata: complete } as KubeObject;
  const collection = server.store.collection(resource.storedAs);
  if (isReleased(object) && !options.dryRun) {
    return { stored: server.store.remove(collection, stored), created: false, warnings };
  }
  return { stored: save(server, collection, object, options.dryRun), created: false, warnings };
}

const bare = (object: KubeObject): Fields => ({ ...object, metadata: without(object.metadata, ["managedFields"]) });
