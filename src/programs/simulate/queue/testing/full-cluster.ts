// A cluster of 100 nodes that is full for more than half an hour, under fit_aware_v1.
import { seededRandom } from "../../../../platform/random/index.ts";
import { type JobRow, TraceBuilder } from "../../trace/trace.ts";
import { machinesOf } from "../machines.ts";
import { simulateQueue } from "../run.ts";
import { instantAt } from "../settings.ts";

const NODES = 100;
/** The cluster has been full for a while, and stays so until jobs no longer arrive. */
const FROM_SEC = 600;
const TO_SEC = FROM_SEC + 1800;
const STANDARD_CORES = [1, 2, 4, 8];
const MEAN_CORES = 3.75;
const MEAN_SEC = 630;

/** Small standard jobs ask for 15 % more than the cluster has. Among them are small and large performance jobs. */
function fullQueue(machines: ReturnType<typeof machinesOf>, seed: number): readonly JobRow[] {
  const random = seededRandom(seed);
  const cores = machines.reduce((sum, { shape }) => sum + shape.cores, 0);
  const jobs: JobRow[] = [];
  const add = (submitSec: number, asked: number, performance: boolean, durationSec: number) =>
    jobs.push({ submitSec, cores: asked, gpus: 0, performance, cpuUtil: 0.7, gpuUtil: 0, durationSec });
  const oneOf = (sizes: readonly number[]) => sizes[Math.floor(random.next() * sizes.length)] ?? 1;
  const standardSec = () => 60 + random.next() * 2 * (MEAN_SEC - 60);
  for (let filled = 0; filled < 1.3 * cores; ) {
    const asked = oneOf(STANDARD_CORES);
    filled += asked;
    add(random.next() * 60, asked, false, standardSec());
  }
  const arrive = (from: number, everySec: number, job: (at: number) => void) => {
    for (let at = from; at < TO_SEC; at += -Math.log(1 - random.next()) * everySec) job(at);
  };
  arrive(60, (MEAN_SEC * MEAN_CORES) / (1.15 * cores), (at) => add(at, oneOf(STANDARD_CORES), false, standardSec()));
  arrive(120, 20, (at) => add(at, oneOf([1, 2, 4]), true, 60 + random.next() * 540));
  arrive(300, 180, (at) => add(at, 16, true, 600 + random.next() * 600));
  return jobs.toSorted((a, b) => a.submitSec - b.submitSec);
}

export interface FullClusterFigures {
  /** In half an hour. */
  readonly promotions: number;
  /** Mean waits in seconds, of jobs that were submitted to the full cluster. NaN if one never started. */
  readonly standardWait: number;
  readonly smallStandardWait: number;
  readonly smallPerformanceWait: number;
  readonly largePerformanceWait: number;
  /** Performance jobs of 16 cores from the first half of the half hour, and how many of them started within it. */
  readonly largeJobs: number;
  readonly largeJobsStarted: number;
}

export function runFullCluster(seed: number): FullClusterFigures {
  const machines = machinesOf("exp04", NODES);
  const jobs = fullQueue(machines, seed);
  const builder = new TraceBuilder();
  for (const job of jobs) builder.add(job);
  const run = simulateQueue({ trace: builder.build(), machines, seed: 1 }, { arm: "energy", policy: "fit_aware_v1" });
  const startOf = (index: number): number => run.startedAt[index] ?? Number.NaN;
  const meanWait = (isOne: (job: JobRow) => boolean): number => {
    const waits = jobs.flatMap((job, index) => (isOne(job) ? [startOf(index) - job.submitSec] : []));
    return waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  };
  const isWaiting = ({ performance, submitSec }: JobRow) => !performance && submitSec > FROM_SEC;
  const isInWindow = ({ at }: { readonly at: number }) => at >= instantAt(FROM_SEC) && at < instantAt(TO_SEC);
  const large = jobs.flatMap(({ cores, performance, submitSec }, index) =>
    performance && cores === 16 && submitSec < FROM_SEC + 900 ? [startOf(index)] : [],
  );
  return {
    promotions: run.promotions?.filter(isInWindow).length ?? Number.NaN,
    standardWait: meanWait(isWaiting),
    smallStandardWait: meanWait((job) => isWaiting(job) && job.cores <= 4),
    smallPerformanceWait: meanWait(({ performance, cores }) => performance && cores <= 4),
    largePerformanceWait: meanWait(({ performance, cores }) => performance && cores === 16),
    largeJobs: large.length,
    largeJobsStarted: large.filter((startedAt) => startedAt < TO_SEC).length,
  };
}
