import { gpuBoardsOn } from "../../demand/index.ts";
import { isPositive } from "../../units/index.ts";
import type { EnergyNode } from "./energy-node.ts";
import type { RunningPod } from "./energy-pod.ts";
import type { GpuJob } from "./gpu-mix.ts";

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
export const cpusOn = (available: number, asked: number): number =>
  isPositive(asked) ? Math.min(asked, available) : asked === Number.POSITIVE_INFINITY ? available : 0;
