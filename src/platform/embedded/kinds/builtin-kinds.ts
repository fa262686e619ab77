import { ageColumn, nameColumn } from "../api/response-format.ts";
import { type JsonObject, jsonObjectOr, stringAt } from "../storage/json.ts";
import { plainSchema } from "./builtin-schemas.ts";
import type { ServedResource } from "./served-resource.ts";

/** A built-in kind with the usual properties; `own` changes them. */
export function builtIn(own: Pick<ServedResource, "kind"> & Partial<ServedResource>): ServedResource {
  const { kind, group = "", plural = `${kind.toLowerCase()}s` } = own;
  return {
    group,
    version: "v1",
    plural,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    shortNames: [],
    categories: [],
    namespaced: true,
    hasStatus: false,
    custom: false,
    storedAs: `${group}/${plural}`,
    schema: plainSchema,
    hasGeneration: false,
    selectable: {},
    columns: [nameColumn, ageColumn],
    ...own,
  };
}

export const namespaces = builtIn({
  kind: "Namespace",
  shortNames: ["ns"],
  namespaced: false,
  hasStatus: true,
  selectable: { "status.phase": (namespace) => stringAt(namespace, "status", "phase") },
  columns: [nameColumn, { name: "Status", type: "string", cell: (one) => stringAt(one, "status", "phase") }, ageColumn],
  completed: (namespace: JsonObject) => {
    const metadata = jsonObjectOr(namespace.metadata);
    const labels = { ...jsonObjectOr(metadata.labels), "kubernetes.io/metadata.name": metadata.name };
    return { ...namespace, metadata: { ...metadata, labels }, status: { phase: "Active" } };
  },
});

export const leases = builtIn({
  group: "coordination.k8s.io",
  kind: "Lease",
  columns: [
    nameColumn,
    { name: "Holder", type: "string", cell: (lease) => stringAt(lease, "spec", "holderIdentity") },
    ageColumn,
  ],
});

export const configMaps = builtIn({ kind: "ConfigMap", shortNames: ["cm"] });

export const persistentVolumeClaims = builtIn({ kind: "PersistentVolumeClaim", shortNames: ["pvc"], hasStatus: true });

export const persistentVolumes = builtIn({
  kind: "PersistentVolume",
  shortNames: ["pv"],
  namespaced: false,
  hasStatus: true,
});
