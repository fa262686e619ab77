/**
 * Every name Joulie shares with the cluster, once: the group and its version, field managers, labels, annotations and
 * resources.
 *
 * There are no finalizer names because Joulie uses no finalizers: a dead agent or operator must never block the deletion
 * of a Node, a pod or one of our own objects.
 */
export const apiGroup = "joulie.io";
export const apiVersionName = "v1alpha1";
export const apiVersion = `${apiGroup}/${apiVersionName}` as const;

/** Who owns which fields under server-side apply. */
export const fieldManagers = { operator: "joulie-operator", agent: "joulie-agent" } as const;

export const labels = {
  /** Node, `true`: in Joulie's scope. */
  managed: "joulie.io/managed",
  /** Node, `true`: in scope but left alone. */
  reserved: "joulie.io/reserved",
  /** Node: the profile the scheduler may rely on. */
  powerProfile: "joulie.io/power-profile",
  /** Node: on its way to eco while performance pods still run. */
  draining: "joulie.io/draining",
  /** NodePowerProfile: `operator` marks a mirror, anything else a person's pin. */
  managedBy: "joulie.io/managed-by",
  /** Node topology: whose power supply it shares. */
  rack: "joulie.io/rack",
  /** Node topology: whose air it shares. */
  coolingZone: "joulie.io/cooling-zone",
} as const;

/** The value of `joulie.io/managed-by` on what the operator mirrors. */
export const managedByOperator = "operator";
/** `policy.name` of a NodeTwin that copies a person's NodePowerProfile. */
export const pinnedPolicyName = "pinned";

export const annotations = {
  /** Pod: `performance` or `standard`. */
  workloadClass: "joulie.io/workload-class",
} as const;

/** Hardware identity a person declares on a Node. */
export const declaredHardwareLabels = {
  cpuModel: "joulie.io/hw.cpu-model",
  cpuSockets: "joulie.io/hw.cpu-sockets",
  cpuCores: "joulie.io/hw.cpu-cores",
  gpuModel: "joulie.io/hw.gpu-model",
  gpuCount: "joulie.io/hw.gpu-count",
} as const;

/** Node labels that may name the GPU product, most specific first: the default of GPU_PRODUCT_LABEL_KEYS. */
export const gpuProductLabels = [
  "joulie.io/gpu.product",
  "nvidia.com/gpu.product",
  "amd.com/gpu.product",
  "amd.com/gpu.family",
] as const;

/** What Node Feature Discovery says about the CPU. */
export const nfdCpuLabels = {
  vendor: "feature.node.kubernetes.io/cpu-vendor",
  vendorId: "feature.node.kubernetes.io/cpu-model.vendor_id",
  model: "feature.node.kubernetes.io/cpu-model.name",
  sockets: "feature.node.kubernetes.io/cpu-sockets",
} as const;

/** The kubelet's own label for the instruction set: amd64, arm64. */
export const archLabel = "kubernetes.io/arch";

export const gpuVendors = ["nvidia", "amd", "intel"] as const;
export type GpuVendor = (typeof gpuVendors)[number];

const pciVendorIds: Readonly<Record<GpuVendor, string>> = { nvidia: "10de", amd: "1002", intel: "8086" };
/** NFD names PCI devices with or without their class: 0300 is a display controller, 0302 a 3D controller. */
const pciClassPrefixes = ["", "0300_", "0302_"] as const;

const pciLabelsOf = (vendor: GpuVendor): readonly string[] =>
  pciClassPrefixes.map((prefix) => `feature.node.kubernetes.io/pci-${prefix}${pciVendorIds[vendor]}.present`);

/** NFD labels that say a vendor's PCI device is present. */
export const nfdGpuLabels: Readonly<Record<GpuVendor, readonly string[]>> = {
  nvidia: pciLabelsOf("nvidia"),
  amd: pciLabelsOf("amd"),
  intel: pciLabelsOf("intel"),
};

/** Extended resources that count whole GPUs in a Node's `status.allocatable`. */
export const gpuResources: Readonly<Record<GpuVendor, string>> = {
  nvidia: "nvidia.com/gpu",
  amd: "amd.com/gpu",
  intel: "gpu.intel.com/i915",
};
