import type { NodePowerState } from "../api/index.ts";
import { throttledCount } from "../control/index.ts";
import { exceeds, fittingClock, mixedPowerAt, powerAt } from "../power/index.ts";
import { type Percent, percent, type Seconds, seconds, type Watts, watts } from "../units/index.ts";
import type { NodeModel } from "./node-model.ts";
import { type JobDemand, progressRate, type SimulatedJob } from "./work.ts";

/** Requested caps. A missing or invalid cap means uncapped. A cap that is too low, such as 0 W, saturates the device. */
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

/** The operating point of a node between two changes. The next change overwrites it, so copy values to keep. */
export interface Operation {
  /** Share of the cores that are busy. */
  cpuLoad: number;
  /** Mean clock of the cores, as a share of full clock. */
  cpuClock: number;
  /** Of all packages. */
  cpuWatts: Watts;
  /** The CPU runs at its slowest clock and still exceeds its cap. */
  cpuSaturated: boolean;
  /** Mean load of all boards, including idle ones. */
  gpuLoad: number;
  /** Mean clock of the busy boards; 1 if none is busy. */
  gpuClock: number;
  /** Of all boards. */
  gpuWatts: Watts;
  /** At least one board runs at its slowest clock and still exceeds its cap. */
  gpuSaturated: boolean;
}

/** A job with its progress rate at the current operating point. */
interface PacedJob {
  readonly demand: JobDemand;
  /** Progress per second, 1 at full speed. */
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
 * Computes the operating point of a node for these jobs and caps, and the progress rate of each job. All packages share the
 * CPU load evenly; each board serves its own job and keeps its own cap. It makes two passes over the jobs and allocates
 * nothing.
 */
export function operate(operation: Operation, model: NodeModel, jobs: readonly PacedJob[], caps: Caps): void {
  let busy = 0;
  let asked = 0;
  for (const { demand } of jobs) {
    busy += demand.cpuLoad;
    asked += demand.gpus;
  }
  powerCpu(operation, model, busy / model.cores, caps);
  // If the jobs need more cores than there are, all of them get proportionally less.
  const cpuClock = operation.cpuClock * Math.min(1, model.cores / busy);
  const granted = asked > 0 ? Math.min(1, model.boards / asked) : 1;
  powerGpu(operation, model, jobs, caps.gpuWattsPerBoard, cpuClock, granted);
}

/** The operating point of a machine that runs no jobs because it is off, shuts down, boots or hangs. */
export function operateWithoutJobs(
  operation: Operation,
  { cpu, packages, gpu, boards, states }: NodeModel,
  state: Exclude<NodePowerState, "on">,
): void {
  const isOff = state === "off";
  const load = state === "waking" ? states.bootLoad : 0;
  operation.cpuLoad = load;
  operation.cpuClock = 1;
  operation.cpuWatts = watts(isOff ? 0 : packages * powerAt(cpu, load, 1));
  operation.cpuSaturated = false;
  operation.gpuLoad = 0;
  operation.gpuClock = 1;
  operation.gpuWatts = watts(isOff || gpu === undefined ? 0 : boards * gpu.idle);
  operation.gpuSaturated = false;
}

function powerCpu(operation: Operation, model: NodeModel, busy: number, caps: Caps): void {
  const { cpu, cores, packages } = model;
  const load = Math.min(1, busy);
  const held = throttledCount(cores, percent(caps.throttlePct ?? 0)) / cores;
  const clock = fittingClock(cpu, load, caps.cpuWattsPerPackage, held);
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
      clock = fittingClock(gpu, demand.gpuUtil, cap);
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

/** A running job with its progress rate for the current segment. */
export interface JobInProgress<J extends SimulatedJob> extends PacedJob {
  readonly job: J;
  /** Remaining work at the start of the segment, in seconds at full speed. */
  left: number;
}

/** A service never ends: its remaining work is infinite. */
export const leftAfter = ({ left, rate }: JobInProgress<SimulatedJob>, time: Seconds): Seconds =>
  seconds(Math.max(0, left - rate * time));

/** Time to completion at the current rate; infinite for a service and for a stalled job. */
export const timeLeft = ({ left, rate }: JobInProgress<SimulatedJob>): Seconds => seconds(left > 0 ? left / rate : 0);

/** The job that completes first; on a tie, the one that started first. Absent if none completes. */
export function firstDone<J extends SimulatedJob>(jobs: readonly JobInProgress<J>[]): JobInProgress<J> | undefined {
  let first: JobInProgress<J> | undefined;
  let soonest = Infinity;
  for (const running of jobs) {
    const time = timeLeft(running);
    if (time < soonest) [first, soonest] = [running, time];
  }
  return first;
}
