import {
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  type TelemetryProfile,
} from "../../../core/api/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Change, KubeObject } from "../../../platform/kube/index.ts";

/** The few fields of a Node that are used here. */
export interface WatchedNode extends Node {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** What the cluster says of one node. */
export interface NodeFacts {
  /** Whether targets and routes were read once; routes by themselves may come a little later. */
  readonly synced: boolean;
  /** The Node where it is in scope. */
  readonly node: WatchedNode | undefined;
  readonly twin: NodeTwin | undefined;
  readonly profile: NodePowerProfile | undefined;
  readonly routes: readonly TelemetryProfile[];
  /** What somebody else found out about the node: of use where it cannot be probed. */
  readonly hardware: NodeHardware | undefined;
}

/** The nodes an agent is for, as the cluster shows them. */
export interface NodeFactsSource {
  names(): Iterable<string>;
  facts(name: string): NodeFacts;
  /** Since when nothing was heard of the API; undefined before the first time. */
  readonly silence: Milliseconds | undefined;
  /** What was not read yet, for /readyz. */
  readonly notSynced: readonly string[];
  start(): void;
  stop(): Promise<void>;
}

export function projectNode(object: KubeObject): WatchedNode {
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

/** A twin without what only the operator and the scheduler read. */
export function projectTwin(twin: NodeTwin): NodeTwin {
  const { name, uid, resourceVersion, ownerReferences } = twin.metadata;
  return {
    metadata: {
      name,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
    spec: twin.spec,
  };
}

/** What is looked at to tell whether a change matters. */
export interface WatchedObject {
  readonly metadata: { readonly labels?: unknown };
  readonly spec?: unknown;
}

/** Whether a change is one of what was asked for. Every status that is written, our own first of all, comes back as a change. */
export function specChanged(change: Change<WatchedObject>): boolean {
  if (change.type !== "updated") return true;
  const { old, new: now } = change;
  return (
    JSON.stringify(old.spec) !== JSON.stringify(now.spec) ||
    JSON.stringify(old.metadata.labels) !== JSON.stringify(now.metadata.labels)
  );
}
