import type { ServedResource } from "../kinds/served-resource.ts";
import { countAt, deployments, replicaSets } from "../kinds/workload-kinds.ts";
import { at, type JsonObject, jsonObjectOr } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { invalid } from "./status.ts";

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
