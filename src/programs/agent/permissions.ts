import { apiGroup } from "../../core/api/index.ts";
import { tokenReviewRules } from "../../platform/kube/index.ts";

/** A rule of RBAC. */
interface PermissionRule {
  /** Left out: cluster-wide. */
  readonly namespace?: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const WATCHED = ["list", "watch"] as const;

/**
 * All that an agent may do, and nothing more: it reads targets and routes, and writes what became of them. RBAC cannot narrow a
 * list to one name, nor a write to one's own node: an admission policy does that where one is installed.
 */
export const agentPermissions = (mode: "daemonset" | "pool"): readonly PermissionRule[] => [
  { apiGroups: [""], resources: ["nodes"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins/status"], verbs: ["patch"] },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["telemetryprofiles"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["telemetryprofiles/status"], verbs: ["patch"] },
  // Server-side apply creates what is not there, hence `create` beside `patch`.
  {
    apiGroups: [apiGroup],
    resources: ["nodehardwares"],
    verbs: [...(mode === "pool" ? WATCHED : ["get"]), "create", "patch"],
  },
  { apiGroups: [apiGroup], resources: ["nodehardwares/status"], verbs: ["patch"] },
  { namespace: "default", apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  // For debug pages asked for with a token.
  ...tokenReviewRules,
];
