interface KubeMetadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object from the server. Only the reader of its kind validates the fields besides `metadata`. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
}

/** Identifies an object. Cluster-scoped objects have no namespace. */
export interface ObjectName {
  readonly name: string;
  readonly namespace?: string;
}

/** `namespace/name`, or the name of a cluster-scoped object: the key in stores and work queues. */
export const keyOf = ({ namespace, name }: ObjectName): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
