import { ageColumn, nameColumn } from "../api/response-format.ts";
import type { FieldProblem } from "../api/status.ts";
import { at, isJsonObject, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { builtIn } from "./builtin-kinds.ts";
import { podSchema } from "./builtin-schemas.ts";
import type { Column } from "./served-resource.ts";

const phase = (pod: JsonObject): string => stringAt(pod, "status", "phase");
const orNone = (text: string): string => (text === "" ? "<none>" : text);

/** The STATUS column: the termination reason, the waiting reason or the phase. */
function shownStatus(pod: ApiObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) return "Terminating";
  const waiting = listAt(pod, "status", "containerStatuses").map((one) => stringAt(one, "state", "waiting", "reason"));
  return stringAt(pod, "status", "reason") || waiting.find((reason) => reason !== "") || phase(pod);
}

const columns: readonly Column[] = [
  nameColumn,
  {
    name: "Ready",
    type: "string",
    cell: (pod) => {
      const ready = listAt(pod, "status", "containerStatuses").filter((one) => at(one, "ready") === true).length;
      return `${ready}/${listAt(pod, "spec", "containers").length}`;
    },
  },
  { name: "Status", type: "string", cell: shownStatus },
  {
    name: "Restarts",
    type: "string",
    cell: (pod) => {
      const counts = listAt(pod, "status", "containerStatuses").map((one) => Number(at(one, "restartCount") ?? 0));
      return String(counts.reduce((sum, count) => sum + count, 0));
    },
  },
  ageColumn,
  { name: "Node", type: "string", priority: 1, cell: (pod) => orNone(stringAt(pod, "spec", "nodeName")) },
];

/** Without a request, the request equals the limit. */
function withRequests(container: unknown): unknown {
  const resources = at(container, "resources");
  if (!isJsonObject(container) || !isJsonObject(resources) || !isJsonObject(resources.limits)) return container;
  const requests = { ...resources.limits, ...jsonObjectOr(resources.requests) };
  return { ...container, resources: { ...resources, requests } };
}

/** Applies Kubernetes' pod defaults, so that replacing a pod with its original manifest changes nothing. */
function withDefaults(pod: JsonObject): JsonObject {
  const spec = jsonObjectOr(pod.spec);
  const defaults = {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
  };
  const lists = ["containers", "initContainers"].filter((name) => Array.isArray(spec[name]));
  const containers = Object.fromEntries(lists.map((name) => [name, listAt(spec, name).map(withRequests)]));
  return { ...pod, spec: { ...defaults, ...spec, ...containers } };
}

function problems(pod: JsonObject): FieldProblem[] {
  if (listAt(pod, "spec", "containers").length > 0) return [];
  return [{ field: "spec.containers", reason: "FieldValueRequired", message: "Required value" }];
}

export const pods = builtIn({
  kind: "Pod",
  shortNames: ["po"],
  categories: ["all"],
  hasStatus: true,
  schema: podSchema,
  hasGeneration: true,
  selectable: {
    "spec.nodeName": (pod) => stringAt(pod, "spec", "nodeName"),
    "spec.restartPolicy": (pod) => stringAt(pod, "spec", "restartPolicy"),
    "spec.schedulerName": (pod) => stringAt(pod, "spec", "schedulerName"),
    "status.phase": phase,
    "status.podIP": (pod) => stringAt(pod, "status", "podIP"),
    "status.nominatedNodeName": (pod) => stringAt(pod, "status", "nominatedNodeName"),
  },
  columns,
  completed: (pod) => ({ ...withDefaults(pod), status: { phase: "Pending" } }),
  merged: withDefaults,
  problems,
});
