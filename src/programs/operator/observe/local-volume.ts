import type { KubeObject } from "../../../platform/kube/index.ts";

/** A PersistentVolume on the disks of single nodes. */
export interface LocalVolume {
  /** Names of nodes, and labels as `key=value`: some drivers identify a node by an id of their own. */
  readonly nodes: readonly string[];
}

interface VolumeSpec {
  readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms?: readonly Term[] } };
}

interface Term {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface Requirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

/** Labels that identify one node: the hostname for local volumes, and those of CSI drivers for local disks. */
const NODE_KEY = /(?:^|\/)(?:hostname|node|nodename|node-name|nodeid)$/i;

/** Undefined for volumes of the network, of zones, and for `hostPath` volumes that name no node. */
export function localVolumeOf(object: KubeObject): LocalVolume | undefined {
  const { spec = {} } = object as KubeObject & { readonly spec?: VolumeSpec };
  const nodes = new Set<string>();
  for (const { matchExpressions, matchFields } of listOf(spec.nodeAffinity?.required?.nodeSelectorTerms)) {
    for (const { key = "", operator, values } of listOf(matchExpressions))
      if (operator === "In" && NODE_KEY.test(key))
        for (const value of listOf(values)) nodes.add(value).add(`${key}=${value}`);
    for (const { key, operator, values } of listOf(matchFields))
      if (operator === "In" && key === "metadata.name") for (const value of listOf(values)) nodes.add(value);
  }
  return nodes.size === 0 ? undefined : { nodes: Array.from(nodes) };
}

const listOf = <Item>(value: readonly Item[] | undefined): readonly Item[] => (Array.isArray(value) ? value : []);
