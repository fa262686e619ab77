import type { Pod } from "../api/index.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** What a pod without a node says about the node that it will get. */
export interface PodPromise {
  /** A scheduler holds room for the pod there: it removes other pods first, or waits for the pod's volumes. */
  readonly nominated?: string;
  /** The pod's PersistentVolumeClaims, as `namespace/name`. */
  readonly claims: readonly string[];
}

/** The node that kube-scheduler selected for the volume of a PersistentVolumeClaim. */
export interface SelectedNode {
  readonly node: string;
  /** The volume exists, so that the annotation may be an old one: the pod that it was for may have run and ended. */
  readonly hasVolume: boolean;
}

const SELECTED_NODE = "volume.kubernetes.io/selected-node";

/** Undefined if no node was selected: the volume exists already, or may be anywhere. */
export function selectedNodeOf(claim: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: { readonly phase?: string };
}): SelectedNode | undefined {
  const node = claim.metadata.annotations?.[SELECTED_NODE];
  return node ? { node, hasVolume: claim.status?.phase === "Bound" } : undefined;
}

/** Undefined for a pod that has a node, or a scheduling gate, and for one without nomination and claims. */
export function podPromiseOf(pod: Pod): PodPromise | undefined {
  const { nodeName, schedulingGates, volumes } = specOf(pod);
  if (nodeName || itemsOf(schedulingGates).length > 0) return undefined;
  const nominated = pod.status?.nominatedNodeName;
  const { namespace = "", name } = pod.metadata ?? {};
  const claims = itemsOf(volumes).flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${name}-${volume}`);
    return claim === undefined ? [] : [`${namespace}/${claim}`];
  });
  if (!nominated && claims.length === 0) return undefined;
  return { ...(nominated && { nominated }), claims };
}

/**
 * The nodes that must have power for the pod: the one that it is bound to, else the one that it is nominated to and those that its
 * claims have selected. The scheduler binds such a pod without another look at the taints of the node.
 */
export function occupiedNodes(
  { node, promise }: { readonly node: string | undefined; readonly promise?: PodPromise | undefined },
  selectedBy: (claim: string) => string | undefined,
): ReadonlySet<string> {
  if (node !== undefined) return new Set([node]);
  const nodes = new Set<string>();
  if (promise?.nominated !== undefined) nodes.add(promise.nominated);
  for (const claim of promise?.claims ?? []) {
    const selected = selectedBy(claim);
    if (selected !== undefined) nodes.add(selected);
  }
  return nodes;
}

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

/** A static pod of the control plane. RKE2's kube-proxy has `tier: control-plane` on every node and does not count. */
export function isControlPlanePod(pod: Pod): boolean {
  if (!isMirror(pod)) return false;
  const { labels = {} } = pod.metadata ?? {};
  if (PROGRAM_LABELS.some((label) => CONTROL_PLANE_PROGRAMS.has(labels[label]))) return true;
  return labels["tier"] === "control-plane" && labels["component"] !== "kube-proxy";
}
