import { afterEach, describe, expect, it } from "vitest";
import { milliseconds, seconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { eventually } from "../../../platform/clock/testing/index.ts";
import { Scheduler } from "../../../platform/embedded/index.ts";
import type { ApiRequest } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { generateMachines } from "../machines/machine-specs.ts";
import { FleetTestHarness } from "../testing/fleet-test-harness.ts";
import { type JobArrival, jobArrivals } from "./arrivals.ts";
import { JobSubmitter } from "./job-submitter.ts";

const fleet = generateMachines(40, "sim", seededRandom(1));
const jobs = (seed: number, load = 0.6, hour = 0) =>
  jobArrivals({ fleet, load, performanceShare: 0.25, timeOfDay: seconds(hour * 3600), random: seededRandom(seed) });

function during(hours: number, ...options: Parameters<typeof jobs>): JobArrival[] {
  const taken: JobArrival[] = [];
  for (const job of jobs(...options)) {
    if (job.at > hours * 3600) break;
    taken.push(job);
  }
  return taken;
}

describe("jobArrivals", () => {
  it("are reproducible for a seed", () => {
    expect(during(2, 7)).toEqual(during(2, 7));
    expect(during(2, 7)).not.toEqual(during(2, 8));
  });

  it("request the configured load of cores and GPUs over a day", () => {
    const days = 8;
    const day = Array.from({ length: days }, (_, seed) => during(24, seed))
      .flat()
      .filter(({ at }) => at > 0);
    const cores = fleet.reduce((sum, spec) => sum + (spec.gpus === undefined ? spec.cores : 0), 0);
    const gpus = fleet.reduce((sum, spec) => sum + (spec.gpus?.count ?? 0), 0);
    const asked = (of: (job: JobArrival) => number) =>
      day.reduce((sum, job) => sum + of(job) * job.work, 0) / (days * 24 * 3600);
    expect(asked((job) => (job.gpus ? 0 : job.cores)) / cores).toBeCloseTo(0.6, 1);
    expect(asked((job) => job.gpus?.count ?? 0) / gpus).toBeCloseTo(0.6, 1);
    expect(day.filter(({ performance }) => performance).length / day.length).toBeCloseTo(0.25, 1);
  });

  it("come in batches at half past every hour on request", () => {
    const options = { fleet, load: 0.1, performanceShare: 0.25, timeOfDay: seconds(18 * 3600 + 600) };
    const batches = new Map<number, { cores: number; gpus: number }>();
    for (const { at, cores, gpus } of jobArrivals({ ...options, batchShare: 0.2, random: seededRandom(1) })) {
      if (at > 2.4 * 3600) break;
      if ((at + 600) % 3600 !== 1800) continue;
      const sum = batches.get(at) ?? { cores: 0, gpus: 0 };
      batches.set(at, { cores: sum.cores + (gpus ? 0 : cores), gpus: sum.gpus + (gpus?.count ?? 0) });
    }
    expect([...batches.keys()]).toEqual([1200, 4800, 8400]);
    const cores = fleet.reduce((sum, spec) => sum + (spec.gpus === undefined ? spec.cores : 0), 0);
    const gpus = fleet.reduce((sum, spec) => sum + (spec.gpus?.count ?? 0), 0);
    for (const batch of batches.values()) {
      expect(batch.cores / cores).toBeCloseTo(0.2, 1);
      // The last job of each kind of GPU may be larger than what was missing.
      expect(batch.gpus / gpus).toBeGreaterThanOrEqual(0.2);
      expect(batch.gpus / gpus).toBeLessThan(0.3);
    }
  });

  it("are more frequent by day than by night, with a matching initial load", () => {
    const day = during(24, 1).filter(({ at }) => at > 0);
    const between = (from: number, to: number) => day.filter(({ at }) => at >= from * 3600 && at < to * 3600).length;
    expect(between(9, 15)).toBeGreaterThan(2 * between(0, 6));
    const first = (hour: number) => during(0, 1, 0.6, hour).length;
    expect(first(11)).toBeGreaterThan(2 * first(3));
    expect(first(3)).toBeGreaterThan(20);
  });

  it("start in the evening with the afternoon's jobs, and the load falls from there", () => {
    const evening = during(1, 1, 0.6, 18);
    const presentAt = (minute: number) =>
      evening.filter(({ at, work }) => at <= 60 * minute && at + work > 60 * minute).length;
    expect(presentAt(20)).toBeLessThan(0.85 * presentAt(0));
    expect(presentAt(50)).toBeLessThan(0.7 * presentAt(0));
  });

  it("start at every hour with the load of a workload that began long before", () => {
    const day = during(24, 1, 6);
    for (const hour of [9, 12.5, 18, 21]) {
      const there = day.filter(({ at, work }) => at <= 3600 * hour && at + work > 3600 * hour).length;
      expect(Math.abs(during(0, 1, 6, hour).length / there - 1)).toBeLessThan(0.1);
    }
  });
});

describe("the workload in a cluster", () => {
  let harness: FleetTestHarness;
  let scheduler: Scheduler | undefined;
  afterEach(async () => {
    let over = false;
    void scheduler?.stop().then(() => (over = true));
    if (scheduler !== undefined) await harness.until(() => over);
    scheduler = undefined;
    await harness.end();
  });

  const schedule = () => {
    const log = createLogger({ level: "silent", program: "scheduler" });
    scheduler = new Scheduler({ client: harness.hand, clock: harness.ioClock, random: seededRandom(9), log });
    scheduler.start();
  };

  const job = { at: seconds(0), kind: "compute", cores: 1, work: seconds(1), performance: false } as const;
  const alone = () => ({
    client: harness.hand,
    clock: harness.clock,
    ioClock: harness.ioClock,
    random: seededRandom(1),
    log: createLogger({ level: "silent", program: "simulator" }),
    namespace: "default",
    prefix: "sim",
    scheduler: "default-scheduler",
    maxPods: 1,
    finishedPodRetention: milliseconds(1000),
  });

  it("is placed, runs, finishes, is deleted, and leaves nothing at the end", async () => {
    harness = await FleetTestHarness.begin({ WORKLOAD: "day", NODES: "20", FINISHED_PODS_KEPT: "10s" });
    schedule();
    await harness.pass(240);
    const pods = await harness.pods();
    const phases = Object.groupBy(pods, ({ status }) => status?.phase ?? "");
    expect(phases["Running"]?.length).toBeGreaterThan(30);
    const { totals } = harness.simulator.datacenter;
    expect(totals.pods).toBe(phases["Running"]?.length);
    expect(totals.performancePods).toBeGreaterThan(0);
    expect(harness.simulator.jobs.submitted).toBeGreaterThan(pods.length);
    expect(pods.length).toBeLessThan(harness.simulator.jobs.submitted);
    const text = JSON.stringify(pods[0]);
    expect(text).toContain("joulie.io/workload-class");
    await harness.end();
    expect(await harness.pods()).toEqual([]);
    expect(await harness.nodes()).toEqual([]);
  });

  it("stops at the maximum number of pods", async () => {
    harness = await FleetTestHarness.begin({ WORKLOAD: "day", NODES: "40", MAX_PODS: "25" });
    await harness.pass(600);
    expect(await harness.pods()).toHaveLength(25);
    expect(harness.simulator.jobs.withheld).toBeGreaterThan(50);
  });

  it("yields to other tasks when jobs arrive faster than they can be submitted", async () => {
    harness = new FleetTestHarness();
    const stop = new AbortController();
    const submitter = new JobSubmitter({ ...alone(), ioClock: systemClock });
    // Runs only once the submitter yields.
    void eventually(() => submitter.withheld > 100).then(() => stop.abort());
    const endless = function* (): Generator<JobArrival> {
      for (let count = 0; count < 1e7; count++) yield job;
    };
    await submitter.run(endless(), stop.signal);
    expect(submitter.withheld).toBeGreaterThan(100);
    expect(submitter.withheld).toBeLessThan(1e6);
    await submitter.stop();
  });

  it("counts created jobs, and logs a permanent rejection once", async () => {
    harness = new FleetTestHarness();
    const isPod = ({ method, path }: ApiRequest) => method === "POST" && path.includes("/pods");
    harness.api.faults.add({ when: isPod, fault: { kind: "status", code: 403 } });
    await harness.start({ WORKLOAD: "day", MAX_PODS: "10" });
    await harness.pass(30);
    expect(harness.simulator.jobs.submitted).toBe(0);
    expect(harness.log.match(/the API server rejects/g)).toHaveLength(1);
    harness.api.faults.clear();
    await harness.until(() => harness.simulator.jobs.submitted === 10);
  });

  it("is submitted once per job in spite of failed calls", async () => {
    harness = new FleetTestHarness();
    harness.api.faults.add({
      when: ({ method, path }) => method === "POST" && path.includes("/pods"),
      fault: { kind: "torn", afterBytes: 10 },
      times: 20,
    });
    await harness.start({ WORKLOAD: "day", MAX_PODS: "40" });
    await harness.pass(120);
    const pods = await harness.pods();
    expect(pods).toHaveLength(40);
    expect(harness.simulator.jobs.submitted).toBe(40);
  });
});
