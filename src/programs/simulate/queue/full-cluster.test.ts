import { beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../../../platform/random/index.ts";
import { type JobRow, TraceBuilder } from "../trace/trace.ts";
import { machinesOf } from "./machines.ts";
import type { QueueRunRecord } from "./queue-figures.ts";
import { simulateQueue } from "./run.ts";
import { instantAt } from "./settings.ts";

const NODES = 100;
/** The cluster has been full for a while, and stays so until jobs no longer arrive. */
const FROM_SEC = 600;
const TO_SEC = FROM_SEC + 1800;
const STANDARD_CORES = [1, 2, 4, 8];
const MEAN_CORES = 3.75;
const MEAN_SEC = 630;

/** Small standard jobs ask for 15 % more than the cluster has. Among them are small and large performance jobs. */
function fullQueue(machines: ReturnType<typeof machinesOf>): readonly JobRow[] {
  const random = seededRandom(27);
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

describe("fit_aware_v1 on a full cluster of 100 nodes", () => {
  const machines = machinesOf("exp04", NODES);
  const jobs = fullQueue(machines);
  let run: QueueRunRecord;

  beforeAll(() => {
    const builder = new TraceBuilder();
    for (const job of jobs) builder.add(job);
    run = simulateQueue({ trace: builder.build(), machines, seed: 1 }, { arm: "energy", policy: "fit_aware_v1" });
  });

  const waitsOf = (isOne: (job: JobRow) => boolean): readonly number[] =>
    jobs.flatMap((job, index) => (isOne(job) ? [(run.startedAt[index] ?? Number.NaN) - job.submitSec] : []));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

  it("is full: standard jobs wait for minutes", () => {
    expect(mean(waitsOf(({ performance, submitSec }) => !performance && submitSec > FROM_SEC))).toBeGreaterThan(180);
  });

  it("X-150 promotes at most 10 nodes in half an hour", () => {
    const isInWindow = ({ at }: { readonly at: number }) => at >= instantAt(FROM_SEC) && at < instantAt(TO_SEC);
    expect(run.promotions?.filter(isInWindow).length).toBeLessThanOrEqual(10);
  });

  it("X-150 runs 16-core performance jobs while the cluster is full", () => {
    const large = jobs.flatMap(({ cores, performance, submitSec }, index) =>
      performance && cores === 16 && submitSec < FROM_SEC + 900 ? [run.startedAt[index] ?? Number.NaN] : [],
    );
    expect(large.length).toBeGreaterThan(3);
    for (const startedAt of large) expect(startedAt).toBeLessThan(TO_SEC);
  });

  it("X-150 small performance jobs wait for less than half the time of standard jobs of the same size", () => {
    const small = waitsOf(({ performance, cores }) => performance && cores <= 4);
    const standard = waitsOf(({ performance, cores, submitSec }) => !performance && cores <= 4 && submitSec > FROM_SEC);
    expect(mean(small)).toBeLessThan(mean(standard) / 2);
  });
});
