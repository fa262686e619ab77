import { alreadyExists, badRequest } from "../api/status.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { ownersAfterUpdate } from "../patch/managed-fields.ts";
import { keyOf } from "../storage/collection.ts";
import { type Fields, fieldsOr, textAt, without } from "../storage/json.ts";
import { type KubeObject, type ManagedFields, type Metadata, timestamp } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";
import {
  checkNamespace,
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
import { nameSuffix, uuid } from "./generated-names.ts";

/** Stores a new object; `owners` where an apply has already said who owns what. */
export function create(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  body: Fields,
  options: WriteOptions,
  owners?: readonly ManagedFields[],
): Written {
  checkNamespace(server, resource, namespace);
  const { object: given, warnings } = known(resource, withHeader(resource, body), options);
  const metadata = placed(resource, fieldsOr(given.metadata), namespace);
  if (textAt(metadata, "resourceVersion") !== "") {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const prefix = textAt(metadata, "generateName");
  const name = textAt(metadata, "name") || (prefix === "" ? "" : prefix + nameSuffix(server.random));
  const bare: Fields = { ...given, metadata: { ...without(metadata, serverMetadata), name } };
  const asked = resource.custom && resource.hasStatus ? without(bare, ["status"]) : bare;
  const shaped = fitted(resource, resource.completed?.(asked) ?? asked, undefined);

  const collection = server.store.collection(resource.storedAs);
  if (collection.get(keyOf(namespace, name)) !== undefined) throw alreadyExists(resource, name);
  const writer = writerOf(server, resource, options, "Update");
  const held = owners ?? ownersAfterUpdate({}, shaped, [], writer, resource.schema, resource.hasStatus);
  const complete: Metadata = {
    ...(shaped.metadata as Metadata),
    uid: uuid(server.random),
    resourceVersion: "",
    ...(resource.counted ? { generation: 1 } : {}),
    creationTimestamp: timestamp(server.clock.now()),
    managedFields: held,
  };
  const object = { ...shaped, metadata: complete } as KubeObject;
  return { stored: save(server, collection, object, options.dryRun), created: true, warnings };
}
