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
import type { Resource } from "./resource.ts";

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
