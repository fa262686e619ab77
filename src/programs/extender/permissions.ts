import { apiGroup } from "../../core/api/index.ts";
import { tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/** All that the extender may do: look. It writes nothing, evicts nothing and reads no pods; those come with each request. */
export const extenderPermissions = [
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: WATCHED },
  // For debug pages asked for with a token: two questions that change nothing.
  ...tokenReviewRules,
] as const;
