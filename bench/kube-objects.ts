/** A Node as a real kubelet reports it, with labels, conditions and images: about 10 KB. */
export function bigNode(index: number, version: number) {
  const { spec, status, metadata } = nodeWithout(index, version);
  const { labels, annotations } = metadata;
  const managedFields = [
    managed("kube-controller-manager", { metadata: { annotations }, spec }),
    managed("kubelet", { metadata: { labels }, status: { ...status, images: {} } }, "status"),
  ];
  return { metadata: { ...metadata, managedFields }, spec, status };
}

const nodeWithout = (index: number, version: number) => ({
  metadata: {
    name: `node-${index}.rack-${index % 40}.example.com`,
    uid: uid(1, index),
    resourceVersion: String(version),
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: labelsOf(30, { "kubernetes.io/hostname": `node-${index}`, "joulie.io/managed": "true" }),
    annotations: {
      "node.alpha.kubernetes.io/ttl": "0",
      "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    },
  },
  spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"], providerID: `kind://docker/node-${index}` },
  status: {
    capacity: { cpu: "128", memory: "1056567832Ki", pods: "110", "nvidia.com/gpu": "8" },
    allocatable: { cpu: "127", memory: "1056465432Ki", pods: "110", "nvidia.com/gpu": "8" },
    conditions: ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map((type) => ({
      type,
      status: type === "Ready" ? "True" : "False",
      lastHeartbeatTime: "2026-01-01T00:00:00Z",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      reason: `Kubelet${type}`,
      message: `kubelet reports on ${type}`,
    })),
    images: Array.from({ length: 15 }, (_, image) => ({
      names: [`registry.example.com/team/image-${image}@sha256:${"0123456789abcdef".repeat(4)}`],
      sizeBytes: 100_000_000 + image,
    })),
    nodeInfo: { kernelVersion: "6.1.0", kubeletVersion: "v1.36.3", containerRuntimeVersion: "containerd://2.1.4" },
  },
});

/** A running Pod of a deployment: about 6 KB, half of it `managedFields`. */
export function bigPod(index: number, version: number) {
  const { spec, status, metadata } = podWithout(index, version);
  const { labels, annotations, ownerReferences } = metadata;
  const managedFields = [
    managed("kube-controller-manager", { metadata: { labels, annotations, ownerReferences }, spec }),
    managed("kubelet", { status }, "status"),
  ];
  return { metadata: { ...metadata, managedFields }, spec, status };
}

const podWithout = (index: number, version: number) => ({
  metadata: {
    name: `web-7d4b9c-${index}`,
    namespace: `team-${index % 50}`,
    uid: uid(2, index),
    resourceVersion: String(version),
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: labelsOf(6, { app: "web", "pod-template-hash": "7d4b9c" }),
    annotations: { "joulie.io/workload-class": index % 3 === 0 ? "performance" : "standard" },
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-7d4b9c", uid: uid(3, index), controller: true },
    ],
  },
  spec: {
    nodeName: `node-${index % 5000}`,
    containers: [0, 1].map((container) => ({
      name: `c${container}`,
      image: `registry.example.com/team/web-${container}:1.2.3`,
      resources: { requests: { cpu: "500m", memory: "1Gi" }, limits: { cpu: "1", memory: "2Gi" } },
      env: Array.from({ length: 8 }, (_, variable) => ({
        name: `VARIABLE_${variable}`,
        value: `value-${index}-${variable}`,
      })),
      volumeMounts: [{ name: "data", mountPath: "/data" }],
      terminationMessagePath: "/dev/termination-log",
    })),
    tolerations: [
      { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
    schedulerName: "default-scheduler",
  },
  status: {
    phase: "Running",
    podIP: "10.1.2.3",
    startTime: "2026-01-01T00:00:00Z",
    conditions: ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
      type,
      status: "True",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    })),
    containerStatuses: [0, 1].map((container) => ({
      name: `c${container}`,
      ready: true,
      restartCount: 0,
      image: `registry.example.com/team/web-${container}:1.2.3`,
      imageID: `registry.example.com/team/web-${container}@sha256:${"0123456789abcdef".repeat(4)}`,
      containerID: `containerd://${"fedcba9876543210".repeat(4)}`,
      state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    })),
  },
});

/** The fields of a Pod that Joulie's operator reads. */
export interface SmallPod {
  readonly name: string;
  readonly namespace: string;
  readonly node: string;
  readonly phase: string;
  readonly performance: boolean;
  readonly cpu: string;
}

const uid = (kind: number, index: number) => `0000000${kind}-0000-4000-8000-${String(index).padStart(12, "0")}`;

const labelsOf = (count: number, own: Record<string, string>) => ({
  ...own,
  ...Object.fromEntries(
    Array.from({ length: count }, (_, label) => [`feature.node.kubernetes.io/cpu-cpuid.FEATURE${label}`, "true"]),
  ),
});

/** `managedFields` as the API server stores them. */
const managed = (manager: string, fields: object, subresource?: string) => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: fieldsOf(fields),
  ...(subresource !== undefined && { subresource }),
});

/** `{"f:spec":{"f:containers":{"k:{\"name\":\"c0\"}":{…}}}}`: one key per field. */
function fieldsOf(value: unknown): object {
  if (Array.isArray(value)) {
    const keyed = value.filter((item): item is Record<string, unknown> => typeof item === "object" && item !== null);
    return Object.fromEntries(
      keyed.map((item) => {
        const key = ["name", "type", "key", "uid"].find((field) => field in item) ?? "name";
        return [`k:${JSON.stringify({ [key]: item[key] ?? "" })}`, { ".": {}, ...fieldsOf(item) }];
      }),
    );
  }
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [`f:${key}`, fieldsOf(field)]));
}
