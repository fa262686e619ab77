import { conflict, notFound } from "../api/status.ts";
import { pods } from "../kinds/pods.ts";
import { at, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import { kubeTimestamp } from "../storage/kube-object.ts";
import { type Server, storageKeyOf } from "../storage/store.ts";

const BINDINGS = { group: "", plural: "pods/binding" };

/** Binds a pod to a node, once. Like Kubernetes, does not check that the node exists. */
export function bind(server: Server, namespace: string, name: string, binding: JsonObject): void {
  const node = stringAt(binding, "target", "name");
  const collection = server.store.collection(pods.storedAs);
  const stored = collection.get(storageKeyOf(namespace, name));
  if (stored === undefined) throw notFound(pods, name);
  const { metadata, spec, status } = stored.object;
  const uid = stringAt(binding, "metadata", "uid");
  if (uid !== "" && uid !== metadata.uid) {
    throw conflict(
      BINDINGS,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (metadata.deletionTimestamp !== undefined) {
    throw conflict(BINDINGS, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  const before = stringAt(spec, "nodeName");
  if (before !== "") throw conflict(BINDINGS, name, `pod ${name} is already assigned to node "${before}"`);
  const time = kubeTimestamp(server.clock.now());
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: time };
  const conditions = listAt(status, "conditions").filter((one) => stringAt(one, "type") !== "PodScheduled");
  const annotations = { ...metadata.annotations, ...jsonObjectOr(at(binding, "metadata", "annotations")) };
  server.store.put(collection, {
    ...stored.object,
    metadata:
      Object.keys(annotations).length === 0
        ? metadata
        : { ...metadata, annotations: annotations as Record<string, string> },
    spec: { ...jsonObjectOr(spec), nodeName: node },
    status: { ...jsonObjectOr(status), conditions: [...conditions, scheduled] },
  });
}
