import type { Labels } from "../../api/index.ts";
import { type GpuNode, gpuBoardsOn, gpuNodeOf } from "../../demand/index.ts";
import type { HardwareView } from "../../inventory/index.ts";
import { type DeviceModel, nodePowerModelOf, powerAt, restOfServerOf } from "../../power/index.ts";
import { isPositive, type Watts, watts } from "../../units/index.ts";
import type { RunningPod } from "./energy-pod.ts";
import type { GpuJob } from "./gpu-mix.ts";
import type { EnergySettings } from "./settings.ts";

/** What a node's hardware contributes to the joules of a pod. */
export interface EnergyNode {
  /** As Kubernetes counts and pods request them: hardware threads. */
  readonly cpus: number;
  /** The power of all CPU packages between idle and full load. */
  readonly cpuRange: Watts;
  readonly cpuShape: DeviceModel["shape"];
  readonly boards: number;
  /** What a used board adds to its idle power. */
  readonly wattsPerBoard: Watts;
  /** CPUs that a free board needs for its next pod. */
  readonly cpusPerFreeBoard: number;
  /** The factor by which a GPU pod takes longer here than on the reference board. */
  readonly slowdown: number;
  /** At the wall: devices and the rest of the server. */
  readonly idle: Watts;
  /** The idle power that a sleeping node saves. */
  readonly saved: Watts;
  /** Further watts at the wall for each watt of the devices. */
  readonly restSlope: number;
  readonly gpuNode: GpuNode;
}

/** An A100: dense FP16 TFLOPS. Only ratios matter. */
const REFERENCE_PERF = 312;

/** Undefined if neither the catalogue nor the agent knows the power of the CPUs and of all boards. */
export function energyNodeOf(
  hardware: HardwareView | undefined,
  labels: Labels | undefined,
  settings: EnergySettings,
): EnergyNode | undefined {
  const cpus = hardware?.cpu.logicalCpus ?? hardware?.cpu.totalCores;
  if (hardware === undefined || !isPositive(cpus) || !hasKnownPower(hardware)) return undefined;
  const model = nodePowerModelOf(hardware);
  const rest = restOfServerOf(model);
  const gpuNode = gpuNodeOf(hardware, labels);
  const { gpuUtilisation, coresPerFreeBoard, offWatts, boardSpeeds } = settings;
  const idle = model.idle + rest.idle;
  const off = gpuNode.boards > 0 ? offWatts.withGpus : offWatts.withoutGpus;
  const perf = hardware.gpu?.perf;
  return {
    cpus,
    cpuRange: watts(model.packages * (model.cpu.full - model.cpu.idle)),
    cpuShape: model.cpu.shape,
    boards: gpuNode.boards,
    wattsPerBoard: watts(model.gpu === undefined ? 0 : powerAt(model.gpu, gpuUtilisation, 1) - model.gpu.idle),
    cpusPerFreeBoard: (coresPerFreeBoard * cpus) / model.cores,
    slowdown: boardSpeeds && isPositive(perf) ? REFERENCE_PERF / perf : 1,
    idle: watts(idle),
    saved: watts(Math.max(0, idle - off)),
    restSlope: rest.slope,
    gpuNode,
  };
}

const hasKnownPower = ({ cpu, gpu }: HardwareView): boolean =>
  isKnown(cpu.from.maxWatts) && (gpu === undefined || isKnown(gpu.from.maxWatts));

const isKnown = (origin: string | undefined): boolean => origin !== undefined && origin !== "fallback";

/** What the pods of a node use, and how long they are expected to run. */
export interface NodeLoad {
  readonly usedCpus: number;
  readonly usedBoards: number;
  /** Some pod declares no duration. */
  readonly openEnded: boolean;
  /** When the first and the last pod with a declared duration end, in milliseconds; NaN without such pods. */
  readonly firstEnd: number;
  readonly lastEnd: number;
  readonly gpuJobs: readonly GpuJob[];
}

export function nodeLoadOf(node: EnergyNode, pods: Iterable<RunningPod>): NodeLoad {
  let usedCpus = 0;
  let usedBoards = 0;
  let openEnded = false;
  let firstEnd = Number.NaN;
  let lastEnd = Number.NaN;
  const gpuJobs: GpuJob[] = [];
  for (const { demand, duration, startedAt, background } of pods) {
    const cpus = cpusOn(node.cpus, demand.cpuCores);
    const boards = demand.gpus.size === 0 ? 0 : gpuBoardsOn(demand.gpus, node.gpuNode);
    usedCpus += cpus;
    usedBoards += boards;
    if (boards >= 1) gpuJobs.push({ boards: Math.round(boards), cpus });
    if (background) continue;
    const end = duration === undefined || startedAt === undefined ? Number.NaN : startedAt + duration * 1000;
    if (Number.isNaN(end)) openEnded = true;
    else {
      firstEnd = end >= firstEnd ? firstEnd : end;
      lastEnd = end <= lastEnd ? lastEnd : end;
    }
  }
  return { usedCpus, usedBoards, openEnded, firstEnd, lastEnd, gpuJobs };
}

/** A pod cannot use more than all CPUs of the node. */
export function cpusOn(available: number, asked: number): number {
  if (asked === Infinity) return available;
  return isPositive(asked) ? Math.min(asked, available) : 0;
}
