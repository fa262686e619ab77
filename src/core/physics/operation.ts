import { throttledCount } from "../control/index.ts";
import { type Percent, percent, type Watts, watts } from "../units/index.ts";
import { exceeds, fittingClock, mixedPowerAt, powerAt } from "./device.ts";
import type { NodeModel } from "./node-model.ts";
import { type JobDemand, progressRate } from "./work.ts";

/** What is asked of the hardware. Absent, or no number: not asked. A cap too low to be kept saturates, 0 W among them. */
export interface Caps {
  readonly cpuWattsPerPackage?: Watts | undefined;
  /** Share of the cores held at their slowest clock. */
  readonly throttlePct?: Percent | undefined;
  readonly gpuWattsPerBoard?: Watts | undefined;
}

export const sameCaps = (one: Caps, other: Caps): boolean =>
  Object.is(one.cpuWattsPerPackage, other.cpuWattsPerPackage) &&
  Object.is(one.throttlePct, other.throttlePct) &&
  Object.is(one.gpuWattsPerBoard, other.gpuWattsPerBoard);

/** What a node does between two changes. It is overwritten at the next one: copy what is to be kept. */
export interface Operation {
  /** Cores kept busy, as a share of all. */
  cpuLoad: number;
  /** Mean of the cores' clocks, as a share of full clock. */
  cpuClock: number;
  /** Of all packages. */
  cpuWatts: Watts;
  /** As slow as it goes and still above its cap. */
  cpuSaturated: boolean;
  /** Mean load of the boards, idle ones among them. */
  gpuLoad: number;
  /** Mean clock of the boards at work; 1 where none is. */
  gpuClock: number;
  /** Of all boards. */
  gpuWatts: Watts;
  /** Some board is as slow as it goes and still above its cap. */
  gpuSaturated: boolean;
}

/** A job on a node, with the pace the node's operation gives it. */
export interface PacedJob {
  readonly demand: JobDemand;
  /** Work done per second, 1 at full speed. */
  rate: number;
}

export const idleOperation = (): Operation => ({
  cpuLoad: 0,
  cpuClock: 1,
  cpuWatts: watts(0),
  cpuSaturated: false,
  gpuLoad: 0,
  gpuClock: 1,
  gpuWatts: watts(0),
  gpuSaturated: false,
});

/**
 * Works out what a node does with these jobs under these caps, and how fast each job gets on. All packages share the CPU's
 * load evenly; each board works for its own job and keeps its cap by itself. Two passes over the jobs, nothing allocated.
 */
export function operate(
  operation: Operation,
  model: NodeModel,
  jobs: readonly PacedJob[],
  caps: Caps,
  ceiling: number,
): void {
  let busy = 0;
  let asked = 0;
  for (const { demand } of jobs) {
    busy += demand.cpuLoad;
    asked += demand.gpus;
  }
  powerCpu(operation, model, busy / model.cores, caps, ceiling);
  // More asked for than there is: everybody gets less of it.
  const cpuClock = operation.cpuClock * Math.min(1, model.cores / busy);
  powerGpu(
    operation,
    model,
    jobs,
    caps.gpuWattsPerBoard,
    ceiling,
    cpuClock,
    asked > 0 ? Math.min(1, model.boards / asked) : 1,
  );
}

function powerCpu(operation: Operation, model: NodeModel, busy: number, caps: Caps, ceiling: number): void {
  const { cpu, cores, packages } = model;
  const load = Math.min(1, busy);
  const held = throttledCount(cores, percent(caps.throttlePct ?? 0)) / cores;
  const clock = Math.min(ceiling, fittingClock(cpu, load, caps.cpuWattsPerPackage, held));
  const perPackage = mixedPowerAt(cpu, load, clock, held);
  operation.cpuLoad = load;
  operation.cpuClock = (1 - held) * clock + held * cpu.clock.slowest;
  operation.cpuWatts = watts(packages * perPackage);
  operation.cpuSaturated = exceeds(perPackage, caps.cpuWattsPerPackage);
}

function powerGpu(
  operation: Operation,
  { gpu, boards }: NodeModel,
  jobs: readonly PacedJob[],
  cap: Watts | undefined,
  ceiling: number,
  cpuClock: number,
  granted: number,
): void {
  let power = gpu === undefined ? 0 : boards * gpu.idle;
  let load = 0;
  let working = 0;
  let clocks = 0;
  let saturated = gpu !== undefined && exceeds(gpu.idle, cap);
  for (const job of jobs) {
    const { demand } = job;
    const share = demand.gpus * granted;
    let clock = 1;
    if (gpu !== undefined && share > 0) {
      clock = Math.min(ceiling, fittingClock(gpu, demand.gpuUtil, cap));
      const perBoard = powerAt(gpu, demand.gpuUtil, clock);
      power += share * (perBoard - gpu.idle);
      load += share * demand.gpuUtil;
      working += share;
      clocks += share * clock;
      saturated ||= exceeds(perBoard, cap);
    }
    job.rate = progressRate(demand, cpuClock, clock * granted);
  }
  operation.gpuWatts = watts(power);
  operation.gpuLoad = boards > 0 ? load / boards : 0;
  operation.gpuClock = working > 0 ? clocks / working : 1;
  operation.gpuSaturated = saturated;
}
