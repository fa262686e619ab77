import {
  annotations,
  type Container,
  type Labels,
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
  type PowerEndpoint,
  powerEndpointKind,
  readAs,
} from "../../../core/api/index.ts";
import type { ClusterKind, ClusterObjects } from "../../../core/report/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import {
  type Change,
  type KubeIo,
  type KubeObject,
  Reflector,
  type Resource,
  resources,
} from "../../../platform/kube/index.ts";

export interface ClusterReflectorsOptions extends KubeIo {
  readonly clock: Clock;
  readonly nodeSelector?: string | undefined;
  /** Which labels of a node are kept; all by default. */
  readonly labelsOf?: (labels: Labels) => Labels;
  readonly onRefused?: (kind: ClusterKind) => void;
  readonly onChange?: (changes: readonly Change<unknown>[]) => void;
  readonly onPodChange?: (changes: readonly Change<Pod>[]) => void;
}

/** All kinds that reports are made of, kept up to date by watches. Nodes must be readable; other kinds may be missing or forbidden. */
export class ClusterReflectors {
  readonly nodes: Reflector<ReportedNode>;
  readonly twins: Reflector<NodeTwin>;
  readonly hardware: Reflector<NodeHardware>;
  readonly profiles: Reflector<NodePowerProfile>;
  readonly endpoints: Reflector<PowerEndpoint>;
  readonly pods: Reflector<Pod, "node">;
  readonly #byKind: Readonly<Record<ClusterKind, Reflector<unknown>>>;

  constructor({ nodeSelector, labelsOf, onRefused, onChange, onPodChange, ...shared }: ClusterReflectorsOptions) {
    const of = (kind: ClusterKind, resource: Resource) => {
      const refuse = () => onRefused?.(kind);
      return { ...shared, resource, onForbidden: refuse, onMissing: refuse, ...(onChange && { onChange }) };
    };
    this.nodes = new Reflector({
      ...of("nodes", resources.nodes),
      ...(nodeSelector !== undefined && { selection: { labelSelector: nodeSelector } }),
      project: (object) => slimNode(object, labelsOf),
    });
    this.twins = new Reflector({ ...of("twins", resources.nodeTwins), project: readAs(nodeTwinKind) });
    this.hardware = new Reflector({ ...of("hardware", resources.nodeHardwares), project: readAs(nodeHardwareKind) });
    this.profiles = new Reflector({
      ...of("profiles", resources.nodePowerProfiles),
      project: readAs(nodePowerProfileKind),
    });
    this.endpoints = new Reflector({
      ...of("endpoints", resources.powerEndpoints),
      project: readAs(powerEndpointKind),
    });
    this.pods = new Reflector({
      ...of("pods", resources.pods),
      selection: LIVE_PODS,
      project: slimPod,
      indexes: { node: boundNodeOf },
      ...(onPodChange && { onChange: onPodChange }),
    });
    const { nodes, twins, hardware, profiles, endpoints, pods } = this;
    this.#byKind = { nodes, twins, hardware, profiles, endpoints, pods } as unknown as Record<
      ClusterKind,
      Reflector<unknown>
    >;
  }

  start(): void {
    for (const reflector of Object.values(this.#byKind)) reflector.start();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#byKind).map(async (reflector) => reflector.stop()));
  }

  get kinds(): readonly ClusterKind[] {
    return Object.keys(this.#byKind) as ClusterKind[];
  }

  of(kind: ClusterKind): Reflector<unknown> {
    return this.#byKind[kind];
  }

  isPending(kind: ClusterKind): boolean {
    const { hasSynced, isRefused } = this.#byKind[kind];
    return !hasSynced && !isRefused;
  }

  isKnown(kind: ClusterKind): boolean {
    const { hasSynced, isRefused } = this.#byKind[kind];
    return hasSynced && !isRefused;
  }

  /** The current objects. Kinds that are not known are empty, and named. Pods are undefined then: no pods is not unknown pods. */
  objects(now: Instant): ClusterObjects & { readonly notListed: readonly ClusterKind[] } {
    const known = <Value>(kind: ClusterKind, { store }: Reflector<Value>): ReadonlyMap<string, Value> =>
      new Map(this.isKnown(kind) ? store.entries() : []);
    return {
      now,
      nodes: Array.from(this.nodes.store.values()),
      twins: known("twins", this.twins),
      hardware: known("hardware", this.hardware),
      profiles: known("profiles", this.profiles),
      endpoints: known("endpoints", this.endpoints),
      pods: this.isKnown("pods") ? Array.from(this.pods.store.values()) : undefined,
      notListed: this.kinds.filter((kind) => !this.isKnown(kind)),
    };
  }
}

/** The node that the pod is bound to; undefined while it waits for one. */
export const boundNodeOf = ({ spec }: Pod): string | undefined => spec.nodeName || undefined;

const LIVE_PODS = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;

export interface ReportedNode extends Node {
  readonly metadata: Node["metadata"] & { readonly uid: string; readonly labels: Labels };
}

/** Without what no report reads: names of images are most of a Node, 100 MB in a large cluster. */
function slimNode(object: KubeObject, labelsOf: (labels: Labels) => Labels = (all) => all): ReportedNode {
  const { metadata, spec, status } = object as KubeObject & Node;
  const { uid = "", labels = {} } = metadata;
  const conditions = status?.conditions?.map(({ type, status: value }) => ({ type, status: value }));
  return {
    metadata: { ...only(metadata, ["name", "creationTimestamp"]), uid, labels: labelsOf(labels) },
    spec: only(spec ?? {}, ["unschedulable", "taints"]),
    status: { ...only(status ?? {}, ["capacity", "allocatable"]), ...(conditions && { conditions }) },
  };
}

const POD_METADATA = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "ownerReferences"] as const;
const POD_SPEC = [
  "nodeName",
  "schedulingGates",
  "priority",
  "nodeSelector",
  "affinity",
  "tolerations",
  "overhead",
  "resources",
] as const;
const POD_STATUS = ["phase", "startTime", "conditions", "nominatedNodeName"] as const;
/** Joulie's, and that of pods which mirror a static pod. */
const POD_ANNOTATIONS: ReadonlySet<string> = new Set([...Object.values(annotations), "kubernetes.io/config.mirror"]);

/** Without what no report reads: whole pods of a large cluster would take 100 MB. */
function slimPod(object: KubeObject): Pod | undefined {
  const { metadata, spec = {}, status = {} } = object as unknown as Partial<Pod> & Pick<Pod, "metadata">;
  if (status.phase === "Succeeded" || status.phase === "Failed") return undefined;
  const { containers, initContainers } = spec;
  const retained = Object.entries(metadata.annotations ?? {}).filter(([key]) => POD_ANNOTATIONS.has(key));
  return {
    metadata: { ...only(metadata, POD_METADATA), annotations: Object.fromEntries(retained) },
    spec: {
      ...only(spec, POD_SPEC),
      ...(containers && { containers: containers.map(slimContainer) }),
      ...(initContainers && { initContainers: initContainers.map(slimContainer) }),
    },
    status: only(status, POD_STATUS),
  };
}

const slimContainer = (container: Container): Container => only(container, ["resources", "restartPolicy"]);

function only<Value extends object, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  const retained: Partial<Value> = {};
  for (const key of keys) if (value[key] !== undefined && value[key] !== null) retained[key] = value[key];
  return retained as Pick<Value, Key>;
}
