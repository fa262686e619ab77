import { seededRandom } from "../../../platform/random/index.ts";
import type { Experiment, ExperimentOptions } from "../experiment.ts";
import type { ExperimentRun } from "../run.ts";
import { expectedJobs, generateTrace } from "../trace/generate.ts";
import { type Trace, truncateTrace } from "../trace/trace.ts";
import { workloadOfLoad } from "../workload.ts";
import { machinesOf } from "./machines.ts";
import { queueFigures } from "./queue-figures.ts";
import { runQueue } from "./run.ts";

const DEFAULT_NODES = 250;
const DEFAULT_LOAD = 0.6;
/** Training jobs last hours: a run shorter than a day would mostly show the cluster filling up and emptying. */
const DEFAULT_HOURS = 24;

/** Jobs wait until they fit and all are completed, so arms are compared at equal work. */
export function queueExperiment(
  cluster: Parameters<typeof machinesOf>[0],
  { trace, nodes = DEFAULT_NODES, hours, load = DEFAULT_LOAD }: ExperimentOptions,
): Experiment {
  const machines = machinesOf(cluster, nodes);
  const lasts = hours ?? (trace === undefined ? DEFAULT_HOURS : lengthOf(trace) / 3600);
  const cores = machines.reduce((sum, { shape }) => sum + (shape.gpus > 0 ? 0 : shape.cores), 0);
  const gpus = machines.reduce((sum, { shape }) => sum + shape.gpus, 0);
  const workload = workloadOfLoad(load, { nodes, cores, gpus }, lasts);
  const given = trace && truncateTrace(trace, lasts * 3600);
  return {
    figures: queueFigures,
    conditions: { nodes, hours: lasts, ...(trace === undefined && { load }) },
    expectedJobs: trace?.length ?? expectedJobs(workload),
    traceOf: (seed) => given ?? generateTrace(workload, seededRandom(seed)),
    run: (jobs, contender, seed, onProgress) => runQueue({ trace: jobs, machines, seed }, contender, onProgress),
    settle: inSameTime,
  };
}

/** Rounded up to whole minutes. */
const lengthOf = ({ length, submitSec }: Trace): number => Math.ceil((submitSec[length - 1] ?? 0) / 60) * 60;

/**
 * A cluster that finishes early still draws idle power: each run is charged until the last run of the same jobs ends.
 */
function inSameTime(runs: readonly ExperimentRun[]): readonly ExperimentRun[] {
  const lasting = new Map<number, number>();
  for (const { seed, figures } of runs) {
    lasting.set(seed, Math.max(lasting.get(seed) ?? 0, figures["makespanHours"] ?? 0));
  }
  return runs.map((run) => {
    const { itKWh = 0, idleKW = 0, makespanHours = 0 } = run.figures;
    const left = (lasting.get(run.seed) ?? 0) - makespanHours;
    return { ...run, figures: { ...run.figures, sameTimeKWh: itKWh + idleKW * left } };
  });
}
