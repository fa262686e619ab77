import { apiGroup } from "../../core/api/index.ts";
import { operatorStateRule, type PermissionRule, tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/** The extender only reads. By default it needs no access to pods: kube-scheduler sends the pod with each request. */
export const extenderPermissions = [
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: WATCHED },
  // For debug pages requested with a token: TokenReview and SubjectAccessReview, which change nothing.
  ...tokenReviewRules,
] as const;

/** The same, and the settings of the operator in the namespace of the installation. */
export const installedExtenderPermissions = (namespace: string): readonly PermissionRule[] => [
  ...extenderPermissions,
  operatorStateRule(namespace),
];

/** With SCORING=energy the extender also reads which pods run on which node. */
export const energyExtenderPermissions = [
  ...extenderPermissions,
  { apiGroups: [""], resources: ["pods"], verbs: WATCHED },
] as const;
