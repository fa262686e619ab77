import { badRequest, invalid, notFound, StatusError } from "../api/status.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import type { FieldManager } from "../patch/managed-fields.ts";
import { type Collection, storageKeyOf } from "../storage/collection.ts";
import { type JsonObject, jsonObjectOr, stringAt, without } from "../storage/json.ts";
import { type ApiObject, kubeTimestamp } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";
import { StoredObject } from "../storage/stored-object.ts";
import { metadataProblems } from "./metadata-rules.ts";
import { defaulted, pruned } from "./pruning.ts";
import { validateValue } from "./validate.ts";

/** The options of a write request. */
export interface ApiWriteOptions {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly subresource?: "status";
}

export interface WriteResult {
  readonly stored: StoredObject;
  readonly created: boolean;
  readonly warnings: readonly string[];
}

/** Metadata fields that only the server writes. */
export const serverMetadata = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "managedFields",
] as const;

export const writerOf = (
  server: Server,
  resource: ServedResource,
  options: ApiWriteOptions,
  operation: FieldManager["operation"],
): FieldManager => ({
  manager: options.manager,
  operation,
  apiVersion: servedApiVersionOf(resource),
  time: kubeTimestamp(server.clock.now()),
  ...(options.subresource === undefined ? {} : { subresource: options.subresource }),
});

const unreadable = ({ kind, version }: ServedResource, why: string) =>
  badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);

function wrongKind(resource: ServedResource, body: JsonObject, kind: unknown): StatusError {
  if (!resource.custom) return unreadable(resource, `the kind in the data is ${JSON.stringify(kind)}`);
  const message = `Invalid value: ${JSON.stringify(kind)}: must be ${resource.kind}`;
  return invalid(resource, stringAt(body, "metadata", "name"), [
    { field: "kind", reason: "FieldValueInvalid", message },
  ]);
}

/** Checks kind and apiVersion and puts them first. */
export function withHeader(resource: ServedResource, body: JsonObject): JsonObject {
  const expected = servedApiVersionOf(resource);
  const { kind = resource.kind, apiVersion = expected, ...rest } = body;
  if (kind !== resource.kind) throw wrongKind(resource, body, kind);
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${JSON.stringify(apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  const named: JsonObject = { kind, apiVersion, ...rest };
  return resource.view === undefined ? named : resource.view.toStored(named);
}

/** Prunes fields that the CRD's schema does not define; with Strict validation it throws instead. */
export function withoutUnknownFields(resource: ServedResource, object: JsonObject, options: ApiWriteOptions) {
  if (!resource.custom) return { object, warnings: [] };
  const unknown: string[] = [];
  const kept = jsonObjectOr(pruned(object, resource.schema, unknown));
  const warnings = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (warnings.length > 0 && options.fieldValidation === "Strict") {
    throw unreadable(resource, `strict decoding error: ${warnings.join(", ")}`);
  }
  return { object: kept, warnings: options.fieldValidation === "Warn" ? warnings : [] };
}

/** Applies the CRD's defaults and validates the object. */
export function validated(resource: ServedResource, object: JsonObject, before: ApiObject | undefined): JsonObject {
  const shaped = resource.custom ? jsonObjectOr(defaulted(object, resource.schema)) : object;
  const problems = [
    ...metadataProblems(jsonObjectOr(shaped.metadata), before?.metadata),
    ...(resource.custom ? validateValue(shaped, resource.schema) : []),
    ...(resource.problems?.(shaped, before) ?? []),
  ];
  if (problems.length > 0) throw invalid(resource, stringAt(shaped, "metadata", "name"), problems);
  return shaped;
}

/** New objects need an existing namespace that is not being deleted. */
export function checkNamespace({ store }: Server, resource: ServedResource, namespace: string | undefined): void {
  if (!resource.namespaced || namespace === undefined) return;
  const home = store.collection("/namespaces").get(namespace);
  if (home === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (home.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw new StatusError(403, "Forbidden", why);
}

export function withNamespace(
  resource: ServedResource,
  metadata: JsonObject,
  namespace: string | undefined,
): JsonObject {
  if (!resource.namespaced) return without(metadata, ["namespace"]);
  const given = metadata.namespace ?? "";
  if (given !== "" && given !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  return { ...metadata, namespace };
}

export function save(server: Server, collection: Collection, object: ApiObject, dryRun: boolean): StoredObject {
  if (!dryRun) return server.store.put(collection, object);
  const { namespace, name, resourceVersion } = object.metadata;
  return new StoredObject(storageKeyOf(namespace, name), object, Number(resourceVersion));
}
