/** Where a kind lives in the API. */
export interface Resource {
  /** "" is Kubernetes' core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** `apis/joulie.io/v1alpha1/nodetwins`, with the namespace and name asked for. */
export function pathOf(
  resource: Resource,
  at: { namespace?: string; name?: string; subresource?: string } = {},
): string {
  const base = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const parts = [
    ...(resource.namespaced && at.namespace !== undefined ? ["namespaces", at.namespace] : []),
    resource.plural,
    ...(at.name === undefined ? [] : [at.name]),
    ...(at.subresource === undefined ? [] : [at.subresource]),
  ];
  return `${base}/${parts.map(encodeURIComponent).join("/")}`;
}
