import type { NodePowerState, WantedPowerState } from "../api/index.ts";
import type { FitNode, NodeRoom } from "../fit/index.ts";
import type { Seconds, Watts } from "../units/index.ts";

/** The input of a sleep plan about one node. All nodes of the cluster are part of it: pods may run on any of them. */
export interface SleepNode extends FitNode {
  readonly name: string;
  readonly uid: string;
  /** Without the taints that a node has because it sleeps. */
  readonly fit: NodeRoom;
  readonly managed: boolean;
  /** Nodes of one family are interchangeable. */
  readonly family: string | undefined;
  readonly zone: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
  /** The state that the operator last asked for. */
  readonly wanted: WantedPowerState;
  /** Where the power program says the node is. */
  readonly state: NodePowerState;
  /** The node is not on, and nothing can wake it: it has no PowerEndpoint. */
  readonly lost?: boolean;
  /** Why the operator last asked for it. */
  readonly lastReason?: string | undefined;
  /** Active pods, bound or promised to the node, that would be lost: all except those of DaemonSets and mirror pods. */
  readonly pods: number;
  /** The user's label says that the node may sleep. */
  readonly asked: boolean;
  /** Why the node may never sleep; undefined if it may. */
  readonly barrier: string | undefined;
  readonly cyclesToday: number;
  /** How long the last wake took. */
  readonly wakeTime?: Seconds | undefined;
  /** What the empty node draws. */
  readonly idle: Watts;
}

/** The node is neither on nor on its way there. */
export const isAsleep = ({ wanted, state }: SleepNode): boolean => wanted === "off" && state !== "failed";

/** Pods can be bound to the node now. */
export const isUsable = ({ wanted, state, ready, cordoned }: SleepNode): boolean =>
  wanted === "on" && state === "on" && ready && !cordoned;

/** The node counts as not ready for Kubernetes, now or soon. */
export const isDown = ({ wanted, state, ready }: SleepNode): boolean => wanted === "off" || state !== "on" || !ready;
