/** What every object of a Kubernetes API has. */
export interface KubeMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object as the server sends it: of what is below `metadata`, only its kind's reader knows more. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
}

/** Which object: cluster-scoped ones have no namespace. */
export interface ObjectName {
  readonly name: string;
  readonly namespace?: string;
}

/** `namespace/name`, or the name alone: what a store and a work queue know an object by. */
export const keyOf = ({ namespace, name }: ObjectName): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
