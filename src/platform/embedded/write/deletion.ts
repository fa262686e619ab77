import { after, type Instant, milliseconds } from "../../../core/units/index.ts";
import { badRequest, conflict, forbidden, notFound } from "../api/status.ts";
import { events } from "../kinds/events.ts";
import { pods } from "../kinds/pods.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { type Collection, storageKeyOf } from "../storage/collection.ts";
import { at, type JsonObject, jsonObjectOr, stringAt } from "../storage/json.ts";
import { type ApiObject, kubeTimestamp } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";
import type { StoredObject } from "../storage/stored-object.ts";

export interface DeletionOptions {
  readonly dryRun: boolean;
  /** The grace period of a bound pod; undefined uses the pod's own. */
  readonly graceSeconds: number | undefined;
  /** `Orphan` keeps the dependents; other values delete them. */
  readonly propagation: string | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** Kubernetes uses 64-bit seconds. */
const isWhole = (value: unknown): value is number => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 63;

function graceAsked(query: URLSearchParams, body: JsonObject): number | undefined {
  const text = query.get("gracePeriodSeconds");
  const parsed = text === null ? undefined : /^[-+]?\d+$/.test(text) ? Number(text) : text;
  const asked = at(body, "gracePeriodSeconds") ?? parsed;
  if (asked === undefined || isWhole(asked)) return asked;
  throw badRequest(`gracePeriodSeconds: Invalid value: ${JSON.stringify(asked)}: must be a whole number`);
}

export function deletionOptionsOf(query: URLSearchParams, body: JsonObject): DeletionOptions {
  return {
    dryRun: query.getAll("dryRun").includes("All") || (Array.isArray(body.dryRun) && body.dryRun.includes("All")),
    graceSeconds: graceAsked(query, body),
    propagation: stringAt(body, "propagationPolicy") || (query.get("propagationPolicy") ?? undefined),
    uid: stringAt(body, "preconditions", "uid") || undefined,
    resourceVersion: stringAt(body, "preconditions", "resourceVersion") || undefined,
  };
}

/** A running pod gets its grace period; an unbound or terminated one gets none. */
function graceOf(resource: ServedResource, object: ApiObject, options: DeletionOptions): number {
  if (resource.storedAs !== pods.storedAs) return 0;
  const ended = ["Succeeded", "Failed"].includes(stringAt(object, "status", "phase"));
  if (stringAt(object, "spec", "nodeName") === "" || ended) return 0;
  const preset = at(object, "spec", "terminationGracePeriodSeconds");
  const grace = options.graceSeconds ?? (isWhole(preset) ? preset : 30);
  // As in Kubernetes, a negative grace period becomes 1; only an explicit 0 deletes immediately.
  return grace < 0 ? 1 : grace;
}

function checkPreconditions(resource: ServedResource, { metadata }: ApiObject, options: DeletionOptions): void {
  const checks = [
    ["UID", options.uid, metadata.uid],
    ["ResourceVersion", options.resourceVersion, metadata.resourceVersion],
  ] as const;
  for (const [what, asked, found] of checks) {
    if (asked === undefined || asked === found) continue;
    const why = `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`;
    throw conflict(resource, metadata.name, why);
  }
}

/** The result of a deletion: the terminating object, or its last state if it is already removed (`gone`). */
export interface Deleted {
  readonly stored: StoredObject;
  readonly gone: boolean;
}

export function remove(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  options: DeletionOptions,
): Deleted {
  const { object } = stored;
  if (resource.undeletableNames?.includes(object.metadata.name) === true) {
    throw forbidden(resource, object.metadata.name, `this ${resource.singular} may not be deleted`);
  }
  checkPreconditions(resource, object, options);
  const collection = server.store.collection(resource.storedAs);
  const grace = graceOf(resource, object, options);
  const finalizers = finalizersAfter(object, options);
  const held = finalizers.length > 0 || grace > 0;
  if (options.dryRun) return { stored, gone: !held };
  if (!held) return { stored: server.store.remove(collection, stored), gone: true };
  const going = marked(server, object, finalizers, grace);
  if (going === object) return { stored, gone: false };
  const left = server.store.put(collection, going);
  if (grace > 0) removeWhenDue(server, collection, left, grace);
  return { stored: left, gone: false };
}

/** Kubernetes keeps the owner until its dependents are orphaned; here the garbage collector does both at once. */
const ORPHAN = "orphan";
const finalizersAfter = ({ metadata }: ApiObject, { propagation }: DeletionOptions): readonly string[] =>
  propagation === "Orphan" ? [...new Set([...(metadata.finalizers ?? []), ORPHAN])] : (metadata.finalizers ?? []);

export const isOrphaning = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(ORPHAN);

export const withoutOrphan = (object: ApiObject): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, finalizers: (object.metadata.finalizers ?? []).filter((one) => one !== ORPHAN) },
});

/** Whether a terminating object can be removed: no finalizers and no grace period left. */
export const isReleased = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** The latest timestamp with a four-digit year. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59);
const dueAfter = (now: Instant, grace: number): string =>
  kubeTimestamp(Math.min(after(now, milliseconds(grace * 1000)), LATEST));

/** A repeated deletion may shorten the grace period but never extend it. */
function marked({ clock }: Server, object: ApiObject, finalizers: readonly string[], grace: number): ApiObject {
  const { metadata } = object;
  const before = metadata.deletionTimestamp;
  if (before !== undefined && (metadata.deletionGracePeriodSeconds ?? 0) <= grace) {
    // The request may still have added the orphan finalizer.
    if (finalizers.length === (metadata.finalizers ?? []).length) return object;
    return { ...object, metadata: { ...metadata, finalizers } };
  }
  const due = dueAfter(clock.now(), grace);
  const kept = finalizers.length === 0 ? {} : { finalizers };
  return {
    ...object,
    metadata: { ...metadata, ...kept, deletionTimestamp: due, deletionGracePeriodSeconds: grace },
  };
}

/** Without a kubelet to confirm termination, removes the pod when its grace period ends, unless it has finalizers. */
function removeWhenDue({ clock, store }: Server, collection: Collection, left: StoredObject, grace: number): void {
  const callback = () => {
    const now = collection.get(left.key);
    if (now === undefined || now.object.metadata.uid !== left.object.metadata.uid) return;
    if ((now.object.metadata.deletionGracePeriodSeconds ?? 0) === 0) return;
    const ended = { ...now.object, metadata: { ...now.object.metadata, deletionGracePeriodSeconds: 0 } };
    if (isReleased(ended)) store.remove(collection, now);
    else store.put(collection, ended);
  };
  clock.after(milliseconds(grace * 1000), callback, { background: true });
}

/** kube-apiserver's default event TTL, counted from the last write. */
const KEPT = milliseconds(3_600_000);

/** Deletes Events after their TTL. */
export function expireEvents({ store, clock }: Server): void {
  store.listen(({ type, current }, collection) => {
    if (type === "DELETED" || collection.id !== events.storedAs) return;
    const forget = () => {
      const now = collection.get(current.key);
      // A later write of the Event has its own timer.
      if (now?.version === current.version) store.remove(collection, now);
    };
    clock.after(KEPT, forget, { background: true });
  });
}

/** Evicts a pod for `kubectl drain`. Always succeeds, because PodDisruptionBudgets are not supported. */
export function evict(
  server: Server,
  namespace: string,
  name: string,
  eviction: JsonObject,
  query: URLSearchParams,
): void {
  const given = stringAt(eviction, "metadata", "name");
  if (given !== "" && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  const stored = server.store.collection(pods.storedAs).get(storageKeyOf(namespace, name));
  if (stored === undefined) throw notFound(pods, name);
  remove(server, pods, stored, deletionOptionsOf(query, jsonObjectOr(at(eviction, "deleteOptions"))));
}
