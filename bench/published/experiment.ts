import { seededRandom } from "../../src/platform/random/index.ts";
import type { Contender } from "../../src/programs/simulate/contenders.ts";
import type { Experiment, ExperimentOptions } from "../../src/programs/simulate/experiment.ts";
import { expectedJobs, generateTrace, workloadOfLoad } from "../../src/programs/simulate/trace/generate.ts";
import { PUBLISHED_NODES } from "../../src/programs/simulate/trace/mix.ts";
import type { Trace } from "../../src/programs/simulate/trace/trace.ts";
import type { Arm } from "./arms.ts";
import { exp04Cluster, publishedWorkload, STEP_SEC } from "./cluster.ts";
import { dropFigures, runDrop } from "./run.ts";

/** Absent = the values of the published experiment. */
type DropOptions = Pick<ExperimentOptions, "trace" | "nodes" | "hours" | "load">;

/** The duration covered by the published table. */
const DEFAULT_HOURS = 8;

const stepsIn = (hours: number): number => Math.max(1, Math.ceil((hours * 3600) / STEP_SEC));

/**
 * Steps up to the minute of the last job. That job counts only if it arrives exactly on the minute; later jobs are
 * reported.
 */
const stepsOf = ({ length, submitSec }: Trace): number => Math.floor((submitSec[length - 1] ?? 0) / STEP_SEC) + 1;

/** The published experiment: no queue, and jobs that do not fit are dropped. */
export function dropExperiment({ trace, nodes = PUBLISHED_NODES, hours, load }: DropOptions): Experiment {
  const cluster = exp04Cluster(nodes);
  const steps = hours === undefined && trace !== undefined ? stepsOf(trace) : stepsIn(hours ?? DEFAULT_HOURS);
  const lasts = hours ?? (steps * STEP_SEC) / 3600;
  const capacity = { nodes, ...capacityOf(cluster) };
  const workload = load === undefined ? publishedWorkload(nodes, lasts) : workloadOfLoad(load, capacity, lasts);
  return {
    figures: dropFigures,
    conditions: { nodes, hours: (steps * STEP_SEC) / 3600, ...(load !== undefined && { load }) },
    expectedJobs: trace?.length ?? expectedJobs(workload),
    traceOf: (seed) => trace ?? generateTrace(workload, seededRandom(seed)),
    run: (jobs, contender, seed, onProgress) =>
      runDrop({ trace: jobs, cluster, steps, seed }, contender as Contender & { arm: Arm }, onProgress),
    settle: (runs) => runs,
  };
}

function capacityOf({ shapes, shapeOf }: ReturnType<typeof exp04Cluster>): { cores: number; gpus: number } {
  let cores = 0;
  let gpus = 0;
  for (const index of shapeOf) {
    const shape = shapes[index];
    if (shape === undefined) continue;
    gpus += shape.gpus;
    if (shape.gpus === 0) cores += shape.cores;
  }
  return { cores, gpus };
}
