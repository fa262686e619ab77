/**
 * All that the simulator may do; a rule without a namespace is for the whole cluster. It is for clusters to try things out
 * in: it makes Nodes and stands in for their kubelets.
 */
export const fleetPermissions = (workloadNamespace: string) => [
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["nodes/status"], verbs: ["patch"] },
  // A pod on a simulated node may be of any namespace, and only a kubelet can say that it has ended.
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch", "delete"] },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
  { namespace: workloadNamespace, apiGroups: [""], resources: ["pods"], verbs: ["create"] },
  {
    namespace: "kube-node-lease",
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "patch"],
  },
];
