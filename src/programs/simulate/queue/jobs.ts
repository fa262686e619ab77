import { type SimulatedJob, WORK_KINDS, type WorkKind } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import type { Trace } from "../trace/trace.ts";

/** A job of the trace as a node runs it. */
export interface TraceJob extends SimulatedJob {
  readonly index: number;
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
}

/** Above this a standard CPU job is taken for one that scans data, below for one that waits for others. */
const LARGE_CORES = 16;

/** Which clock a job waits for, no trace says: it is assumed from its size and class. How busy it is, the trace knows. */
function workKindOf(gpus: number, performance: boolean, cores: number): WorkKind {
  if (gpus > 0) return performance ? WORK_KINDS.training : WORK_KINDS.decode;
  if (performance) return WORK_KINDS.compute;
  return cores >= LARGE_CORES ? WORK_KINDS.analytics : WORK_KINDS.service;
}

export function jobAt(trace: Trace, index: number): TraceJob {
  const cores = trace.cores[index] as number;
  const gpus = trace.gpus[index] as number;
  const performance = trace.performance[index] === 1;
  const kind = workKindOf(gpus, performance, cores);
  return {
    id: String(index),
    index,
    cores,
    gpus,
    performance,
    cpuUtil: trace.cpuUtil[index] as number,
    cpuShare: kind.cpuShare.value,
    gpuUtil: trace.gpuUtil[index],
    gpuShare: kind.gpuShare.value,
    work: seconds(trace.durationSec[index] as number),
  };
}
