/** Where a kind lives in the API. */
export interface Resource {
  /** "" is Kubernetes' core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** What to tell of a kind of ours that the server does not know, and what to do about it. */
export const definitionOf = ({ group, plural }: Resource): string => `the CustomResourceDefinition ${plural}.${group}`;
export const missingDefinition = (resource: Resource): string => `${definitionOf(resource)} is not installed`;
export const remedyOfMissingDefinition = 'install it with "kubectl apply -f charts/joulie/crds"; trying again';

/** `/apis/joulie.io/v1alpha1/nodetwins`, with the namespace and name asked for. Throws for one that names nothing. */
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

/** Without its last part a path means the whole collection, and dots are walked away with: deleting there is not deleting here. */
function named(what: string, given: string): string {
  if (/^\.*$/.test(given)) throw new TypeError(`${JSON.stringify(given)} is no ${what} of an object`);
  return given;
}
