import {
  type AnyKind,
  apiGroup,
  apiVersionName,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  powerEndpointKind,
  telemetryProfileKind,
} from "../../../core/api/index.ts";

const cluster = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: false,
});
const namespaced = (group: string, version: string, plural: string, kind: string): Resource => ({
  ...cluster(group, version, plural, kind),
  namespaced: true,
});
const ours = ({ plural, kind }: AnyKind): Resource => cluster(apiGroup, apiVersionName, plural, kind);

/** All kinds that Joulie uses. */
export const resources = {
  nodes: cluster("", "v1", "nodes", "Node"),
  pods: namespaced("", "v1", "pods", "Pod"),
  namespaces: cluster("", "v1", "namespaces", "Namespace"),
  configMaps: namespaced("", "v1", "configmaps", "ConfigMap"),
  persistentVolumes: cluster("", "v1", "persistentvolumes", "PersistentVolume"),
  persistentVolumeClaims: namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
  secrets: namespaced("", "v1", "secrets", "Secret"),
  deployments: namespaced("apps", "v1", "deployments", "Deployment"),
  daemonSets: namespaced("apps", "v1", "daemonsets", "DaemonSet"),
  statefulSets: namespaced("apps", "v1", "statefulsets", "StatefulSet"),
  leases: namespaced("coordination.k8s.io", "v1", "leases", "Lease"),
  events: namespaced("events.k8s.io", "v1", "events", "Event"),
  nodeMetrics: cluster("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics"),
  tokenReviews: cluster("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
  subjectAccessReviews: cluster("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
  selfSubjectAccessReviews: cluster(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
  ),
  customResourceDefinitions: cluster(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
  ),
  nodeHardwares: ours(nodeHardwareKind),
  nodeTwins: ours(nodeTwinKind),
  nodePowerProfiles: ours(nodePowerProfileKind),
  telemetryProfiles: ours(telemetryProfileKind),
  powerEndpoints: ours(powerEndpointKind),
} as const satisfies Readonly<Record<string, Resource>>;

/** The `apiVersion` of a resource: `v1`, `joulie.io/v1alpha1`. */
export const apiVersionOf = ({ group, version }: Resource): string => (group === "" ? version : `${group}/${version}`);

/** The API path components of a kind. */
export interface Resource {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Messages for a Joulie kind whose CRD is not installed. */
export const definitionOf = ({ group, plural }: Resource): string => `the CustomResourceDefinition ${plural}.${group}`;
export const missingDefinition = (resource: Resource): string => `${definitionOf(resource)} is not installed`;
export const remedyOfMissingDefinition = 'install it with "kubectl apply -f charts/joulie/crds"; trying again';

/** The API path, such as `/apis/joulie.io/v1alpha1/nodetwins`. Throws for an empty or dots-only namespace or name. */
export function pathOf(
  resource: Resource,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const base = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const parts = [
    ...(resource.namespaced && at.namespace !== undefined ? ["namespaces", named("namespace", at.namespace)] : []),
    resource.plural,
    ...(at.name === undefined ? [] : [named("name", at.name)]),
    ...(at.subresource === undefined ? [] : [at.subresource]),
  ];
  return `${base}/${parts.map(encodeURIComponent).join("/")}`;
}

/** An empty name would address the whole collection and dots another path; a delete would then hit the wrong objects. */
function named(what: string, given: string): string {
  if (/^\.*$/.test(given)) throw new TypeError(`${JSON.stringify(given)} is not a valid object ${what}`);
  return given;
}

export interface PermissionRule {
  /** Absent: cluster-wide. */
  readonly namespace?: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Absent: all objects. */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
