import { apiGroup } from "../../core/api/index.ts";

/** RBAC rules of the fleet, for test clusters: it creates Nodes and acts as their kubelet. */
export const fleetPermissions = (workloadNamespace: string, options: { readonly sleep?: boolean } = {}) => [
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  // A pod of any namespace may run on a simulated node, and only its kubelet can confirm its termination.
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch", "delete"] },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
  { namespace: workloadNamespace, apiGroups: [""], resources: ["pods"], verbs: ["create"] },
  {
    namespace: "kube-node-lease",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "patch"],
  },
  // With --sleep, and list only with --prove-wakes.
  ...(options.sleep === true
    ? [{ apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: ["list", "create", "patch", "delete"] }]
    : []),
];
