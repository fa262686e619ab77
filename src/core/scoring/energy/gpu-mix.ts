/** A pod with whole GPU boards. */
export interface GpuJob {
  readonly boards: number;
  readonly cpus: number;
}

/** The GPU pods that run in the cluster, by number of boards. The values of one kind have one index in all lists. */
export interface GpuMix {
  readonly boards: Float64Array;
  /** Mean CPUs of a pod of that kind. */
  readonly cpus: Float64Array;
  /** Sum 1. */
  readonly share: Float64Array;
}

/** Pods with more boards count as this many, so that a mix stays small. */
const MAX_BOARDS = 16;

/** Counts the GPU pods of the cluster. Sums of thousandths of a CPU are exact, whatever the order of additions. */
export class GpuMixCounter {
  readonly #counts = new Float64Array(MAX_BOARDS + 1);
  readonly #milliCpus = new Float64Array(MAX_BOARDS + 1);
  #mix: GpuMix | undefined;

  /** `sign` is 1 to add the jobs and -1 to remove them. */
  count(jobs: readonly GpuJob[], sign: 1 | -1): void {
    for (const { boards, cpus } of jobs) {
      const kind = Math.min(boards, MAX_BOARDS);
      this.#counts[kind] = (this.#counts[kind] as number) + sign;
      this.#milliCpus[kind] = (this.#milliCpus[kind] as number) + sign * Math.round(cpus * 1000);
    }
    if (jobs.length > 0) this.#mix = undefined;
  }

  /** The returned object never changes. */
  get mix(): GpuMix {
    return (this.#mix ??= this.#build());
  }

  #build(): GpuMix {
    const kinds = [...this.#counts.keys()].filter((kind) => (this.#counts[kind] as number) > 0);
    const total = kinds.reduce((sum, kind) => sum + (this.#counts[kind] as number), 0);
    return {
      boards: Float64Array.from(kinds),
      cpus: Float64Array.from(
        kinds,
        (kind) => (this.#milliCpus[kind] as number) / 1000 / (this.#counts[kind] as number),
      ),
      share: Float64Array.from(kinds, (kind) => (this.#counts[kind] as number) / total),
    };
  }
}

export function gpuMixOf(jobs: readonly GpuJob[]): GpuMix {
  const counter = new GpuMixCounter();
  counter.count(jobs, 1);
  return counter.mix;
}

/** Fractions of boards add up with rounding errors. */
const ROUNDING = 1e-9;

/** The free boards that the GPU pods of the mix cannot use, on average: a pod needs whole boards and CPUs beside them. */
export function unusableBoards(freeBoards: number, freeCpus: number, { boards, cpus, share }: GpuMix): number {
  let unusable = 0;
  for (let kind = 0; kind < boards.length; kind++) {
    const size = boards[kind] as number;
    const cpusEach = cpus[kind] as number;
    const byBoards = Math.floor(freeBoards / size + ROUNDING);
    // A division only where the CPUs may be too few.
    const pods =
      freeCpus >= byBoards * cpusEach ? byBoards : Math.min(byBoards, Math.floor(freeCpus / cpusEach + ROUNDING));
    unusable += (share[kind] as number) * (freeBoards - size * pods);
  }
  return unusable;
}
