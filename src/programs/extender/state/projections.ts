import {
  archLabel,
  type Labels,
  type Node,
  type NodeHardwareStatus,
  type NodeTwin,
  nfdCpuLabels,
  nfdGpuLabels,
  nodeHardwareKind,
  nodeTwinKind,
  type ResourceList,
  readAs,
} from "../../../core/api/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";

/** The fields of a Node that scoring reads: 5,000 whole Nodes would take 60 MB. */
export interface ScoredNode {
  readonly metadata: { readonly name: string; readonly uid: string; readonly labels: Labels };
  readonly status: { readonly capacity: ResourceList; readonly allocatable: ResourceList };
}

/** The fields of a NodeTwin that scoring reads, and its owner references. */
export type WatchedTwin = Pick<NodeTwin, "status"> & {
  readonly metadata: Pick<NodeTwin["metadata"], "name" | "ownerReferences">;
};

const VENDORS = /^(?:joulie\.io|nvidia\.com|amd\.com|gpu\.intel\.com)\//;
const featureLabels: ReadonlySet<string> = new Set([
  archLabel,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
]);

/** Node feature discovery writes a hundred labels per node, of which scoring reads a dozen. */
const isReadLabel = (key: string): boolean => VENDORS.test(key) || featureLabels.has(key);
const isReadResource = (key: string): boolean => key === "cpu" || VENDORS.test(key);

export function nodeProjection(configuredLabels: readonly string[]): (object: KubeObject) => ScoredNode {
  const isRead = (key: string): boolean => isReadLabel(key) || configuredLabels.includes(key);
  return (object) => {
    const { metadata, status } = object as KubeObject & Node;
    const { name, uid = "", labels } = metadata as KubeObject["metadata"];
    return {
      metadata: { name, uid, labels: only(labels, isRead) },
      status: {
        capacity: only(status?.capacity, isReadResource),
        allocatable: only(status?.allocatable, isReadResource),
      },
    };
  };
}

export function watchedTwin(object: KubeObject): WatchedTwin {
  const { metadata, status } = readAs(nodeTwinKind)(object);
  const { name, ownerReferences } = metadata;
  return { metadata: { name, ...(ownerReferences && { ownerReferences }) }, ...(status && { status }) };
}

export const watchedHardware = (object: KubeObject): NodeHardwareStatus =>
  readAs(nodeHardwareKind)(object).status ?? {};

function only<Value>(
  all: Readonly<Record<string, Value>> | undefined,
  isRead: (key: string) => boolean,
): Readonly<Record<string, Value>> {
  const selected: Record<string, Value> = {};
  for (const key in all) if (isRead(key)) selected[key] = all[key] as Value;
  return selected;
}
