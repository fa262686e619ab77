import { isJsonObject, type JsonObject } from "../storage/json.ts";

// How server-side apply merges the lists and maps of built-in kinds. Unlisted objects merge field by field and unlisted lists
// are atomic. Source: Kubernetes' OpenAPI (x-kubernetes-list-type and -map-type).

const mapBy = (keys: readonly string[], item: Schema = {}): Schema => ({
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": keys,
  items: item,
});
const set: Schema = { "x-kubernetes-list-type": "set" };
const atomic: Schema = { "x-kubernetes-map-type": "atomic" };
const fields = (properties: Readonly<Record<string, Schema>>): Schema => ({ properties });

export const metadataSchema: Schema = {
  type: "object",
  "x-kubernetes-preserve-unknown-fields": true,
  properties: { finalizers: set, ownerReferences: mapBy(["uid"]) },
};

const container = fields({
  env: mapBy(["name"]),
  ports: mapBy(["containerPort", "protocol"], fields({ protocol: { default: "TCP" } })),
  volumeMounts: mapBy(["mountPath"]),
  volumeDevices: mapBy(["devicePath"]),
});

export const podSchema: Schema = fields({
  metadata: metadataSchema,
  spec: fields({
    nodeSelector: atomic,
    containers: mapBy(["name"], container),
    initContainers: mapBy(["name"], container),
    ephemeralContainers: mapBy(["name"], container),
    volumes: mapBy(["name"]),
    imagePullSecrets: mapBy(["name"]),
    hostAliases: mapBy(["ip"]),
    schedulingGates: mapBy(["name"]),
    topologySpreadConstraints: mapBy(["topologyKey", "whenUnsatisfiable"]),
    resourceClaims: mapBy(["name"]),
  }),
  status: fields({ conditions: mapBy(["type"]), podIPs: mapBy(["ip"]), hostIPs: mapBy(["ip"]) }),
});

export const nodeSchema: Schema = fields({
  metadata: metadataSchema,
  spec: fields({ podCIDRs: set }),
  status: fields({ conditions: mapBy(["type"]), addresses: mapBy(["type"]) }),
});

/** The part that all kinds with a pod template have. */
export const workloadSchema: Schema = fields({
  metadata: metadataSchema,
  spec: fields({ template: podSchema }),
  status: fields({ conditions: mapBy(["type"]) }),
});

export const plainSchema: Schema = fields({
  metadata: metadataSchema,
  status: fields({ conditions: mapBy(["type"]) }),
});

/** The schema of a CRD, or how lists and maps of a built-in kind merge. Names only the fields that are read here. */
export interface Schema {
  readonly type?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** How a value is merged and owned: atomically, field by field, or item by item. */
export type Structure = "leaf" | "fields" | "set" | "map";

export function structureOf(value: unknown, schema: Schema | undefined): Structure {
  if (Array.isArray(value)) {
    const type = schema?.["x-kubernetes-list-type"];
    return type === "map" || type === "set" ? type : "leaf";
  }
  return isJsonObject(value) && schema?.["x-kubernetes-map-type"] !== "atomic" ? "fields" : "leaf";
}

export function fieldSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** The fieldsV1 key of an item in a list of type map. */
function itemElement(item: unknown, schema: Schema | undefined): string {
  const keys = [...(schema?.["x-kubernetes-list-map-keys"] ?? [])].toSorted();
  const fields: JsonObject = isJsonObject(item) ? item : {};
  const pairs = keys
    .map((key) => [key, fields[key] ?? fieldSchema(schema?.items, key)?.default])
    .filter(([, value]) => value !== undefined);
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

const setElement = (item: unknown): string => `v:${JSON.stringify(item)}`;

/** Items of a map or set list by fieldsV1 key; the first of duplicates wins. */
export function itemsByKey(
  list: readonly unknown[],
  schema: Schema | undefined,
  structure: Structure,
): Map<string, unknown> {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const element = structure === "map" ? itemElement(item, schema) : setElement(item);
    if (!items.has(element)) items.set(element, item);
  }
  return items;
}
