import { annotations, labels, type NodePowerState, type WantedPowerState } from "../api/index.ts";
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

/** What decides whether a node may ever sleep, whatever runs there now. */
export interface SleepPermission {
  /** Joulie manages the node, and it is not reserved. */
  readonly managed: boolean;
  /** The user's label is set. */
  readonly maySleep: boolean;
  /** By a label of the node, or by a static pod on it. */
  readonly controlPlane: boolean;
  /** Undefined without a PowerEndpoint. */
  readonly endpoint?:
    | {
        readonly wakeProven: boolean;
        readonly keepAwake: boolean;
        readonly maySwitchOff: boolean;
        readonly wakeFailed: boolean;
      }
    | undefined;
  /** A PersistentVolume is on the node's own disks. */
  readonly localVolume: boolean;
  /** A pod on the node serves its disks to others. */
  readonly servesStorage: boolean;
}

/** Why the node may not sleep; undefined if it may. */
export function sleepBarrierOf(node: SleepPermission): string | undefined {
  for (const [forbids, reason] of rules) if (forbids(node)) return reason;
  return undefined;
}

const rules: readonly (readonly [forbids: (node: SleepPermission) => boolean, reason: string])[] = [
  [({ maySleep }) => !maySleep, `it has no label ${labels.maySleep}=true`],
  [({ managed }) => !managed, "Joulie does not manage it, or it is reserved"],
  [({ controlPlane }) => controlPlane, "it is a control-plane node"],
  [({ endpoint }) => endpoint === undefined, "it has no PowerEndpoint"],
  [({ endpoint }) => endpoint?.keepAwake === true, `its PowerEndpoint has the annotation ${annotations.keepAwake}`],
  [({ endpoint }) => endpoint?.maySwitchOff === false, "its power switch refuses to switch it off"],
  [({ endpoint }) => endpoint?.wakeFailed === true, "its last wake failed"],
  [({ endpoint }) => endpoint?.wakeProven !== true, "its wake has not been proven"],
  [({ localVolume }) => localVolume, "a persistent volume is on its disks"],
  [({ servesStorage }) => servesStorage, "a storage daemon runs on it"],
];

/** Labels of nodes that run the control plane or its etcd. RKE2 and k3s set the last two. */
export const controlPlaneRoleLabels = ["control-plane", "master", "etcd", "controlplane"].map(
  (role) => `node-role.kubernetes.io/${role}`,
);

export const hasControlPlaneRole = (labels: Readonly<Record<string, string>> | undefined): boolean =>
  controlPlaneRoleLabels.some((label) => labels?.[label] !== undefined);
