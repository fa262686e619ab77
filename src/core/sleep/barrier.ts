import { annotations, labels } from "../api/index.ts";

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
const CONTROL_PLANE_ROLES = ["control-plane", "master", "etcd", "controlplane"].map(
  (role) => `node-role.kubernetes.io/${role}`,
);

export const hasControlPlaneRole = (labels: Readonly<Record<string, string>> | undefined): boolean =>
  CONTROL_PLANE_ROLES.some((label) => labels?.[label] !== undefined);
