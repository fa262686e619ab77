import { apiGroup } from "../../core/api/index.ts";
import { type PermissionRule, tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/** The dashboard only reads: no Secrets, no writes. `create` of the two reviews changes nothing in the cluster. */
export const dashboardPermissions = (namespace: string): readonly PermissionRule[] => [
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [""], resources: ["pods"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: WATCHED },
  // What is installed: the stop switch, the programs with the extender's settings, and the leading operator.
  { apiGroups: [""], resources: ["namespaces"], resourceNames: [namespace], verbs: ["get"] },
  { namespace, apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"] },
  { namespace, apiGroups: ["apps"], resources: ["daemonsets"], verbs: ["list"] },
  { namespace, apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["list"] },
  { namespace, apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get"] },
  // For the tokens of clients on other machines.
  ...tokenReviewRules,
];
