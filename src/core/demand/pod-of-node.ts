import type { Pod } from "../api/index.ts";
import { itemsOf } from "./pod-parts.ts";

const MIRROR = "kubernetes.io/config.mirror";

const isMirror = ({ metadata }: Pod): boolean => metadata?.annotations?.[MIRROR] !== undefined;

export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** The pod belongs to its node: it is of a DaemonSet, or mirrors a static pod. It comes back with the node. */
export const isOfNode = (pod: Pod): boolean =>
  isMirror(pod) ||
  itemsOf(pod.metadata?.ownerReferences).some(({ kind, controller }) => kind === "DaemonSet" && controller === true);

/** Whether a pod, or its summary, would be lost with the power of its node. */
export const isLostWithNode = ({ active, ofNode }: { readonly active: boolean; readonly ofNode?: boolean }): boolean =>
  active && ofNode !== true;
export const wouldBeLost = (pod: Pod): boolean => isLostWithNode({ active: !isFinished(pod), ofNode: isOfNode(pod) });

/** Labels in which kubeadm, RKE2, kOps and OpenShift name the program of a static pod. */
const PROGRAM_LABELS = ["component", "k8s-app", "app"] as const;
const CONTROL_PLANE_PROGRAMS: ReadonlySet<string | undefined> = new Set([
  "etcd",
  "kube-apiserver",
  "openshift-kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "cloud-controller-manager",
]);

/**
 * A static pod of the control plane. RKE2 runs kube-proxy on every node as a static pod with `tier: control-plane`; that one does
 * not count.
 */
export function isControlPlanePod(pod: Pod): boolean {
  if (!isMirror(pod)) return false;
  const { labels = {} } = pod.metadata ?? {};
  if (PROGRAM_LABELS.some((label) => CONTROL_PLANE_PROGRAMS.has(labels[label]))) return true;
  return labels["tier"] === "control-plane" && labels["component"] !== "kube-proxy";
}
