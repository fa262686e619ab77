import type { Pod } from "../api/index.ts";
import { annotationOf, itemsOf } from "./pod-parts.ts";

/** The kubelet shows a static pod to the API server as a mirror pod with this annotation. */
const MIRROR = "kubernetes.io/config.mirror";

const isMirror = (pod: Pod): boolean => annotationOf(pod, MIRROR) !== undefined;

export const isFinished = ({ status }: Pod): boolean => status?.phase === "Succeeded" || status?.phase === "Failed";

/** Whether the pod belongs to its node and comes back with it: a pod of a DaemonSet, or a static pod. */
export const isOfNode = (pod: Pod): boolean =>
  isMirror(pod) ||
  itemsOf(pod.metadata?.ownerReferences).some(({ kind, controller }) => kind === "DaemonSet" && controller === true);

/** Whether a pod would be lost if its node lost power. Takes the pod's summary. */
export const isLostWithNode = ({ active, ofNode }: { readonly active: boolean; readonly ofNode?: boolean }): boolean =>
  active && ofNode !== true;

/** Like `isLostWithNode`, for a pod as the API server returns it. */
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

/** A static pod of the control plane. RKE2's kube-proxy has `tier: control-plane` on every node and does not count. */
export function isControlPlanePod(pod: Pod): boolean {
  if (!isMirror(pod)) return false;
  const { labels = {} } = pod.metadata ?? {};
  if (PROGRAM_LABELS.some((label) => CONTROL_PLANE_PROGRAMS.has(labels[label]))) return true;
  return labels["tier"] === "control-plane" && labels["component"] !== "kube-proxy";
}
