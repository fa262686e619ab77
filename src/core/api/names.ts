/**
 * Every name that Joulie shares with the cluster: the API group and version, field managers, labels, annotations and
 * resources.
 *
 * Joulie uses no finalizers: a dead agent or operator must never block the deletion of a Node, a pod or one of Joulie's
 * own objects.
 */
export const apiGroup = "joulie.io";
export const apiVersionName = "v1alpha1";
export const apiVersion = `${apiGroup}/${apiVersionName}` as const;

/** The field managers of server-side apply. */
export const fieldManagers = { operator: "joulie-operator", agent: "joulie-agent", power: "joulie-power" } as const;

export const labels = {
  /** Node, `true`: Joulie manages the node. */
  managed: "joulie.io/managed",
  /** Node, `true`: selected, but Joulie does not plan it. */
  reserved: "joulie.io/reserved",
  /** Node: the profile that the scheduler may rely on. */
  powerProfile: "joulie.io/power-profile",
  /** Node: changing to eco while performance pods still run on it. */
  draining: "joulie.io/draining",
  /** Node, `true`, set by a user: Joulie may switch the node off while it is empty. */
  maySleep: "joulie.io/may-sleep",
  /** NodePowerProfile: `operator` marks a mirror of the operator's target; any other value is a user's pin. */
  managedBy: "joulie.io/managed-by",
  /** Node topology: the rack, whose nodes share a power supply. */
  rack: "joulie.io/rack",
  /** Node topology: the cooling zone, whose nodes share their air. */
  coolingZone: "joulie.io/cooling-zone",
} as const;

/** The value of `joulie.io/managed-by` on the operator's mirrors. */
export const managedByOperator = "operator";
/** `policy.name` of a NodeTwin whose target comes from a user's NodePowerProfile. */
export const pinnedPolicyName = "pinned";

export const annotations = {
  /** Pod: `performance` or `standard`. */
  workloadClass: "joulie.io/workload-class",
  /** Pod: how long it is expected to run, as a duration such as `45m`. */
  expectedDuration: "joulie.io/expected-duration",
  /** Namespace of the installation, `true`: agents restore all original limits, the operator writes nothing, and sleeping nodes wake. */
  stop: "joulie.io/stop",
  /** PowerEndpoint, `true`: the node is woken and stays awake, whatever the operator decides. */
  keepAwake: "joulie.io/keep-awake",
  /** NodePowerProfile, a time in RFC 3339: the pin has no effect from then on. */
  pinUntil: "joulie.io/pin-until",
  /** PowerEndpoint, any value: the power program switches the node off and on once, then removes the annotation. */
  testPower: "joulie.io/test-power",
  /** Node, a time in RFC 3339: `joulie power test` has cordoned it, to move its pods away. */
  drainedForTest: "joulie.io/drained-for-test",
  /** Secret, hosts separated by commas: the power switches that may receive the content of the Secret. */
  hosts: "joulie.io/hosts",
  /**
   * PowerEndpoint, any value: the power program wakes the node if its switch says off. It removes the annotation when the switch says
   * on and the node is Ready.
   */
  wake: "joulie.io/wake",
} as const;

/** The taint of a node that is being switched off, is off, or is coming back. */
export const asleepTaint = { key: "joulie.io/asleep", effect: "NoSchedule" } as const;

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

/** CPU labels of Node Feature Discovery. It publishes the vendor ID by itself, the others by rules of a site. */
export const nfdCpuLabels = {
  vendor: "feature.node.kubernetes.io/cpu-vendor",
  vendorId: "feature.node.kubernetes.io/cpu-model.vendor_id",
  model: "feature.node.kubernetes.io/cpu-model.name",
  sockets: "feature.node.kubernetes.io/cpu-sockets",
} as const;

/** The kubelet's label for the instruction set: amd64, arm64. */
export const archLabel = "kubernetes.io/arch";

export const gpuVendors = ["nvidia", "amd", "intel"] as const;
export type GpuVendor = (typeof gpuVendors)[number];

const pciVendorIds: Readonly<Record<GpuVendor, string>> = { nvidia: "10de", amd: "1002", intel: "8086" };
/**
 * NFD names PCI devices by class and vendor, or by vendor alone as the GPU operator configures it. Classes: 0300 and 0380
 * display controllers, 0302 3D controllers, 1200 accelerators.
 */
const pciClassPrefixes = ["", "0300_", "0302_", "0380_", "1200_"] as const;

const pciLabelsOf = (vendor: GpuVendor): readonly string[] =>
  pciClassPrefixes.map((prefix) => `feature.node.kubernetes.io/pci-${prefix}${pciVendorIds[vendor]}.present`);

export const nfdGpuLabels: Readonly<Record<GpuVendor, readonly string[]>> = {
  nvidia: pciLabelsOf("nvidia"),
  amd: pciLabelsOf("amd"),
  intel: pciLabelsOf("intel"),
};

/** Extended resources that count whole GPUs in `status.allocatable` of a Node. */
export const gpuResources: Readonly<Record<GpuVendor, string>> = {
  nvidia: "nvidia.com/gpu",
  amd: "amd.com/gpu",
  intel: "gpu.intel.com/i915",
};

/** Where the operator keeps the arrivals of the last day, in its namespace, for the reserve of sleeping nodes. */
export const arrivalsConfigMap = "joulie-arrivals";

/** What the operator tells agents and extenders, in its namespace. */
export const operatorConfigMap = "joulie-operator-state";
