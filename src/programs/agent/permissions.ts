import { apiGroup } from "../../core/api/index.ts";
import { operatorStateRule, type PermissionRule, stopSwitchRule, tokenReviewRules } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/**
 * The complete permissions of an agent: it reads targets and routes, and writes status. RBAC can restrict neither a list to one
 * name nor a write to the agent's own node; an admission policy does that where one is installed. `namespace` is that of the
 * installation, with the stop switch.
 */
export const agentPermissions = (
  mode: "daemonset" | "pool",
  namespace = "joulie-system",
): readonly PermissionRule[] => [
  stopSwitchRule(namespace),
  operatorStateRule(namespace),
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins/status"], verbs: ["patch"] },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["telemetryprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["telemetryprofiles/status"], verbs: ["patch"] },
  // Server-side apply creates missing objects, so it needs `create` and `patch`.
  {
    apiGroups: [apiGroup],
    resources: ["nodehardwares"],
    verbs: [...(mode === "pool" ? WATCHED : ["get"]), "create", "patch"],
  },
  { apiGroups: [apiGroup], resources: ["nodehardwares/status"], verbs: ["patch"] },
  { namespace: "default", apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  // To authorize requests for debug pages that carry a token.
  ...tokenReviewRules,
];
