import type { ClusterFacts } from "./cluster-facts.ts";

export type Distribution = "k3s" | "rke2" | "openshift" | "gke" | "eks" | "aks" | "kubeadm" | "other";

interface DistributionTraits {
  readonly name: string;
  /** Its kube-scheduler cannot ask an extender. */
  readonly isManaged: boolean;
  /** How kube-scheduler gets a configuration. */
  readonly scheduler?: { readonly kubeconfig: string; readonly step: string };
}

export const distributions: Readonly<Record<Distribution, DistributionTraits>> = {
  k3s: {
    name: "k3s",
    isManaged: false,
    scheduler: {
      kubeconfig: "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig",
      step: "put this file on every server as /etc/rancher/k3s/joulie-scheduler.yaml, add its path to config.yaml there as kube-scheduler-arg, and restart k3s",
    },
  },
  rke2: {
    name: "RKE2",
    isManaged: false,
    scheduler: {
      kubeconfig: "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig",
      step: "put this file on every server as /etc/rancher/rke2/joulie-scheduler.yaml, add it to config.yaml there as kube-scheduler-arg and kube-scheduler-extra-mount, and restart rke2-server",
    },
  },
  kubeadm: {
    name: "kubeadm",
    isManaged: false,
    scheduler: {
      kubeconfig: "/etc/kubernetes/scheduler.conf",
      step: "put this file on every control-plane host as /etc/kubernetes/joulie-scheduler.yaml, and mount it in the manifest of kube-scheduler with --config",
    },
  },
  openshift: { name: "OpenShift", isManaged: true },
  gke: { name: "GKE", isManaged: true },
  eks: { name: "EKS", isManaged: true },
  aks: { name: "AKS", isManaged: true },
  other: { name: "Kubernetes", isManaged: false },
};

/** Versions of API server and kubelets have a suffix; clouds label their nodes. */
const marks: readonly (readonly [Distribution, version: RegExp, label: string])[] = [
  ["k3s", /\+k3s/, "k3s.io/"],
  ["rke2", /\+rke2/, "rke2.io/"],
  ["gke", /-gke\./, "cloud.google.com/gke-"],
  ["eks", /-eks-/, "eks.amazonaws.com/"],
  ["aks", /-aks/, "kubernetes.azure.com/"],
];

export function distributionOf({ version, groups, nodes = [], hasKubeadmConfig }: ClusterFacts): Distribution {
  const isCoreOs = nodes.some(({ os }) => /Red Hat Enterprise Linux CoreOS/.test(os));
  if (groups.has("config.openshift.io") || groups.has("security.openshift.io") || isCoreOs) return "openshift";
  const versions = [version, ...nodes.map(({ kubelet }) => kubelet)];
  const keys = nodes.flatMap(({ labels }) => Object.keys(labels));
  const marked = marks.find(
    ([, suffix, label]) => versions.some((text) => suffix.test(text)) || keys.some((key) => key.startsWith(label)),
  );
  if (marked !== undefined) return marked[0];
  return hasKubeadmConfig === true ? "kubeadm" : "other";
}
