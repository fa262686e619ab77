import type { Pod } from "../api/index.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** What an unbound pod says about the node that it will get. */
export interface PodPromise {
  /** The node where the scheduler holds room for the pod while it evicts other pods or waits for volumes. */
  readonly nominated?: string;
  /** The pod's PersistentVolumeClaims, as `namespace/name`. */
  readonly claims: readonly string[];
}

/** The node that kube-scheduler selected for the volume of a PersistentVolumeClaim. */
export interface SelectedNode {
  readonly node: string;
  /** The volume exists. The annotation may then be old: its pod may have run and ended. */
  readonly hasVolume: boolean;
}

const SELECTED_NODE = "volume.kubernetes.io/selected-node";

/** Undefined if kube-scheduler has selected no node for the claim. */
export function selectedNodeOf(claim: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: { readonly phase?: string };
}): SelectedNode | undefined {
  const node = claim.metadata.annotations?.[SELECTED_NODE];
  return node ? { node, hasVolume: claim.status?.phase === "Bound" } : undefined;
}

/** Undefined if the pod has a node or a scheduling gate, or if it has neither a nomination nor claims. */
export function podPromiseOf(pod: Pod): PodPromise | undefined {
  const { nodeName, schedulingGates, volumes } = specOf(pod);
  if (nodeName || itemsOf(schedulingGates).length > 0) return undefined;
  const nominated = pod.status?.nominatedNodeName;
  const { namespace = "", name } = pod.metadata ?? {};
  const claims: string[] = [];
  for (const { name: volume, persistentVolumeClaim, ephemeral } of itemsOf(volumes)) {
    const ephemeralClaim = ephemeral && `${name}-${volume}`;
    const claim = persistentVolumeClaim?.claimName ?? ephemeralClaim;
    if (claim !== undefined) claims.push(`${namespace}/${claim}`);
  }
  if (!nominated && claims.length === 0) return undefined;
  return { ...(nominated && { nominated }), claims };
}

/**
 * The nodes that must have power for the pod. A bound pod has its node. Any other pod has the node of its nomination and the nodes
 * selected for its claims, because the scheduler binds it there without checking the node's taints again.
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
