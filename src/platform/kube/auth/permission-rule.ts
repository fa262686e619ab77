/** An RBAC rule. */
export interface PermissionRule {
  /** Absent: cluster-wide. */
  readonly namespace?: string;
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Absent: all objects. */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
