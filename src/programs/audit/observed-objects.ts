import type { NodeTwin, Pod, PowerEndpoint, PowerEndpointStatus } from "../../core/api/index.ts";
import { workloadClassOf } from "../../core/demand/index.ts";
import type { KubeObject } from "../../platform/kube/index.ts";

/** A NodeTwin with its resource version as a number. */
export interface ObservedTwin {
  readonly node: string;
  readonly version: number;
  readonly spec: NodeTwin["spec"];
  readonly status: NodeTwin["status"];
}

export interface ObservedEndpoint {
  readonly node: string;
  readonly version: number;
  readonly status: PowerEndpointStatus | undefined;
}

export interface ObservedPod {
  readonly key: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly performance: boolean;
  /** Whether the scheduler has tried to place it. */
  readonly judged: boolean;
  readonly version: number;
}

/** An Event of the operator on a pod that waits for a node. */
export interface ObservedEvent {
  readonly pod: string;
  readonly reason: string;
  readonly note: string;
}

/** Needs no validation: the server has checked the object against the schema. */
export function twinOf(object: KubeObject): ObservedTwin {
  const { spec, status } = object as unknown as NodeTwin;
  return { node: object.metadata.name, version: versionOf(object), spec, status };
}

export function observedEndpointOf(object: KubeObject): ObservedEndpoint {
  const { status } = object as unknown as PowerEndpoint;
  return { node: object.metadata.name, version: versionOf(object), status };
}

export function podOf(object: KubeObject): ObservedPod {
  const pod = object as unknown as Pod;
  const { name, namespace = "default" } = object.metadata;
  return {
    key: `${namespace}/${name}`,
    node: pod.spec.nodeName,
    phase: pod.status?.phase ?? "Pending",
    performance: workloadClassOf(pod).workloadClass === "performance",
    judged: conditionsOf(object).some(({ type }) => type === "PodScheduled"),
    version: versionOf(object),
  };
}

const conditionsOf = (object: KubeObject): readonly { readonly type?: string }[] =>
  (object as unknown as { readonly status?: { readonly conditions?: readonly { readonly type?: string }[] } }).status
    ?.conditions ?? [];

/** Returns undefined for other objects and other reporters. */
export function eventOf(object: KubeObject): ObservedEvent | undefined {
  const { reportingController, regarding, reason, note } = object as unknown as {
    readonly reportingController?: string;
    readonly regarding?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
    readonly reason?: string;
    readonly note?: string;
  };
  if (reportingController !== "joulie.io/operator" || regarding?.kind !== "Pod") return undefined;
  const { name = "", namespace = "default" } = regarding;
  return { pod: `${namespace}/${name}`, reason: reason ?? "", note: note ?? "" };
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);
