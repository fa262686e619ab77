import type { Labels, Pod } from "../../../core/api/index.ts";
import { demandOf, gpuBoardsOn, type WorkloadClass, workloadClassOf } from "../../../core/demand/index.ts";
import type { GpuView } from "../../../core/inventory/index.ts";
import { type SimulatedJob, WORK_KINDS } from "../../../core/physics/index.ts";
import { type Instant, instant, parseNumber, type Seconds, seconds } from "../../../core/units/index.ts";
import type { KubeObject } from "../../../platform/kube/index.ts";
import type { MachineSpec } from "../machines/machine-specs.ts";
import { fleetAnnotations, fleetLabels } from "../names.ts";

export interface FleetPod {
  readonly key: string;
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly startTime: Instant | undefined;
  /** Conditions written by us and by other controllers. */
  readonly conditions: readonly PodCondition[];
  readonly submittedHere: boolean;
  /** Grace period in seconds after deletion was requested. */
  readonly grace: Seconds | undefined;
  readonly containers: readonly { readonly name: string; readonly image: string }[];
  readonly workloadClass: WorkloadClass;
  readonly work: PodWork;
}

interface PodCondition {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface PodWork {
  readonly cores: number;
  readonly gpus: ReadonlyMap<string, number>;
  readonly kind: keyof typeof WORK_KINDS;
  readonly cpuUtil: number;
  readonly gpuUtil: number;
  readonly seconds: Seconds;
  readonly stopSeconds: Seconds;
}

export interface PodJob extends SimulatedJob {
  readonly key: string;
  readonly performance: boolean;
}

interface FullPod extends Omit<Pod, "spec" | "status"> {
  readonly status?: {
    readonly phase?: string;
    readonly startTime?: string;
    readonly conditions?: readonly PodCondition[];
  };
  readonly metadata: Pod["metadata"] & { readonly deletionGracePeriodSeconds?: number };
  readonly spec: Omit<Pod["spec"], "containers"> & {
    readonly restartPolicy?: string;
    readonly containers?: readonly {
      readonly name: string;
      readonly image?: string;
      readonly command?: readonly string[];
      readonly args?: readonly string[];
    }[];
  };
}

const FOR_EVER = seconds(Infinity);
/** Typical exit time after SIGTERM of a process without state. */
const DEFAULT_STOP = 1;

/** `prefix`: the node prefix that identifies the pods of this fleet. */
export function fleetPodOf(object: KubeObject, prefix: string): FleetPod {
  const pod = object as unknown as FullPod;
  const { name, namespace = "default", uid = "", deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  return {
    key: `${namespace}/${name}`,
    uid,
    name,
    namespace,
    node: pod.spec.nodeName,
    phase: pod.status?.phase ?? "Pending",
    conditions: pod.status?.conditions ?? [],
    startTime: instantIn(pod.status?.startTime),
    submittedHere: object.metadata.labels?.[fleetLabels.submitter] === prefix,
    grace: deletionTimestamp === undefined ? undefined : seconds(deletionGracePeriodSeconds),
    containers: (pod.spec.containers ?? []).map((one) => ({ name: one.name, image: one.image ?? "" })),
    workloadClass: workloadClassOf(object as unknown as Pod).workloadClass,
    work: workOf(pod, object as unknown as Pod),
  };
}

function workOf({ metadata, spec }: FullPod, pod: Pod): PodWork {
  const { cpuCores: cores, gpus } = demandOf(pod);
  const said = metadata.annotations ?? {};
  const kind = kindOf(said[fleetAnnotations.kind]) ?? (gpus.size > 0 ? "training" : "service");
  const { cpuUtil, gpuUtil } = WORK_KINDS[kind];
  // A pod whose containers are restarted never ends.
  const ends = spec.restartPolicy === "Never" || spec.restartPolicy === "OnFailure";
  return {
    cores,
    gpus,
    kind,
    cpuUtil: numberIn(said[fleetAnnotations.cpuUtil]) ?? cpuUtil,
    gpuUtil: numberIn(said[fleetAnnotations.gpuUtil]) ?? gpuUtil,
    seconds: ends ? seconds(numberIn(said[fleetAnnotations.workSeconds]) ?? sleepIn(spec) ?? FOR_EVER) : FOR_EVER,
    stopSeconds: seconds(numberIn(said[fleetAnnotations.stopSeconds]) ?? DEFAULT_STOP),
  };
}

/** The seconds of a first container that only sleeps: the usual stand-in for work. */
function sleepIn({ containers }: FullPod["spec"]): number | undefined {
  const { command = [], args = [] } = containers?.[0] ?? {};
  const [program, length, ...others] = [...command, ...args];
  return program === "sleep" && others.length === 0 ? numberIn(length) : undefined;
}

const kindOf = (text: string | undefined): keyof typeof WORK_KINDS | undefined =>
  (Object.keys(WORK_KINDS) as (keyof typeof WORK_KINDS)[]).find((kind) => kind === text);

function instantIn(text: string | undefined): Instant | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : instant(at);
}

/** Ignores values that are not numbers of zero or more. */
function numberIn(text: string | undefined): number | undefined {
  const read = text === undefined ? undefined : parseNumber(text);
  return read?.ok === true && read.value >= 0 ? read.value : undefined;
}

const boardsOn = ({ count, model, devicesPerBoard }: GpuView, gpus: PodWork["gpus"], labels: Labels): number =>
  gpuBoardsOn(gpus, { boards: count, labels, model, devicesPerBoard });

export function jobOf({ uid, key, work, workloadClass }: FleetPod, spec: MachineSpec): PodJob {
  const { cpuShare, gpuShare } = WORK_KINDS[work.kind];
  const { gpu } = spec.hardware;
  return {
    id: uid,
    key,
    performance: workloadClass === "performance",
    cores: work.cores,
    cpuUtil: work.cpuUtil,
    cpuShare: cpuShare,
    gpus: gpu === undefined ? 0 : boardsOn(gpu, work.gpus, spec.labels),
    gpuUtil: work.gpuUtil,
    gpuShare: gpuShare,
    work: work.seconds,
  };
}
