import { after, milliseconds } from "../../../core/units/index.ts";
import { conflict, notFound } from "../api/status.ts";
import { events } from "../kinds/events.ts";
import { pods } from "../kinds/pods.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { at, type JsonObject, jsonObjectOr, stringAt } from "../storage/json.ts";
import { type ApiObject, kubeTimestamp, type StoredObject } from "../storage/kube-object.ts";
import { type Collection, type Server, storageKeyOf } from "../storage/store.ts";

/** A running pod gets its grace period; an unbound or terminated one gets none. */
function graceOf(resource: ServedResource, object: ApiObject, options: JsonObject): number {
  if (resource.storedAs !== pods.storedAs) return 0;
  const ended = ["Succeeded", "Failed"].includes(stringAt(object, "status", "phase"));
  if (stringAt(object, "spec", "nodeName") === "" || ended) return 0;
  return Number(options.gracePeriodSeconds ?? at(object, "spec", "terminationGracePeriodSeconds") ?? 30);
}

function checkPreconditions(resource: ServedResource, { metadata }: ApiObject, options: JsonObject): void {
  const checks = [
    ["UID", stringAt(options, "preconditions", "uid"), metadata.uid],
    ["ResourceVersion", stringAt(options, "preconditions", "resourceVersion"), metadata.resourceVersion],
  ] as const;
  for (const [what, asked, found] of checks) {
    if (asked === "" || asked === found) continue;
    const why = `Precondition failed: ${what} in precondition: ${asked}, ${what} in object meta: ${found}`;
    throw conflict(resource, metadata.name, why);
  }
}

/** The result of a deletion: the terminating object, or its last state if it is already removed (`gone`). */
interface Deleted {
  readonly stored: StoredObject;
  readonly gone: boolean;
}

/** Deletes an object; `options` are the DeleteOptions of the request. */
export function remove(
  server: Server,
  resource: ServedResource,
  stored: StoredObject,
  options: JsonObject = {},
): Deleted {
  const { object } = stored;
  checkPreconditions(resource, object, options);
  const collection = server.store.collection(resource.storedAs);
  const grace = graceOf(resource, object, options);
  const held = (object.metadata.finalizers ?? []).length > 0 || grace > 0;
  if (!held) return { stored: server.store.remove(collection, stored), gone: true };
  const going = marked(server, object, grace);
  if (going === object) return { stored, gone: false };
  const left = server.store.put(collection, going);
  if (grace > 0) removeWhenDue(server, collection, left, grace);
  return { stored: left, gone: false };
}

/** Whether a terminating object can be removed: no finalizers and no grace period left. */
export const isReleased = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (metadata.finalizers ?? []).length === 0 &&
  (metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** A repeated deletion may shorten the grace period but never extend it. */
function marked({ clock }: Server, object: ApiObject, grace: number): ApiObject {
  const { metadata } = object;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds <= grace) return object;
  const due = kubeTimestamp(after(clock.now(), milliseconds(grace * 1000)));
  return { ...object, metadata: { ...metadata, deletionTimestamp: due, deletionGracePeriodSeconds: grace } };
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
const EVENT_TTL = milliseconds(3_600_000);

/** Deletes Events after their TTL. */
export function expireEvents({ store, clock }: Server): void {
  store.listen(({ type, current }, collection) => {
    if (type === "DELETED" || collection.id !== events.storedAs) return;
    const forget = () => {
      const now = collection.get(current.key);
      // A later write of the Event has its own timer.
      if (now?.version === current.version) store.remove(collection, now);
    };
    clock.after(EVENT_TTL, forget, { background: true });
  });
}

/** Evicts a pod for `kubectl drain`. Always succeeds, because PodDisruptionBudgets are not supported. */
export function evict(server: Server, namespace: string, name: string, eviction: JsonObject): void {
  const stored = server.store.collection(pods.storedAs).get(storageKeyOf(namespace, name));
  if (stored === undefined) throw notFound(pods, name);
  remove(server, pods, stored, jsonObjectOr(at(eviction, "deleteOptions")));
}
