import type { ApiResponse } from "../../kube/index.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import type { JsonObject } from "../storage/json.ts";
import { jsonReply } from "./reply.ts";

// The subset of OpenAPI v3 that kubectl reads: which kinds support server-side validation of patches, and the fields of
// custom kinds (`kubectl explain`). Built-in kinds are described only as objects.

/** The index entry of a group version, such as `apis/joulie.io/v1alpha1`. */
const folderOf = (resource: ServedResource): string =>
  `${resource.group === "" ? "api" : "apis"}/${servedApiVersionOf(resource)}`;

const kindOf = ({ group, version, kind }: ServedResource) => ({ group, version, kind });

/** The schema name in Kubernetes' form, such as `io.joulie.v1alpha1.NodeTwin`. */
const schemaName = ({ group, version, kind }: ServedResource): string =>
  [...(group === "" ? ["core", "api", "k8s", "io"] : group.split(".")).toReversed(), version, kind].join(".");

function pathItem(resource: ServedResource): JsonObject {
  const parameter = (name: string) => ({ name, in: "query", schema: { type: "string" } });
  const parameters = ["fieldManager", "fieldValidation", "force"].map(parameter);
  return {
    patch: {
      parameters,
      responses: {},
      "x-kubernetes-group-version-kind": kindOf(resource),
      "x-kubernetes-action": "patch",
    },
  };
}

function documentOf(resources: readonly ServedResource[]): JsonObject {
  const schemas = resources.map((resource) => {
    const schema = resource.custom ? resource.schema : { type: "object" };
    return [schemaName(resource), { ...schema, "x-kubernetes-group-version-kind": [kindOf(resource)] }] as const;
  });
  const paths = resources.map((resource) => {
    const place = resource.namespaced ? "namespaces/{namespace}/" : "";
    return [`/${folderOf(resource)}/${place}${resource.plural}/{name}`, pathItem(resource)] as const;
  });
  return {
    openapi: "3.0.0",
    info: { title: "Joulie's embedded Kubernetes API", version: "unversioned" },
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas) },
  };
}

/** Responds to paths under `/openapi/v3`; undefined for unknown paths, including OpenAPI v2. */
export function openapiReply(
  [root, version, ...folder]: readonly string[],
  resources: readonly ServedResource[],
): ApiResponse | undefined {
  if (root !== "openapi" || version !== "v3") return undefined;
  const byFolder = Map.groupBy(resources, folderOf);
  if (folder.length === 0) {
    const paths = [...byFolder.keys()].map((one) => [one, { serverRelativeURL: `/openapi/v3/${one}` }] as const);
    return jsonReply(200, { paths: Object.fromEntries(paths) });
  }
  const served = byFolder.get(folder.join("/"));
  return served === undefined ? undefined : jsonReply(200, documentOf(served));
}
