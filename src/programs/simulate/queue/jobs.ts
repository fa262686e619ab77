import { type SimulatedJob, WORK_KINDS, type WorkKind } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import type { Trace } from "../trace/trace.ts";

/** A job of the trace as run by a node. */
export interface TraceJob extends SimulatedJob {
  readonly index: number;
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
}

/** Standard CPU jobs of at least this size are treated as analytics, smaller ones as services. */
const LARGE_CORES = 16;

/**
 * Traces do not tell how much a job depends on the clock; it is assumed from size and class. Utilization comes from
 * the trace.
 */
function workKindOf(gpus: number, computeBound: boolean, cores: number): WorkKind {
  if (gpus > 0) return computeBound ? WORK_KINDS.training : WORK_KINDS.decode;
  if (computeBound) return WORK_KINDS.compute;
  return cores >= LARGE_CORES ? WORK_KINDS.analytics : WORK_KINDS.service;
}

export function jobAt(trace: Trace, index: number): TraceJob {
  const cores = trace.cores[index] as number;
  const gpus = trace.gpus[index] as number;
  const performance = trace.performance[index] === 1;
  const kind = workKindOf(gpus, trace.computeBound[index] === 1, cores);
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
