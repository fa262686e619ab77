import type { ServedResource } from "../kinds/served-resource.ts";
import { type ApiObject, kubeTimestamp, type StoredChange } from "../storage/kube-object.ts";
import { type Collection, type Server, storageKeyOf } from "../storage/store.ts";

/** Deletes the dependents of a deleted object at once; one with several owners stays until the last is deleted. */
export class GarbageCollector {
  readonly #server: Server;
  /** Owner uid → dependents, as key → collection. */
  readonly #dependents = new Map<string, Map<string, Collection>>();

  constructor(server: Server) {
    this.#server = server;
    server.store.listen((change, collection) => this.#notice(change, collection));
  }

  #notice({ type, current, previous }: StoredChange, collection: Collection): void {
    const { object, key } = current;
    if (previous !== undefined) this.#forget(previous.object, key, collection);
    if (type === "DELETED") {
      this.#collect(object, collection);
      return;
    }
    const owners = object.metadata.ownerReferences ?? [];
    for (const { uid } of owners) {
      const known = this.#dependents.get(uid) ?? new Map<string, Collection>();
      this.#dependents.set(uid, known.set(`${collection.id} ${key}`, collection));
    }
    if (type === "ADDED" && owners.length > 0) this.#removeIfOrphan(object, collection, key);
  }

  #forget({ metadata }: ApiObject, key: string, collection: Collection): void {
    for (const { uid } of metadata.ownerReferences ?? []) {
      const known = this.#dependents.get(uid);
      known?.delete(`${collection.id} ${key}`);
      if (known?.size === 0) this.#dependents.delete(uid);
    }
  }

  #collect(owner: ApiObject, home: Collection): void {
    for (const [place, collection] of this.#dependents.get(owner.metadata.uid) ?? []) {
      const key = place.slice(collection.id.length + 1);
      const stored = collection.get(key);
      if (stored !== undefined) this.#removeIfOrphan(stored.object, collection, key);
    }
    if (home.id === "/namespaces") this.#emptyNamespace(owner.metadata.name);
  }

  /** Removes an object without remaining owners. An owner of an unknown kind counts as existing. */
  #removeIfOrphan(object: ApiObject, collection: Collection, key: string): void {
    const owners = object.metadata.ownerReferences ?? [];
    const lives = owners.some(({ apiVersion, kind, name, uid }) => {
      const resource = this.#server.registry.ofKind(apiVersion, kind);
      return resource === undefined || this.#find(resource, object, name)?.metadata.uid === uid;
    });
    const stored = collection.get(key);
    if (lives || stored === undefined || stored.object.metadata.uid !== object.metadata.uid) return;
    this.#remove(collection, key);
  }

  #find(resource: ServedResource, dependent: ApiObject, name: string): ApiObject | undefined {
    const key = storageKeyOf(resource.namespaced ? dependent.metadata.namespace : undefined, name);
    return this.#server.store.collection(resource.storedAs).get(key)?.object;
  }

  /** Removes without a grace period, but respects finalizers. */
  #remove(collection: Collection, key: string): void {
    const stored = collection.get(key);
    if (stored === undefined) return;
    const { metadata } = stored.object;
    if ((metadata.finalizers ?? []).length === 0) {
      this.#server.store.remove(collection, stored);
      return;
    }
    if (metadata.deletionTimestamp !== undefined) return;
    const deletionTimestamp = kubeTimestamp(this.#server.clock.now());
    const going = { ...metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 };
    this.#server.store.put(collection, { ...stored.object, metadata: going });
  }

  #emptyNamespace(name: string): void {
    for (const collection of this.#server.store.collections) {
      for (const { key } of collection.list(name)) this.#remove(collection, key);
    }
  }
}
