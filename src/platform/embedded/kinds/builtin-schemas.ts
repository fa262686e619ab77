import type { Schema } from "./schema.ts";

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
  }),
  status: fields({ conditions: mapBy(["type"]), podIPs: mapBy(["ip"]) }),
});

export const nodeSchema: Schema = fields({
  metadata: metadataSchema,
  spec: fields({ podCIDRs: set }),
  status: fields({ conditions: mapBy(["type"]), addresses: mapBy(["type"]) }),
});

export const plainSchema: Schema = fields({
  metadata: metadataSchema,
  status: fields({ conditions: mapBy(["type"]) }),
});
