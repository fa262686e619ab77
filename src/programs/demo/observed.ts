import { type NodeTwin, nodeTwinKind, type Pod, read } from "../../core/api/index.ts";
import { workloadClassOf } from "../../core/demand/index.ts";
import type { KubeObject } from "../../platform/kube/index.ts";

/** A NodeTwin with what tells its versions apart. */
export interface ObservedTwin {
  readonly node: string;
  readonly version: number;
  readonly spec: NodeTwin["spec"];
  readonly status: NodeTwin["status"];
}

export interface ObservedPod {
  readonly key: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly performance: boolean;
  readonly version: number;
}

/** What the operator tells of a node. */
export interface ObservedEvent {
  readonly node: string;
  readonly reason: string;
  readonly note: string;
}

export function twinOf(object: KubeObject): ObservedTwin | undefined {
  const reading = read(nodeTwinKind, object);
  if (!reading.ok) return undefined;
  const { spec, status } = reading.value.object;
  return { node: object.metadata.name, version: versionOf(object), spec, status };
}

export function podOf(object: KubeObject): ObservedPod {
  const pod = object as unknown as Pod;
  const { name, namespace = "default" } = object.metadata;
  return {
    key: `${namespace}/${name}`,
    node: pod.spec.nodeName,
    phase: pod.status?.phase ?? "Pending",
    performance: workloadClassOf(pod).workloadClass === "performance",
    version: versionOf(object),
  };
}

/** Undefined: it is about something else, or by somebody else. */
export function eventOf(object: KubeObject): ObservedEvent | undefined {
  const { reportingController, regarding, reason, note } = object as unknown as {
    readonly reportingController?: string;
    readonly regarding?: { readonly kind?: string; readonly name?: string };
    readonly reason?: string;
    readonly note?: string;
  };
  if (reportingController !== "joulie.io/operator" || regarding?.kind !== "Node") return undefined;
  return { node: regarding.name ?? "", reason: reason ?? "", note: note ?? "" };
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion);
