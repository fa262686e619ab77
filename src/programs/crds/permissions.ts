import { apiGroup, kinds } from "../../core/api/index.ts";

/** RBAC rules of `joulie crds apply`. Server-side apply creates missing objects and therefore needs `create` and `patch`. */
export const crdsPermissions = [
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions"],
    resourceNames: kinds.map(({ plural }) => `${plural}.${apiGroup}`),
    verbs: ["create", "patch"],
  },
];
