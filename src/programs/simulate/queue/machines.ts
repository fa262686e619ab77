import { labels, type NodeHardwareStatus } from "../../../core/api/index.ts";
import { builtinCatalogue, type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { type NodeModel, nodeModelOf } from "../../../core/physics/index.ts";
import type { SnapshotNode } from "../../../core/planning/index.ts";
import { watts } from "../../../core/units/index.ts";
import type { SleepOptions } from "../experiment.ts";
import type { MachineShape } from "../placement/job-kinds.ts";
import type { Trace } from "../trace/trace.ts";

/** Properties shared by all nodes of one kind. */
interface MachineKind {
  /** What an agent would discover. */
  readonly discovered: NodeHardwareStatus;
  readonly hardware: HardwareView;
  readonly model: NodeModel;
  readonly shape: MachineShape;
  /** Number of the board model within the cluster; NO_BOARD on nodes without GPUs. */
  readonly board: number;
}

const NO_BOARD = -2;

export interface ClusterMachine extends MachineKind {
  readonly name: string;
  readonly node: SnapshotNode;
}

interface Group {
  readonly share: number;
  readonly cpu: string;
  readonly gpu?: { readonly model: string; readonly count: number };
}

/** All have two sockets: the machines on the market closest to the published cores and watts. */
const groups: Readonly<Record<"exp04" | "mixed", readonly Group[]>> = {
  exp04: [
    { share: 0.8, cpu: "AMD EPYC 9454" },
    { share: 0.2, cpu: "AMD EPYC 7763", gpu: { model: "NVIDIA H100 80GB HBM3", count: 8 } },
  ],
  mixed: [
    { share: 0.35, cpu: "AMD EPYC 9654" },
    { share: 0.25, cpu: "Intel(R) Xeon(R) Platinum 8480+" },
    { share: 0.2, cpu: "AMD EPYC 7763" },
    { share: 0.08, cpu: "Intel(R) Xeon(R) Platinum 8480+", gpu: { model: "NVIDIA H100 80GB HBM3", count: 8 } },
    { share: 0.06, cpu: "AMD EPYC 7763", gpu: { model: "NVIDIA A100-SXM4-80GB", count: 8 } },
    { share: 0.06, cpu: "AMD EPYC 9454", gpu: { model: "NVIDIA L40S", count: 4 } },
  ],
};

const NODES_PER_RACK = 20;

/** Boot times of nodes without and with GPUs. */
type Boots = Pick<SleepOptions, "bootCpu" | "bootGpu">;

/** Generates the nodes of a cluster group by group; the last group absorbs rounding. */
export function machinesOf(cluster: keyof typeof groups, count: number, boots: Boots = {}): ClusterMachine[] {
  const machines: ClusterMachine[] = [];
  const boards = [...new Set(groups[cluster].flatMap(({ gpu }) => gpu?.model ?? []))];
  let share = 0;
  for (const [index, group] of groups[cluster].entries()) {
    share += group.share;
    const end = index === groups[cluster].length - 1 ? count : Math.round(count * share);
    const kind = machineKindOf(group, boards, boots);
    while (machines.length < end) machines.push(machineOf(kind, machines.length));
  }
  return machines;
}

/** What an agent would report of servers on which the TDP is the highest cap of a package. */
const discoveredOf = ({ cpu, gpu }: Group): NodeHardwareStatus => ({
  cpu: {
    rawModel: cpu,
    sockets: 2,
    capRange: { type: "package", maxWattsPerSocket: builtinCatalogue.cpu(cpu).entry?.tdpWatts },
  },
  ...(gpu && { gpu: { present: true, rawModel: gpu.model, vendor: "nvidia", count: gpu.count } }),
});

function machineKindOf(group: Group, models: readonly string[], { bootCpu, bootGpu }: Boots): MachineKind {
  const discovered = discoveredOf(group);
  const hardware = hardwareView({ metadata: { name: "" } }, discovered);
  const boards = hardware.gpu;
  const model = nodeModelOf(hardware);
  const bootTime = (boards === undefined ? bootCpu : bootGpu) ?? model.states.bootTime;
  return {
    // With the cores: the simulated nodes offer cores, while planning takes a node's allocatable CPUs for threads.
    discovered: { ...discovered, cpu: { ...discovered.cpu, totalCores: hardware.cpu.totalCores } },
    hardware,
    model: { ...model, states: { ...model.states, bootTime } },
    board: group.gpu === undefined ? NO_BOARD : models.indexOf(group.gpu.model),
    shape: {
      cores: hardware.cpu.totalCores ?? 0,
      cpuWatts: hardware.cpu.maxWatts,
      gpus: boards?.count ?? 0,
      gpuWatts: boards?.maxWatts ?? watts(0),
    },
  };
}

function machineOf(kind: MachineKind, index: number): ClusterMachine {
  const name = `node-${String(index).padStart(5, "0")}`;
  const rack = `rack-${Math.floor(index / NODES_PER_RACK)}`;
  const { gpus } = kind.shape;
  const product = kind.discovered.gpu?.rawModel?.replaceAll(" ", "-");
  return {
    ...kind,
    name,
    node: {
      metadata: {
        name,
        uid: name,
        resourceVersion: "1",
        labels: {
          [labels.managed]: "true",
          [labels.maySleep]: "true",
          [labels.rack]: rack,
          ...(product !== undefined && { [BOARD_LABEL]: product }),
        },
      },
      status: { allocatable: { cpu: String(kind.shape.cores), ...(gpus > 0 && { [GPU_RESOURCE]: String(gpus) }) } },
    },
  };
}

/** The label that jobs bound to one kind of board select. */
export const BOARD_LABEL = "nvidia.com/gpu.product";

export const GPU_RESOURCE = "nvidia.com/gpu";

/**
 * The weight of a job's work: what the cores and boards that it holds would draw at their rating, in watts. Cores count the
 * cluster's mean, boards their own rating if the job is bound to them, otherwise the mean. It is the same for every arm, so
 * cheap and expensive work cannot be exchanged unnoticed.
 */
export function ratedWatts(machines: readonly ClusterMachine[]): (trace: Trace, job: number) => number {
  let cores = 0;
  let cpuWatts = 0;
  let boards = 0;
  let gpuWatts = 0;
  const byBoard = new Map<number, number>();
  for (const { shape, board } of machines) {
    cores += shape.cores;
    cpuWatts += shape.cpuWatts;
    boards += shape.gpus;
    gpuWatts += shape.gpus * shape.gpuWatts;
    if (shape.gpus > 0) byBoard.set(board, shape.gpuWatts);
  }
  const perCore = cores > 0 ? cpuWatts / cores : 0;
  const perBoard = boards > 0 ? gpuWatts / boards : 0;
  return ({ cores: asked, gpus, board }, job) =>
    (asked[job] as number) * perCore + (gpus[job] as number) * (byBoard.get(board[job] as number) ?? perBoard);
}
