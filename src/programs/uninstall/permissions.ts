import { apiGroup, arrivalsConfigMap, operatorConfigMap } from "../../core/api/index.ts";

/** RBAC rules of `joulie uninstall`; a rule without a namespace is cluster-wide. */
export const uninstallPermissions = (namespace: string, leases: readonly string[]) => [
  { apiGroups: [""], resources: ["namespaces"], resourceNames: [namespace], verbs: ["patch"] },
  { apiGroups: [""], resources: ["nodes"], verbs: ["list", "patch"] },
  {
    apiGroups: [apiGroup],
    resources: ["nodetwins", "nodehardwares", "nodepowerprofiles"],
    verbs: ["list", "delete"],
  },
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: ["list"] },
  { namespace, apiGroups: [""], resources: ["pods"], verbs: ["list"] },
  { namespace, apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: leases, verbs: ["delete"] },
  {
    namespace,
    apiGroups: [""],
    resources: ["configmaps"],
    resourceNames: [arrivalsConfigMap, operatorConfigMap],
    verbs: ["delete"],
  },
];

/** With a simulated fleet, which has to stop while it still has its own rights. */
export const fleetUninstallPermissions = (namespace: string, leases: readonly string[], fleet: string) => [
  ...uninstallPermissions(namespace, leases),
  { namespace, apiGroups: ["apps"], resources: ["deployments"], resourceNames: [fleet], verbs: ["delete"] },
];
