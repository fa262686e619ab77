import { ageOf } from "../api/response-format.ts";
import { at, type JsonObject, stringAt } from "../storage/json.ts";
import { type ApiObject, kubeTimestamp } from "../storage/kube-object.ts";
import { builtIn } from "./builtin-kinds.ts";
import type { Column, ServedResource, StoredObjectView } from "./served-resource.ts";

/** Fields of events.k8s.io/v1 and their names in the core group. All other fields have the same name in both. */
const coreNames: Readonly<Record<string, string>> = {
  regarding: "involvedObject",
  note: "message",
  deprecatedSource: "source",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedCount: "count",
  reportingController: "reportingComponent",
};
const newNames = Object.fromEntries(Object.entries(coreNames).map(([fresh, core]) => [core, fresh]));

const renamed = (object: JsonObject, names: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(
    Object.entries(object).map(([key, value]) => [(Object.hasOwn(names, key) ? names[key] : undefined) ?? key, value]),
  );

/** Core-group timestamps for events created through events.k8s.io. Clients sort by them (`kubectl get events --sort-by=.lastTimestamp`). */
const coreTimes = (event: ApiObject): JsonObject => ({
  firstTimestamp: seconds(
    at(event, "deprecatedFirstTimestamp") ?? at(event, "eventTime") ?? event.metadata.creationTimestamp,
  ),
  lastTimestamp: seconds(lastSeen(event)),
});

/** The core group uses whole seconds. */
function seconds(time: unknown): unknown {
  const at = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) ? time : kubeTimestamp(at);
}

const coreView: StoredObjectView = {
  represent: (event) => ({ ...renamed(event, coreNames), ...coreTimes(event), apiVersion: "v1" }) as ApiObject,
  toStored: (event) => ({ ...renamed(event, newNames), apiVersion: "events.k8s.io/v1" }),
};

/** Reads a field by its events.k8s.io or core name. */
const either = (event: JsonObject, name: string): unknown => at(event, name) ?? at(event, coreNames[name] ?? name);

const lastSeen = (event: ApiObject): unknown =>
  at(event, "series", "lastObservedTime") ??
  either(event, "deprecatedLastTimestamp") ??
  at(event, "eventTime") ??
  event.metadata.creationTimestamp;

const regarded = (event: JsonObject, field: string): string => stringAt(either(event, "regarding"), field);

const columns: readonly Column[] = [
  { name: "Last Seen", type: "string", cell: (event, now) => ageOf(lastSeen(event), now) },
  { name: "Type", type: "string", cell: (event) => stringAt(event, "type") },
  { name: "Reason", type: "string", cell: (event) => stringAt(event, "reason") },
  {
    name: "Object",
    type: "string",
    cell: (event) => `${regarded(event, "kind").toLowerCase()}/${regarded(event, "name")}`,
  },
  { name: "Message", type: "string", cell: (event) => either(event, "note") ?? "" },
];

const regardedFields = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];
const selectableAs = (parent: string) =>
  Object.fromEntries(
    regardedFields.map((field) => [`${parent}.${field}`, (event: ApiObject) => regarded(event, field)]),
  );
const alsoSelectable = {
  reason: (event: ApiObject) => stringAt(event, "reason"),
  type: (event: ApiObject) => stringAt(event, "type"),
  reportingController: (event: ApiObject) => stringAt(event, "reportingController"),
};

export const events = builtIn({
  group: "events.k8s.io",
  kind: "Event",
  shortNames: ["ev"],
  storedAs: "/events",
  selectable: { ...selectableAs("regarding"), ...alsoSelectable },
  columns,
});

/** The core-group view, read by `kubectl describe` and older clients. */
export const coreEvents: ServedResource = {
  ...events,
  group: "",
  view: coreView,
  selectable: { ...selectableAs("involvedObject"), ...alsoSelectable },
};
