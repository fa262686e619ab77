/** A workload as columns, one row per job, in order of submission. */
export interface Trace {
  readonly length: number;
  readonly submitSec: Float64Array;
  /** In whole millicores. */
  readonly cores: Float64Array;
  readonly gpus: Float64Array;
  /** 1 = performance, 0 = standard. */
  readonly performance: Uint8Array;
  /** 1 = training or computation, which depends on the clock (jobs that ask for full speed); 0 = other work. */
  readonly computeBound: Uint8Array;
  /** The kind of board that the job must run on, see `ClusterMachine.board`; ANY_BOARD = any. */
  readonly board: Int8Array;
  /** Utilization of the requested cores and GPUs, 0–1. */
  readonly cpuUtil: Float64Array;
  readonly gpuUtil: Float64Array;
  readonly durationSec: Float64Array;
}

export const ANY_BOARD = -1;

export interface JobRow {
  readonly submitSec: number;
  readonly cores: number;
  readonly gpus: number;
  readonly performance: boolean;
  readonly cpuUtil: number;
  readonly gpuUtil: number;
  readonly durationSec: number;
}

/** Larger traces are mistakes or decompression bombs: 10 million jobs take 500 MB. */
export const MAX_JOBS = 10_000_000;

/** Collects jobs and returns them as exactly sized columns. */
export class TraceBuilder {
  #room = 1024;
  #length = 0;
  #columns = columnsOf(this.#room);

  get length(): number {
    return this.#length;
  }

  add(job: JobRow): void {
    if (this.#length === this.#room) {
      this.#room *= 2;
      this.#columns = copied(this.#columns, this.#length, this.#room);
    }
    const at = this.#length++;
    this.#columns.submitSec[at] = job.submitSec;
    this.#columns.cores[at] = ceilToMillicores(job.cores);
    this.#columns.gpus[at] = job.gpus;
    this.#columns.performance[at] = job.performance ? 1 : 0;
    this.#columns.computeBound[at] = job.performance ? 1 : 0;
    this.#columns.board[at] = ANY_BOARD;
    this.#columns.cpuUtil[at] = job.cpuUtil;
    this.#columns.gpuUtil[at] = job.gpuUtil;
    this.#columns.durationSec[at] = job.durationSec;
  }

  build(): Trace {
    return { length: this.#length, ...copied(this.#columns, this.#length, this.#length) };
  }
}

/** Maximum times and sizes of a job. Larger ones are errors, and a run would never end. */
export const JOB_LIMITS = {
  /** Ten thousand hours, more than a year: of submission after the first job, and of a duration. */
  seconds: 3.6e7,
  cores: 100_000,
  gpus: 1000,
} as const;

/** The jobs submitted up to and including a time. */
export function truncateTrace(trace: Trace, endSec: number): Trace {
  const later = trace.submitSec.findIndex((submit) => submit > endSec);
  const length = later === -1 ? trace.length : later;
  return { length, ...copied(trace, length, length) };
}

type Columns = Omit<Trace, "length">;

const columnsOf = (room: number): Columns => ({
  submitSec: new Float64Array(room),
  cores: new Float64Array(room),
  gpus: new Float64Array(room),
  performance: new Uint8Array(room),
  computeBound: new Uint8Array(room),
  board: new Int8Array(room),
  cpuUtil: new Float64Array(room),
  gpuUtil: new Float64Array(room),
  durationSec: new Float64Array(room),
});

function copied(columns: Columns, length: number, room: number): Columns {
  const next = columnsOf(room);
  next.submitSec.set(columns.submitSec.subarray(0, length));
  next.cores.set(columns.cores.subarray(0, length));
  next.gpus.set(columns.gpus.subarray(0, length));
  next.performance.set(columns.performance.subarray(0, length));
  next.computeBound.set(columns.computeBound.subarray(0, length));
  next.board.set(columns.board.subarray(0, length));
  next.cpuUtil.set(columns.cpuUtil.subarray(0, length));
  next.gpuUtil.set(columns.gpuUtil.subarray(0, length));
  next.durationSec.set(columns.durationSec.subarray(0, length));
  return next;
}

/** Kubernetes counts cores in millicores. */
const PER_CORE = 1000;

/** Sums of fractions drift: a node that misses the last bit of its cores could never take a job that needs them all. */
export const roundToMillicores = (cores: number): number => Math.round(cores * PER_CORE) / PER_CORE;

/** Rounds a request up to millicores, ignoring floating-point noise. */
const ceilToMillicores = (cores: number): number => Math.ceil(cores * PER_CORE - 1e-6) / PER_CORE;
