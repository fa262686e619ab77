/** The API path components of a kind. */
export interface Resource {
  /** "" is the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Messages for a Joulie kind whose CRD is not installed. */
export const definitionOf = ({ group, plural }: Resource): string => `the CustomResourceDefinition ${plural}.${group}`;
export const missingDefinition = (resource: Resource): string => `${definitionOf(resource)} is not installed`;
export const remedyOfMissingDefinition = 'install it with "kubectl apply -f charts/joulie/crds"; trying again';

/** The API path, such as `/apis/joulie.io/v1alpha1/nodetwins`. Throws for an empty or dots-only namespace or name. */
export function pathOf(
  resource: Resource,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const base = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const parts = [
    ...(resource.namespaced && at.namespace !== undefined ? ["namespaces", named("namespace", at.namespace)] : []),
    resource.plural,
    ...(at.name === undefined ? [] : [named("name", at.name)]),
    ...(at.subresource === undefined ? [] : [at.subresource]),
  ];
  return `${base}/${parts.map(encodeURIComponent).join("/")}`;
}

/** An empty name would address the whole collection and dots another path; a delete would then hit the wrong objects. */
function named(what: string, given: string): string {
  if (/^\.*$/.test(given)) throw new TypeError(`${JSON.stringify(given)} is not a valid object ${what}`);
  return given;
}

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
