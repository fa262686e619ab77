import { ageColumn, nameColumn } from "../api/response-format.ts";
import { at, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { builtIn } from "./builtin-kinds.ts";
import { nodeSchema } from "./builtin-schemas.ts";

const ROLE = "node-role.kubernetes.io/";

function shownStatus(node: ApiObject): string {
  const ready = listAt(node, "status", "conditions").find((one) => stringAt(one, "type") === "Ready");
  const words = { True: "Ready", False: "NotReady" }[stringAt(ready, "status")] ?? (ready ? "NotReady" : "Unknown");
  return at(node, "spec", "unschedulable") === true ? `${words},SchedulingDisabled` : words;
}

const rolesOf = ({ metadata }: ApiObject): string =>
  Object.keys(metadata.labels ?? {})
    .filter((key) => key.startsWith(ROLE) && key.length > ROLE.length)
    .map((key) => key.slice(ROLE.length))
    .toSorted()
    .join(",") || "<none>";

export const nodes = builtIn({
  kind: "Node",
  shortNames: ["no"],
  namespaced: false,
  hasStatus: true,
  schema: nodeSchema,
  selectable: { "spec.unschedulable": (node) => String(at(node, "spec", "unschedulable") === true) },
  columns: [
    nameColumn,
    { name: "Status", type: "string", cell: shownStatus },
    { name: "Roles", type: "string", cell: rolesOf },
    ageColumn,
    { name: "Version", type: "string", cell: (node) => stringAt(node, "status", "nodeInfo", "kubeletVersion") },
  ],
  completed: (node) => ({ ...node, spec: jsonObjectOr(node.spec), status: jsonObjectOr(node.status) }),
});
