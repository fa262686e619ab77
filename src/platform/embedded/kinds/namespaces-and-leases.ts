import type { FieldProblem } from "../api/status.ts";
import { ageColumn, nameColumn } from "../api/table.ts";
import { at, type JsonObject, jsonObjectOr, stringAt } from "../storage/json.ts";
import { plainSchema } from "./builtin-schemas.ts";
import type { ServedResource } from "./served-resource.ts";

export const namespaces: ServedResource = {
  group: "",
  version: "v1",
  plural: "namespaces",
  singular: "namespace",
  kind: "Namespace",
  listKind: "NamespaceList",
  shortNames: ["ns"],
  categories: [],
  namespaced: false,
  hasStatus: true,
  custom: false,
  storedAs: "/namespaces",
  schema: plainSchema,
  hasGeneration: false,
  overwritable: true,
  undeletableNames: ["default", "kube-system", "kube-public"],
  selectable: { "status.phase": (namespace) => stringAt(namespace, "status", "phase") },
  columns: [nameColumn, { name: "Status", type: "string", cell: (one) => stringAt(one, "status", "phase") }, ageColumn],
  completed: (namespace) => {
    const metadata = jsonObjectOr(namespace.metadata);
    const labels = { ...jsonObjectOr(metadata.labels), "kubernetes.io/metadata.name": metadata.name };
    return { ...namespace, metadata: { ...metadata, labels }, status: { phase: "Active" } };
  },
};

function leaseProblems(lease: JsonObject): FieldProblem[] {
  const length = at(lease, "spec", "leaseDurationSeconds");
  if (length === undefined || length === null || (Number.isInteger(length) && Number(length) > 0)) return [];
  const message = `Invalid value: ${JSON.stringify(length)}: must be greater than 0`;
  return [{ field: "spec.leaseDurationSeconds", reason: "FieldValueInvalid", message }];
}

export const leases: ServedResource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  singular: "lease",
  kind: "Lease",
  listKind: "LeaseList",
  shortNames: [],
  categories: [],
  namespaced: true,
  hasStatus: false,
  custom: false,
  storedAs: "coordination.k8s.io/leases",
  schema: plainSchema,
  hasGeneration: false,
  overwritable: false,
  selectable: {},
  columns: [
    nameColumn,
    { name: "Holder", type: "string", cell: (lease) => stringAt(lease, "spec", "holderIdentity") },
    ageColumn,
  ],
  problems: leaseProblems,
};
