import { apiGroup } from "../../core/api/index.ts";

/** RBAC rules of `joulie check`; it changes nothing. A rule without a namespace is cluster-wide. */
export const checkPermissions = (namespace: string, service: string) => [
  // To see the annotation that stops everything.
  { apiGroups: [""], resources: ["namespaces"], resourceNames: [namespace], verbs: ["get"] },
  { apiGroups: [""], resources: ["nodes"], verbs: ["list"] },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: ["list"] },
  // To ask what the ServiceAccounts of the other programs may do.
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  // To ask the extender through the API server, which is in the network of kube-scheduler.
  {
    namespace,
    apiGroups: [""],
    resources: ["services/proxy"],
    resourceNames: [`${service}:metrics`],
    verbs: ["get"],
  },
];
