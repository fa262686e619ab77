import type { ApiResponse } from "../../kube/index.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import { countAt, deployments, replicaSets } from "../kinds/workload-kinds.ts";
import { at, type JsonObject, jsonObjectOr } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { jsonReply, textResponse } from "./reply.ts";
import { invalid } from "./status.ts";

/** The Kubernetes version this server implements. The suffix marks it as the embedded API. */
const KUBERNETES = { major: "1", minor: "36", gitVersion: "v1.36.0+joulie.embedded" };

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** Set when the subresource's kind belongs to another API group than the resource. */
  readonly of?: { readonly group: string; readonly version: string };
}

const podSubresources: readonly Subresource[] = [
  { name: "binding", kind: "Binding", verbs: ["create"] },
  // kubectl drain reads the supported version of the policy group here.
  { name: "eviction", kind: "Eviction", verbs: ["create"], of: { group: "policy", version: "v1" } },
];

const scaleSubresource: Subresource = {
  name: "scale",
  kind: "Scale",
  verbs: STATUS_VERBS,
  of: { group: "autoscaling", version: "v1" },
};

const subresourcesOf = (resource: ServedResource): Subresource[] => [
  ...(resource.hasStatus ? [{ name: "status", kind: resource.kind, verbs: STATUS_VERBS }] : []),
  ...(resource.storedAs === "/pods" ? podSubresources : []),
  ...(isScalable(resource) ? [scaleSubresource] : []),
];

function resourceList(apiVersion: string, resources: readonly ServedResource[]): JsonObject {
  const entries = resources.flatMap((resource) => [
    {
      name: resource.plural,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: VERBS,
      shortNames: resource.shortNames,
      categories: resource.categories,
    },
    ...subresourcesOf(resource).map(({ name, kind, verbs, of }) => ({
      name: `${resource.plural}/${name}`,
      singularName: "",
      namespaced: resource.namespaced,
      ...of,
      kind,
      verbs,
    })),
  ]);
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources: entries };
}

function groupEntry(group: string, resources: readonly ServedResource[]): JsonObject {
  const versions = [...new Set(resources.map(servedApiVersionOf))].map((groupVersion) => ({
    groupVersion,
    version: groupVersion.slice(groupVersion.indexOf("/") + 1),
  }));
  return { name: group, versions, preferredVersion: versions[0] };
}

/** Answers health, version and API discovery requests; undefined for any other path. */
export function discoveryReply(path: readonly string[], resources: readonly ServedResource[]): ApiResponse | undefined {
  const [root = "", ...below] = path;
  if (["livez", "readyz", "healthz"].includes(root)) return textResponse(200, "ok", { "content-type": "text/plain" });
  if (root === "version") return jsonReply(200, { ...KUBERNETES, platform: `${process.platform}/${process.arch}` });
  if (root !== "api" && root !== "apis") return undefined;
  const [group, version, ...more] = root === "api" ? ["", ...below] : below;
  const groups = Map.groupBy(resources, (resource) => resource.group);
  if (group === undefined) {
    const named = [...groups].filter(([name]) => name !== "");
    const entries = named.map(([name, served]) => groupEntry(name, served));
    return jsonReply(200, { kind: "APIGroupList", apiVersion: "v1", groups: entries });
  }
  const served = groups.get(group);
  if (served === undefined || more.length > 0) return undefined;
  if (version === undefined && group === "")
    return jsonReply(200, { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] });
  if (version === undefined)
    return jsonReply(200, { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group, served) });
  const listed = served.filter((resource) => resource.version === version);
  return listed[0] === undefined ? undefined : jsonReply(200, resourceList(servedApiVersionOf(listed[0]), listed));
}

/** Kinds that `kubectl scale` resizes. */
export const isScalable = ({ storedAs }: Pick<ServedResource, "storedAs">): boolean =>
  storedAs === deployments.storedAs || storedAs === replicaSets.storedAs;

/** The subresource `scale` of an object. */
export function scaleOf({ metadata, spec, status }: ApiObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const selector = Object.entries(jsonObjectOr(at(spec, "selector", "matchLabels")));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: countAt(jsonObjectOr(spec), "replicas") },
    status: {
      replicas: countAt(jsonObjectOr(status), "replicas"),
      selector: selector.map(([key, value]) => `${key}=${String(value)}`).join(","),
    },
  };
}

/** The object with the size of a Scale, which may be a merge patch of one. */
export function resized(object: ApiObject, scale: JsonObject): ApiObject {
  const replicas = at(scale, "spec", "replicas");
  if (!Number.isInteger(replicas) || Number(replicas) < 0) {
    const message = `Invalid value: ${JSON.stringify(replicas)}: must be a whole number of 0 or more`;
    const problem = { field: "spec.replicas", reason: "FieldValueInvalid", message } as const;
    throw invalid({ group: "autoscaling", kind: "Scale" }, object.metadata.name, [problem]);
  }
  return { ...object, spec: { ...jsonObjectOr(object["spec"]), replicas } };
}
