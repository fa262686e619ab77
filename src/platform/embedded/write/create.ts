import type { RandomSource } from "../../../core/units/index.ts";
import { alreadyExists, badRequest } from "../api/status.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { ownersAfterUpdate } from "../patch/managed-fields.ts";
import { type JsonObject, jsonObjectOr, stringAt, without } from "../storage/json.ts";
import { type ApiObject, type ApiObjectMetadata, kubeTimestamp, type ManagedFields } from "../storage/kube-object.ts";
import { type Server, storageKeyOf } from "../storage/store.ts";
import {
  type ApiWriteOptions,
  checkNamespace,
  serverMetadata,
  validated,
  type WriteResult,
  withHeader,
  withNamespace,
  withoutUnknownFields,
  writerOf,
} from "./admission.ts";

/** As often as kube-apiserver generates a name when the one before is taken. */
const NAME_TRIES = 8;

/** Stores a new object; `owners` is set when an apply has already computed the ownership. */
export function create(
  server: Server,
  resource: ServedResource,
  namespace: string | undefined,
  body: JsonObject,
  options: ApiWriteOptions,
  owners?: readonly ManagedFields[],
): WriteResult {
  checkNamespace(server, resource, namespace);
  const given = withoutUnknownFields(resource, withHeader(resource, body), options);
  const metadata = withNamespace(resource, jsonObjectOr(given.metadata), namespace);
  if (stringAt(metadata, "resourceVersion") !== "") {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const prefix = stringAt(metadata, "generateName");
  const collection = server.store.collection(resource.storedAs);
  const isTaken = (one: string) => collection.get(storageKeyOf(namespace, one)) !== undefined;
  let name = stringAt(metadata, "name");
  if (name === "" && prefix !== "") {
    for (let tries = 0; tries < NAME_TRIES && (name === "" || isTaken(name)); tries++)
      name = prefix + nameSuffix(server.random);
  }
  const bare: JsonObject = { ...given, metadata: { ...without(metadata, serverMetadata), name } };
  const asked = resource.custom && resource.hasStatus ? without(bare, ["status"]) : bare;
  const shaped = validated(resource, resource.completed?.(asked) ?? asked);
  if (isTaken(name)) throw alreadyExists(resource, name);
  const writer = writerOf(server, resource, options, "Update");
  const held = owners ?? ownersAfterUpdate({}, shaped, [], writer, resource.schema, resource.hasStatus);
  const complete: ApiObjectMetadata = {
    ...(shaped.metadata as ApiObjectMetadata),
    uid: uuid(server.random),
    resourceVersion: "",
    ...(resource.hasGeneration ? { generation: 1 } : {}),
    creationTimestamp: kubeTimestamp(server.clock.now()),
    managedFields: held,
  };
  const object = { ...shaped, metadata: complete } as ApiObject;
  return { stored: server.store.put(collection, object), created: true };
}

const HEX = "0123456789abcdef";
/** Kubernetes' alphabet: no vowels and no 0, 1, 3, so suffixes form no words and are easy to read. */
const SUFFIX = "bcdfghjklmnpqrstvwxz2456789";

const pick = (alphabet: string, random: RandomSource): string =>
  alphabet[Math.floor(random.next() * alphabet.length)] ?? "";

/** A version 4 UUID from the injected random source, reproducible per seed. Not for secrets. */
function uuid(random: RandomSource): string {
  return "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replaceAll(/[xy]/g, (place) =>
    pick(place === "x" ? HEX : "89ab", random),
  );
}

/** The random suffix for `metadata.generateName`. */
const nameSuffix = (random: RandomSource): string => Array.from({ length: 5 }, () => pick(SUFFIX, random)).join("");
