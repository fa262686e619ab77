import {
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  type TelemetryProfile,
} from "../../../core/api/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Change, KubeObject } from "../../../platform/kube/index.ts";

export interface ProjectedNode extends Node {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export interface NodeFacts {
  /** Whether all watches have synced once. Until then the other fields mean nothing. */
  readonly synced: boolean;
  /** The Node; absent if Joulie does not manage it. */
  readonly node: ProjectedNode | undefined;
  readonly twin: NodeTwin | undefined;
  readonly profile: NodePowerProfile | undefined;
  readonly routes: readonly TelemetryProfile[];
  /** The published NodeHardware, for pool mode, where the agent cannot probe the node. */
  readonly hardware: NodeHardware | undefined;
}

/** The nodes of this agent, from watches on the API server. */
export interface NodeFactsSource {
  names(): Iterable<string>;
  facts(name: string): NodeFacts;
  /** Time since the last contact with the API server; undefined before the first contact. */
  readonly silence: Milliseconds | undefined;
  /** Names of the watches that have not synced yet, for /readyz. */
  readonly notSynced: readonly string[];
  start(): void;
  stop(): Promise<void>;
}

export function projectNode(object: KubeObject): ProjectedNode {
  const { metadata, status } = object as KubeObject & Node;
  const { name, uid = "", labels } = metadata as KubeObject["metadata"];
  return {
    metadata: { name, uid, ...(labels && { labels }) },
    status: {
      ...(status?.capacity && { capacity: status.capacity }),
      ...(status?.allocatable && { allocatable: status.allocatable }),
    },
  };
}

/** A NodeTwin without most of the status, which only the operator and the extender read. */
export function projectTwin(twin: NodeTwin): NodeTwin {
  const { name, uid, resourceVersion, generation, ownerReferences } = twin.metadata;
  const { lastUpdated, power, powerMeasurement } = twin.status ?? {};
  return {
    metadata: {
      name,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(generation !== undefined && { generation }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
    spec: twin.spec,
    status: {
      ...(lastUpdated !== undefined && { lastUpdated }),
      // In pool mode: a machine that is switched off is not asked.
      ...(power && { power }),
      ...(powerMeasurement?.source && { powerMeasurement: { source: powerMeasurement.source } }),
    },
  };
}

/** The fields that decide whether a change matters. */
export interface WatchedObject {
  readonly metadata: { readonly labels?: unknown };
  readonly spec?: unknown;
}

/** Whether spec or labels changed. Status writes, including the agent's own, come back as changes too. */
export function specChanged(change: Change<WatchedObject>): boolean {
  if (change.type !== "updated") return true;
  const { old, new: now } = change;
  return (
    JSON.stringify(old.spec) !== JSON.stringify(now.spec) ||
    JSON.stringify(old.metadata.labels) !== JSON.stringify(now.metadata.labels)
  );
}
