import { badRequest, invalid, notFound, StatusError } from "../api/status.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import type { FieldManager } from "../patch/managed-fields.ts";
import { type JsonObject, jsonObjectOr, stringAt, without } from "../storage/json.ts";
import { kubeTimestamp, type StoredObject } from "../storage/kube-object.ts";
import type { Server } from "../storage/store.ts";
import { metadataProblems, pruned, validateValue } from "./validate.ts";

export interface ApiWriteOptions {
  readonly manager: string;
  /** Rejects fields that a CRD does not define, instead of dropping them. */
  readonly strict: boolean;
  readonly subresource?: "status";
}

export interface WriteResult {
  readonly stored: StoredObject;
  readonly created: boolean;
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

/** Checks kind and apiVersion and puts them first. */
export function withHeader(resource: ServedResource, body: JsonObject): JsonObject {
  const expected = servedApiVersionOf(resource);
  const { kind = resource.kind, apiVersion = expected, ...rest } = body;
  if (kind !== resource.kind || apiVersion !== expected)
    throw badRequest(`the object must have apiVersion: ${expected} and kind: ${resource.kind}`);
  const named: JsonObject = { kind, apiVersion, ...rest };
  return resource.view === undefined ? named : resource.view.toStored(named);
}

/** Prunes fields that the CRD's schema does not define; with strict validation it throws instead. */
export function withoutUnknownFields(
  resource: ServedResource,
  object: JsonObject,
  { strict }: ApiWriteOptions,
): JsonObject {
  if (!resource.custom) return object;
  const unknown: string[] = [];
  const known = jsonObjectOr(pruned(object, resource.schema, unknown));
  if (unknown.length === 0 || !strict) return known;
  const fields = unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(", ");
  throw badRequest(`${resource.kind} cannot be handled: strict decoding error: ${fields}`);
}

/** Applies the CRD's defaults and validates the object. */
export function validated(resource: ServedResource, object: JsonObject): JsonObject {
  const checked = resource.custom ? validateValue(object, resource.schema) : { value: object, problems: [] };
  const problems = [
    ...metadataProblems(jsonObjectOr(object.metadata)),
    ...checked.problems,
    ...(resource.problems?.(object) ?? []),
  ];
  if (problems.length > 0) throw invalid(resource, stringAt(object, "metadata", "name"), problems);
  return jsonObjectOr(checked.value);
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

export const withNamespace = (
  { namespaced }: ServedResource,
  metadata: JsonObject,
  namespace: string | undefined,
): JsonObject => (namespaced ? { ...metadata, namespace } : without(metadata, ["namespace"]));
