import { after, type Instant, milliseconds } from "../../../core/units/index.ts";
import { badRequest, conflict, forbidden } from "../api/status.ts";
import { pods } from "../kinds/pods.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Collection } from "../storage/collection.ts";
import { at, type JsonObject, textAt } from "../storage/json.ts";
import { type ApiObject, timestamp } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";
import type { StoredObject } from "../storage/stored-object.ts";

export interface DeletionOptions {
  readonly dryRun: boolean;
  /** How long a bound pod has to end; undefined leaves it to the pod. */
  readonly graceSeconds: number | undefined;
  /** `Orphan` leaves what the object owns; the others take it along. */
  readonly propagation: string | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** Kubernetes counts seconds in 64 bits. */
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
    propagation: textAt(body, "propagationPolicy") || (query.get("propagationPolicy") ?? undefined),
    uid: textAt(body, "preconditions", "uid") || undefined,
    resourceVersion: textAt(body, "preconditions", "resourceVersion") || undefined,
  };
}

/** A pod that runs somewhere gets its grace; one that was never placed or has ended needs none. */
function graceOf(resource: ServedResource, object: ApiObject, options: DeletionOptions): number {
  if (resource.storedAs !== pods.storedAs) return 0;
  const ended = ["Succeeded", "Failed"].includes(textAt(object, "status", "phase"));
  if (textAt(object, "spec", "nodeName") === "" || ended) return 0;
  const preset = at(object, "spec", "terminationGracePeriodSeconds");
  const grace = options.graceSeconds ?? (isWhole(preset) ? preset : 30);
  // As in Kubernetes: less than none is the least there is, and none has to be meant.
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

/** What a deletion left: the object marked as going, or nothing (`gone`). */
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

/** Kubernetes keeps an orphaning owner until its dependents are let go; here the collector does both at once. */
const ORPHAN = "orphan";
const finalizersAfter = ({ metadata }: ApiObject, { propagation }: DeletionOptions): readonly string[] =>
  propagation === "Orphan" ? [...new Set([...(metadata.finalizers ?? []), ORPHAN])] : (metadata.finalizers ?? []);

export const isOrphaning = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(ORPHAN);

export const withoutOrphan = (object: ApiObject): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, finalizers: (object.metadata.finalizers ?? []).filter((one) => one !== ORPHAN) },
});

/** Whether nothing holds an object back any more whose deletion was asked for. */
export const isReleased = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** The last second a timestamp of four digits a year can name. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59);
const dueAfter = (now: Instant, grace: number): string =>
  timestamp(Math.min(after(now, milliseconds(grace * 1000)), LATEST));

/** A second deletion may shorten the grace, never lengthen it. */
function marked({ clock }: Server, object: ApiObject, finalizers: readonly string[], grace: number): ApiObject {
  const { metadata } = object;
  const before = metadata.deletionTimestamp;
  if (before !== undefined && (metadata.deletionGracePeriodSeconds ?? 0) <= grace) {
    // It may still have been told to let go of what it owns.
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

/** No kubelet here confirms that a pod has ended: when its grace has passed on the clock, it has. Finalizers still hold it. */
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
