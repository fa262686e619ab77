import { apiGroup, arrivalsConfigMap, operatorConfigMap } from "../../core/api/index.ts";
import { type PermissionRule, stopSwitchRule, tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/** All permissions of the operator. Server-side apply creates missing objects: it needs `create` and `patch`. */
export const operatorPermissions = (
  namespace: string,
  options: { readonly sleep?: boolean } = {},
): readonly PermissionRule[] => [
  stopSwitchRule(namespace),
  { apiGroups: [""], resources: ["nodes"], verbs: [...WATCHED, "patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: [...WATCHED, "create", "patch", "delete"] },
  { apiGroups: [apiGroup], resources: ["nodetwins/status"], verbs: ["patch"] },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: [...WATCHED, "delete"] },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: [...WATCHED, "create", "patch", "delete"] },
  { namespace, apiGroups: [""], resources: ["configmaps"], resourceNames: [operatorConfigMap], verbs: ["patch"] },
  // A name cannot limit `create`.
  { namespace, apiGroups: [""], resources: ["configmaps"], verbs: ["create"] },
  ...(options.sleep === true ? sleepPermissions(namespace) : []),
  { apiGroups: ["metrics.k8s.io"], resources: ["nodes"], verbs: ["list"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  { namespace, apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "patch"] },
  // For debug pages that are requested with a token.
  ...tokenReviewRules,
];

/** With SLEEP_MODE other than off: which nodes can be woken, which have volumes on their own disks or pods promised by claims, and stored arrivals. */
const sleepPermissions = (namespace: string): readonly PermissionRule[] => [
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: WATCHED },
  { apiGroups: [""], resources: ["persistentvolumes", "persistentvolumeclaims"], verbs: WATCHED },
  {
    namespace,
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: [arrivalsConfigMap],
    verbs: ["get", "patch"],
  },
];
