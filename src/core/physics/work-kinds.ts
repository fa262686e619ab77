import type { Figure } from "../inventory/index.ts";
import { MODEL_SOURCES as from, sourcedFigure } from "../power/index.ts";

/** A type of job; `SimulatedJob` describes the parameters. */
export interface WorkKind {
  readonly name: string;
  readonly cpuUtil: Figure;
  readonly cpuShare: Figure;
  /** 0 for work without GPUs. */
  readonly gpuUtil: Figure;
  readonly gpuShare: Figure;
}

const assumed = (value: number): Figure => sourcedFigure(value, "assumed", from.estimate);
/** Fitted to the published pair of energy and time; not measured on a device. */
const fitted = (value: number): Figure => sourcedFigure(value, "assumed", from.powerCapping);

const cpuOnly = (name: string, cpuUtil: number, cpuShare: number): WorkKind => ({
  name,
  cpuUtil: assumed(cpuUtil),
  cpuShare: assumed(cpuShare),
  gpuUtil: assumed(0),
  gpuShare: assumed(0),
});

export const WORK_KINDS = {
  /** CPU-bound computation that fits into the caches. */
  compute: cpuOnly("CPU, compute-bound", 0.95, 0.9),
  /** Request handling that mostly waits for other services. */
  service: cpuOnly("CPU, service", 0.4, 0.5),
  /** Scans and joins, bound by memory bandwidth. */
  analytics: cpuOnly("CPU, memory-bound", 0.75, 0.25),
  training: {
    name: "GPU, training",
    cpuUtil: assumed(0.3),
    cpuShare: assumed(0.03),
    gpuUtil: fitted(0.715),
    gpuShare: fitted(0.45),
  },
  /** Dense matrix products, prefill of large batches. */
  dense: {
    name: "GPU, compute-bound",
    cpuUtil: assumed(0.2),
    cpuShare: assumed(0.02),
    gpuUtil: assumed(0.95),
    gpuShare: assumed(0.85),
  },
  /** Token generation, bound by memory bandwidth. */
  decode: {
    name: "GPU, decode",
    cpuUtil: assumed(0.2),
    cpuShare: assumed(0.05),
    gpuUtil: assumed(0.45),
    gpuShare: assumed(0.1),
  },
} as const satisfies Record<string, WorkKind>;
