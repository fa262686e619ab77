import { apiGroup } from "../../core/api/index.ts";
import { tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/** The dashboard only reads: no Secrets, no writes. `create` of the two reviews changes nothing in the cluster. */
export const dashboardPermissions = [
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [""], resources: ["pods"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: WATCHED },
  // For the tokens of clients on other machines.
  ...tokenReviewRules,
] as const;
