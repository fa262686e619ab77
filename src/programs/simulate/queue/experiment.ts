import { seededRandom } from "../../../platform/random/index.ts";
import type { Experiment, ExperimentOptions, ExperimentRun } from "../experiment.ts";
import { expectedJobs, generateTrace, workloadOfLoad } from "../trace/generate.ts";
import { type Trace, truncateTrace } from "../trace/trace.ts";
import { boundToBoards, withPerformanceShare } from "./jobs.ts";
import { machinesOf } from "./machines.ts";
import { queueFigures } from "./queue-figures.ts";
import { runQueue } from "./run.ts";

const DEFAULT_NODES = 250;
const DEFAULT_LOAD = 0.6;
/** Training jobs last hours: a run shorter than a day would mostly show the cluster filling up and emptying. */
const DEFAULT_HOURS = 24;

/** Jobs wait until they fit and all are completed, so arms are compared at equal work. */
export function queueExperiment(cluster: Parameters<typeof machinesOf>[0], options: ExperimentOptions): Experiment {
  const { trace, nodes = DEFAULT_NODES, hours, load = DEFAULT_LOAD } = options;
  const { wallPower = false, bindBoards = false, performanceShare, ecoMaxSlowdown, ecoClockShare, sleep } = options;
  const machines = machinesOf(cluster, nodes, sleep);
  const lasts = hours ?? (trace === undefined ? DEFAULT_HOURS : lengthOf(trace) / 3600);
  const cores = machines.reduce((sum, { shape }) => sum + (shape.gpus > 0 ? 0 : shape.cores), 0);
  const gpus = machines.reduce((sum, { shape }) => sum + shape.gpus, 0);
  const workload = workloadOfLoad(load, { nodes, cores, gpus }, lasts);
  const given = trace && truncateTrace(trace, lasts * 3600);
  const endSec = lasts * 3600;
  return {
    figures: queueFigures,
    conditions: {
      nodes,
      hours: lasts,
      ...(trace === undefined && { load }),
      ...(performanceShare !== undefined && { performanceShare }),
      ...(wallPower && { wallPower: "on" }),
      ...(bindBoards && { bindBoards: "on" }),
      ...(ecoMaxSlowdown !== undefined && { ecoMaxSlowdown }),
      ...(ecoClockShare !== undefined && { ecoClockShare }),
      ...(sleep?.bootCpu !== undefined && { bootCpuSec: sleep.bootCpu }),
      ...(sleep?.bootGpu !== undefined && { bootGpuSec: sleep.bootGpu }),
      ...(sleep?.failedBoots !== undefined && { bootFailures: sleep.failedBoots }),
      ...(sleep?.reserveQuantile !== undefined && { sleepReserveQuantile: sleep.reserveQuantile }),
      ...(sleep?.zoneShare !== undefined && { sleepZoneShare: sleep.zoneShare }),
      ...(sleep?.after !== undefined && { sleepAfterSec: sleep.after / 1000 }),
    },
    expectedJobs: trace?.length ?? expectedJobs(workload),
    traceOf: (seed) => {
      let jobs = given ?? generateTrace(workload, seededRandom(seed));
      // Streams of their own, so that the jobs of a seed stay the same with and without these options.
      if (performanceShare !== undefined) {
        jobs = withPerformanceShare(jobs, performanceShare, seededRandom(seed + 0.25));
      }
      return bindBoards ? boundToBoards(jobs, machines, seededRandom(seed + 0.75)) : jobs;
    },
    run: (jobs, contender, seed, onProgress) =>
      runQueue(
        {
          trace: jobs,
          machines,
          seed,
          atWall: wallPower,
          window: [endSec * WARM_UP, endSec],
          ecoMaxSlowdown,
          ecoClockShare,
          sleep,
        },
        contender,
        onProgress,
      ),
    settle: inSameTime,
  };
}

/** Share of the arrival time in which the cluster fills up; see the guide. */
const WARM_UP = 1 / 3;

/** Rounded up to whole minutes. */
const lengthOf = ({ length, submitSec }: Trace): number => Math.ceil((submitSec[length - 1] ?? 0) / 60) * 60;

/** A cluster that is done still draws idle power: each run is charged until the last run of its jobs ends. */
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
