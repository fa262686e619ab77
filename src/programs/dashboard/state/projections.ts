import {
  archLabel,
  type Container,
  type Labels,
  type Node,
  type NodeHardware,
  type NodePowerProfile,
  type NodeTwin,
  nfdCpuLabels,
  nfdGpuLabels,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  type Pod,
  type PowerEndpoint,
  powerEndpointKind,
  readAs,
} from "../../../core/api/index.ts";
import { demandOf, type WorkloadClass, workloadClassOf } from "../../../core/demand/index.ts";
import { gpuDeviceResources } from "../../../core/inventory/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";

/** A Node with the fields that the dashboard and its reports read. */
export interface NodeProjection extends Node {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Labels;
    readonly creationTimestamp?: string;
  };
}

/** A pod that has not ended, without what nothing reads: whole pods of a large cluster would take 100 MB. */
export interface PodProjection {
  readonly pod: Pod;
  readonly workloadClass: WorkloadClass;
  readonly cpus: number;
  readonly gpus: number;
}

export const livePods = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;

const hardwareLabels: ReadonlySet<string> = new Set([
  archLabel,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
]);
/** Node feature discovery writes a hundred labels per node, of which the hardware needs a dozen. */
const NFD = "feature.node.kubernetes.io/";
const LABELS_LIMIT = 100;

export function nodeProjectionOf(object: KubeObject): NodeProjection {
  const { metadata, spec, status } = object as KubeObject & Node;
  const { name, uid = "", labels = {}, creationTimestamp } = metadata;
  const retained = Object.entries(labels).filter(([key]) => !key.startsWith(NFD) || hardwareLabels.has(key));
  const conditions = status?.conditions?.map(({ type, status: value }) => ({ type, status: value }));
  return {
    metadata: {
      name,
      uid,
      labels: Object.fromEntries(retained.slice(0, LABELS_LIMIT)),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: only(spec ?? {}, ["unschedulable", "taints"]),
    status: { ...only(status ?? {}, ["capacity", "allocatable"]), ...(conditions && { conditions }) },
  };
}

const podSpecFields = [
  "nodeName",
  "schedulingGates",
  "nodeSelector",
  "affinity",
  "tolerations",
  "overhead",
  "resources",
] as const;
const podStatusFields = ["phase", "startTime", "conditions"] as const;
const OURS = /^joulie\.io\//;

export function projectPod(object: KubeObject): PodProjection | undefined {
  const whole = object as KubeObject & Pod;
  const { spec = {}, status = {} } = whole as Partial<Pod>;
  if (status.phase === "Succeeded" || status.phase === "Failed") return undefined;
  const pod: Pod = {
    metadata: {
      ...only(whole.metadata as Pod["metadata"], [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
      ]),
      annotations: Object.fromEntries(
        Object.entries((whole.metadata as Pod["metadata"]).annotations ?? {}).filter(([key]) => OURS.test(key)),
      ),
    },
    spec: {
      ...only(spec, podSpecFields),
      ...(spec.containers && { containers: spec.containers.map(projectContainer) }),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(projectContainer) }),
    },
    status: only(status, podStatusFields),
  };
  const { cpuCores, gpus } = demandOf(pod);
  return {
    pod,
    workloadClass: workloadClassOf(pod).workloadClass,
    cpus: cpuCores,
    gpus: [...gpus.values()].reduce((sum, count) => sum + count, 0),
  };
}

const projectContainer = (container: Container): Container => only(container, ["resources", "restartPolicy"]);

/** The node that the pod is bound to; undefined while it waits for one. */
export const boundNodeOf = ({ pod }: PodProjection): string | undefined => pod.spec.nodeName || undefined;

function only<Value extends object, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  const retained: Partial<Value> = {};
  for (const key of keys) if (value[key] !== undefined && value[key] !== null) retained[key] = value[key];
  return retained as Pick<Value, Key>;
}

export const parseTwin: (object: KubeObject) => NodeTwin = readAs(nodeTwinKind);
export const parseHardware: (object: KubeObject) => NodeHardware = readAs(nodeHardwareKind);
export const parseProfile: (object: KubeObject) => NodePowerProfile = readAs(nodePowerProfileKind);
export const parseEndpoint: (object: KubeObject) => PowerEndpoint = readAs(powerEndpointKind);

const gpuNames = Object.values(gpuDeviceResources).flat();

/** How many GPUs the node offers to pods. */
export function gpuCountOf({ status }: NodeProjection): number {
  return gpuNames.reduce((sum, name) => sum + (Number(status?.allocatable?.[name]) || 0), 0);
}

/** Undefined if the kubelet has not reported yet. */
export function reportedReadiness({ status }: NodeProjection): boolean | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready && ready.status === "True";
}
