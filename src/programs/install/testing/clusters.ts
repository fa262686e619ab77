import type { ClusterFacts, NodeFacts } from "../cluster-facts.ts";

const node = (name: string, facts: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  labels: { "feature.node.kubernetes.io/cpu-hardware_multithreading": "true" },
  kubelet: "v1.36.3",
  os: "Debian GNU/Linux 13",
  providerId: "",
  hasNoScheduleTaint: false,
  resources: ["cpu", "memory"],
  ...facts,
});

/** A node of the control plane, which takes no other pods. */
const controlPlane = (kubelet = "v1.36.3"): NodeFacts =>
  node("control", { labels: { "node-role.kubernetes.io/control-plane": "" }, kubelet, hasNoScheduleTaint: true });

/** Nothing is found. */
const bare: ClusterFacts = {
  version: "v1.36.3",
  groups: new Set(["apps"]),
  nodes: [],
  runtimeClasses: [],
  hasKubeadmConfig: false,
  namespaceLabels: null,
  installed: null,
  prometheus: [],
  bareMetalHosts: [],
  unread: [],
};

const ofSuffix = (suffix: string): ClusterFacts => {
  const version = `v1.36.3${suffix}`;
  return { ...bare, version, nodes: [controlPlane(version), node("worker", { kubelet: version })] };
};
const ofCloud = (version: string, labels: NodeFacts["labels"], providerId: string): ClusterFacts => ({
  ...bare,
  version,
  nodes: ["a", "b"].map((name) => node(name, { labels, providerId, kubelet: version })),
});

/** What clusters of each kind say about themselves. */
export const clusters = {
  kubeadm: { ...ofSuffix(""), hasKubeadmConfig: true },
  k3s: ofSuffix("+k3s1"),
  rke2: ofSuffix("+rke2r1"),
  openshift: {
    ...ofSuffix(""),
    groups: new Set(["config.openshift.io", "security.openshift.io", "monitoring.coreos.com"]),
    prometheus: [{ address: "http://prometheus-operated.openshift-monitoring:9090", monitorLabels: {} }],
  },
  gke: ofCloud("v1.36.3-gke.1041000", { "cloud.google.com/gke-nodepool": "main" }, "gce://project/zone/a"),
  eks: ofCloud("v1.36.3-eks-3abbec1", { "eks.amazonaws.com/nodegroup": "main" }, "aws:///eu-west-1a/i-0"),
  aks: ofCloud("v1.36.3", { "kubernetes.azure.com/cluster": "main" }, "azure:///subscriptions/0"),
  other: ofSuffix(""),
} as const satisfies Readonly<Record<string, ClusterFacts>>;

const labelled = (name: string, labels: NodeFacts["labels"], facts: Partial<NodeFacts> = {}): NodeFacts =>
  node(name, { ...facts, labels: { ...node(name).labels, ...labels } });

/** Two servers with GPUs that only their device plugins name, one that is labelled, and a virtual machine beside them. */
export const mixed: ClusterFacts = {
  ...clusters.kubeadm,
  groups: new Set(["nvidia.com", "nfd.k8s-sigs.io", "monitoring.coreos.com", "metal3.io"]),
  nodes: [
    controlPlane(),
    node("h100", { resources: ["cpu", "nvidia.com/gpu"] }),
    node("mi300", { resources: ["cpu", "amd.com/gpu"] }),
    labelled("a100", { "nvidia.com/gpu.present": "true" }, { resources: ["cpu", "nvidia.com/gpu"] }),
    node("vm", { providerId: "vsphere://42" }),
    labelled("metal", { "node.kubernetes.io/instance-type": "m7i.metal-24xl" }, { providerId: "aws:///a/i-1" }),
    node("plain", { labels: {} }),
  ],
  prometheus: [
    { address: "http://prometheus-operated.monitoring:9090", monitorLabels: { release: "stack" } },
    { address: "http://prometheus-server.web" },
  ],
  bareMetalHosts: ["metal3-system", "metal3-system", "edge"],
};
