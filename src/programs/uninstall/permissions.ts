import { apiGroup } from "../../core/api/index.ts";

/** RBAC rules of `joulie uninstall`; a rule without a namespace is cluster-wide. */
export const uninstallPermissions = (namespace: string) => [
  { apiGroups: [""], resources: ["namespaces"], resourceNames: [namespace], verbs: ["patch"] },
  { apiGroups: [""], resources: ["nodes"], verbs: ["list", "patch"] },
  {
    apiGroups: [apiGroup],
    resources: ["nodetwins", "nodehardwares", "nodepowerprofiles"],
    verbs: ["list", "delete"],
  },
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: ["list"] },
  { namespace, apiGroups: [""], resources: ["pods"], verbs: ["list"] },
];
