import {
  annotations,
  asleepTaint,
  isWakeProven,
  labels,
  type NodeTwin,
  nodeTwinKind,
  type PowerEndpoint,
  powerEndpointKind,
  readAs,
} from "../../../core/api/index.ts";
import { isTwinOf } from "../../../core/policy/index.ts";
import { hasControlPlaneRole } from "../../../core/sleep/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";

export interface ObservedNode {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly tainted: boolean;
  readonly ready: boolean;
  /** The last heartbeat of the kubelet in the condition Ready. */
  readonly heartbeat: string | undefined;
  readonly maySleep: boolean;
  readonly controlPlane: boolean;
  /** Another one after each start of the operating system; undefined if the kubelet reports none. */
  readonly bootId: string | undefined;
  /** The UUID in the machine's firmware; undefined if the kubelet reports none. */
  readonly systemUuid: string | undefined;
  readonly providerId: string | undefined;
}

interface NodeInfo {
  readonly bootID?: string;
  readonly machineID?: string;
  readonly systemUUID?: string;
}

type WholeNode = KubeObject & {
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly nodeInfo?: NodeInfo;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastHeartbeatTime?: string;
    }[];
  };
};

export const isAsleepTaint = ({ key, effect }: { readonly key: string; readonly effect: string }): boolean =>
  key === asleepTaint.key && effect === asleepTaint.effect;

export function observedNode(object: KubeObject): ObservedNode {
  const { metadata, spec, status } = object as WholeNode;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    tainted: spec?.taints?.some(isAsleepTaint) === true,
    ready: ready?.status === "True",
    heartbeat: ready?.lastHeartbeatTime,
    maySleep: metadata.labels?.[labels.maySleep] === "true",
    controlPlane: hasControlPlaneRole(metadata.labels),
    bootId: status?.nodeInfo?.bootID || undefined,
    systemUuid: firmwareUuid(status?.nodeInfo),
    providerId: spec?.providerID || undefined,
  };
}

/** Where the firmware has no tables, the kubelet reports /etc/machine-id instead, which the switch does not know. */
const firmwareUuid = ({ systemUUID, machineID }: NodeInfo = {}): string | undefined =>
  systemUUID === machineID ? undefined : systemUUID || undefined;

export const readTwin = readAs(nodeTwinKind);
export const readEndpoint = readAs(powerEndpointKind);

export interface NodeView {
  readonly name: string;
  readonly endpoint: PowerEndpoint | undefined;
  readonly node: ObservedNode | undefined;
  /** Undefined as well for the twin of a former node of the same name. */
  readonly twin: NodeTwin | undefined;
}

export const ownTwin = (node: ObservedNode | undefined, twin: NodeTwin | undefined): NodeTwin | undefined =>
  twin === undefined || (node !== undefined && !isTwinOf({ metadata: node }, twin)) ? undefined : twin;

/** Whether the scheduler keeps pods away: by the taint, or by the state in the NodeTwin. */
export const countsAsAsleep = ({ node, twin }: NodeView): boolean =>
  node !== undefined && (node.tainted || (twin?.status?.power?.state ?? "on") !== "on");

export function lastReport(twin: NodeTwin | undefined): string | undefined {
  const { cpu, gpu } = twin?.status?.controlStatus ?? {};
  return cpu?.updatedAt ?? gpu?.updatedAt;
}

export interface Wanted {
  readonly state: "on" | "off";
  readonly test: boolean;
  /** A user asked explicitly: stop, keep awake, wake or a test. A node whose wake failed or whose switch says off is then woken. */
  readonly explicit: boolean;
  readonly reason: string;
}

const on = (reason: string, explicit = false): Wanted => ({ state: "on", test: false, explicit, reason });

/** Off needs everything: the operator's word, the user's label, a proven wake. Everything else means on. */
export function wantedOf({ endpoint, node, twin }: NodeView, stopped: string | undefined): Wanted {
  if (stopped !== undefined) return on(stopped, true);
  const { annotations: given = {} } = endpoint?.metadata ?? {};
  if (given[annotations.keepAwake] === "true") return on(`the annotation ${annotations.keepAwake} is set`, true);
  if (given[annotations.wake] !== undefined) return on("a user asked for a wake", true);
  if (node === undefined) return on("the Node does not exist");
  if (node.controlPlane) return on("control-plane nodes never sleep");
  if (given[annotations.testPower] !== undefined)
    return { state: "off", test: true, explicit: true, reason: "a user tests the wake" };
  const { state = "on", reason = "the operator wants it" } = twin?.spec.power ?? {};
  if (state === "on") return on(reason);
  if (!node.maySleep) return on(`the label ${labels.maySleep} is not true`);
  if (endpoint === undefined || !isWakeProven(endpoint)) return on("no wake is proven");
  return { state: "off", test: false, explicit: false, reason };
}
