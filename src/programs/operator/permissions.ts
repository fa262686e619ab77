import { apiGroup } from "../../core/api/index.ts";
import { tokenReviewRules } from "../../platform/kube/index.ts";

/** A rule of RBAC. */
export interface PermissionRule {
  /** Left out: cluster-wide. */
  readonly namespace?: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const WATCHED = ["list", "watch"] as const;

/**
 * All that the operator may do, and nothing more. Server-side apply creates what is not there, hence `create` beside `patch`.
 * `namespace` is where its lease lives. Events about nodes go where Kubernetes keeps them, into `default`; events about pods into
 * the namespace of the pod, which may be any.
 */
export const operatorPermissions = (namespace: string): readonly PermissionRule[] => [
  { apiGroups: [""], resources: ["nodes"], verbs: [...WATCHED, "patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: WATCHED },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: [...WATCHED, "create", "patch", "delete"] },
  { apiGroups: [apiGroup], resources: ["nodetwins/status"], verbs: ["patch"] },
  { apiGroups: [apiGroup], resources: ["nodehardwares"], verbs: [...WATCHED, "delete"] },
  { apiGroups: [apiGroup], resources: ["nodepowerprofiles"], verbs: [...WATCHED, "create", "patch", "delete"] },
  { apiGroups: ["metrics.k8s.io"], resources: ["nodes"], verbs: ["list"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  { namespace, apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "patch"] },
  // For debug pages asked for with a token.
  ...tokenReviewRules,
];
