import { badRequest, conflict, invalid, notFound } from "../api/status.ts";
import { pods } from "../kinds/pods.ts";
import { storageKeyOf } from "../storage/collection.ts";
import { at, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import { kubeTimestamp } from "../storage/kube-object.ts";
import type { Server } from "../storage/server.ts";

const BINDINGS = { group: "", plural: "pods/binding" };

/** Binds a pod to a node, once. Like Kubernetes, does not check that the node exists. */
export function bind(server: Server, namespace: string, name: string, binding: JsonObject, dryRun: boolean): void {
  const given = stringAt(binding, "metadata", "name");
  if (given !== "" && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  const node = stringAt(binding, "target", "name");
  const kind = stringAt(binding, "target", "kind");
  if (node === "" || (kind !== "" && kind !== "Node")) {
    const field = node === "" ? "target.name" : "target.kind";
    const problem = { field, reason: "FieldValueRequired", message: "Required value" } as const;
    throw invalid({ group: "", kind: "Binding" }, name, [problem]);
  }
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
  if (dryRun) return;
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
