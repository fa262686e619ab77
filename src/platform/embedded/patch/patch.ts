import { badRequest, conflict, invalid, modified, nameMismatch, unsupportedMediaType } from "../api/status.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import { isJsonObject, type JsonObject, jsonObjectOr, stringAt, without } from "../storage/json.ts";
import type { StoredObject } from "../storage/kube-object.ts";
import type { Server } from "../storage/store.ts";
import {
  type ApiWriteOptions,
  serverMetadata,
  type WriteResult,
  withHeader,
  withoutUnknownFields,
  writerOf,
} from "../write/admission.ts";
import { create } from "../write/create.ts";
import { update } from "../write/update.ts";
import { applied } from "./managed-fields.ts";
import { mergePatched, strategicallyPatched } from "./merge-patches.ts";

const APPLY = "application/apply-patch+yaml";
const STRATEGIC = "application/strategic-merge-patch+json";

/** The patch function of each media type. */
const patchers: ReadonlyMap<string, typeof strategicallyPatched> = new Map<string, typeof strategicallyPatched>([
  ["application/merge-patch+json", mergePatched],
  [STRATEGIC, strategicallyPatched],
]);

export const isApply = (mediaType: string): boolean => mediaType === APPLY;

type Patcher = NonNullable<ReturnType<typeof patchers.get>>;

/** Throws for a media type that the resource does not know. */
export function patcherOf(resource: ServedResource, mediaType: string): Patcher {
  const patcher = patchers.get(mediaType);
  // As in Kubernetes, custom resources do not support strategic merge patches.
  if (patcher === undefined || (resource.custom && mediaType === STRATEGIC)) {
    throw unsupportedMediaType([APPLY, ...patchers.keys()].filter((type) => !resource.custom || type !== STRATEGIC));
  }
  return patcher;
}

export function patch(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  patcher: Patcher,
  body: JsonObject,
  options: ApiWriteOptions,
): WriteResult {
  const shown = resource.view?.represent(stored.object) ?? stored.object;
  const patched = patcher(shown, body, resource.schema);
  if (!isJsonObject(patched)) throw badRequest("the patch result is not an object");
  const { name } = stored.object.metadata;
  const asked = stringAt(patched, "metadata", "uid");
  // The client takes this answer as the sign that another object has the name now.
  if (asked !== "" && asked !== stored.object.metadata.uid) {
    const message = `Invalid value: ${JSON.stringify(asked)}: field is immutable`;
    throw invalid(resource, name, [{ field: "metadata.uid", reason: "FieldValueInvalid", message }]);
  }
  // Restores the name, which the update needs, in case the patch removed it.
  const metadata = { name, ...jsonObjectOr(patched.metadata) };
  return update(server, resource, stored, { ...patched, metadata }, options);
}

export interface ApplyTarget {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly stored: StoredObject | undefined;
  readonly force: boolean;
}

export function apply(
  server: Server,
  resource: ServedResource,
  target: ApplyTarget,
  body: JsonObject,
  options: ApiWriteOptions,
): WriteResult {
  const { stored, name, namespace, force } = target;
  checkConfig(resource, target, body, options);
  const object = withoutUnknownFields(resource, withHeader(resource, body), options);
  const given = jsonObjectOr(object.metadata);
  const config =
    options.subresource === "status"
      ? { kind: object.kind, apiVersion: object.apiVersion, metadata: {}, status: object.status }
      : {
          ...(resource.hasStatus ? without(object, ["status"]) : object),
          metadata: without(given, [...serverMetadata, "name", "namespace"]),
        };
  const live = stored?.object ?? { kind: object.kind, apiVersion: object.apiVersion, metadata: {} };
  const writer = writerOf(server, resource, options, "Apply");
  const entries = stored?.object.metadata.managedFields ?? [];
  const { hasStatus } = resource;
  const { object: merged, owners } = applied(live, config, entries, writer, resource.schema, { force, hasStatus });
  const shown = resource.view?.represent(merged as never) ?? merged;
  if (stored !== undefined) return update(server, resource, stored, shown, options, owners);
  const metadata = { ...jsonObjectOr(shown.metadata), name };
  return create(server, resource, namespace, { ...shown, metadata }, options, owners);
}

function checkConfig(
  resource: ServedResource,
  { stored, name }: ApplyTarget,
  body: JsonObject,
  options: ApiWriteOptions,
): void {
  if (options.manager === "") {
    const message = "Required value: is required for apply patch";
    const problem = { field: "fieldManager", reason: "FieldValueRequired" as const, message };
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [problem]);
  }
  const { apiVersion, kind } = body;
  if (apiVersion !== servedApiVersionOf(resource) || kind !== resource.kind) {
    throw badRequest(
      `the applied configuration must have apiVersion: ${servedApiVersionOf(resource)} and kind: ${resource.kind}`,
    );
  }
  const metadata = jsonObjectOr(body.metadata);
  const given = stringAt(metadata, "name");
  if (given !== "" && given !== name) throw nameMismatch(given, name);
  const [uid, version] = [stringAt(metadata, "uid"), stringAt(metadata, "resourceVersion")];
  if (stored === undefined) {
    if (uid !== "") throw conflict(resource, name, `there is no object with the uid ${uid}`);
    return;
  }
  if (uid !== "" && uid !== stored.object.metadata.uid) throw modified(resource, name);
  if (version !== "" && version !== stored.object.metadata.resourceVersion) throw modified(resource, name);
}
