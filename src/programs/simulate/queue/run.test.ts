import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimulatedNode } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { arms, type Contender } from "../contenders.ts";
import { generateTrace, workloadOfLoad } from "../trace/generate.ts";
import { type JobRow, type Trace, TraceBuilder } from "../trace/trace.ts";
import { jobAt } from "./jobs.ts";
import { type ClusterMachine, machinesOf } from "./machines.ts";
import { type QueueRunRecord, queueRunFigures } from "./queue-figures.ts";
import { simulateQueue } from "./run.ts";

const plain = (arm: Contender["arm"]): Contender => ({ arm, policy: "none" });
const traceOf = (jobs: readonly JobRow[]): Trace => {
  const builder = new TraceBuilder();
  for (const job of jobs) builder.add(job);
  return builder.build();
};
const job = (fields: Partial<JobRow> = {}): JobRow => ({
  submitSec: 0,
  cores: 96,
  gpus: 0,
  performance: false,
  cpuUtil: 0.5,
  gpuUtil: 0,
  durationSec: 600,
  ...fields,
});

/** Checks every start and end of a job: no node is overcommitted, and no waiting job would fit. */
function faults(
  { trace, placedOn, startedAt, endedAt }: QueueRunRecord,
  machines: readonly ClusterMachine[],
): string[] {
  const found: string[] = [];
  const moments = new Set([...startedAt, ...endedAt].filter((at) => !Number.isNaN(at)));
  for (const at of moments) {
    const cores = machines.map(({ shape }) => shape.cores * 1000);
    const gpus = machines.map(({ shape }) => shape.gpus);
    const millicores = (index: number): number => Math.round((trace.cores[index] ?? 0) * 1000);
    for (let index = 0; index < trace.length; index++) {
      const node = placedOn[index] ?? -1;
      if (node === -1 || !((startedAt[index] ?? 0) <= at && at < (endedAt[index] ?? 0))) continue;
      cores[node] = (cores[node] ?? 0) - millicores(index);
      gpus[node] = (gpus[node] ?? 0) - (trace.gpus[index] ?? 0);
    }
    if ([...cores, ...gpus].some((left) => left < 0)) found.push(`overfull at ${at}`);
    for (let index = 0; index < trace.length; index++) {
      const waits = (trace.submitSec[index] ?? 0) <= at && !((startedAt[index] ?? Number.NaN) <= at);
      const fits = machines.some(
        (_, node) => (cores[node] ?? 0) >= millicores(index) && (gpus[node] ?? 0) >= (trace.gpus[index] ?? 0),
      );
      if (waits && fits) found.push(`job ${index} waits at ${at} beside room for it`);
    }
  }
  return found;
}

describe("a queue", () => {
  // The last contender ignores classes, so that jobs never wait for their class: caps change, free capacity does not.
  it.each<Contender>([...arms.map(plain), { arm: "least", policy: "static_partition" }])(
    "with $arm:$policy never overcommits a node, starts every job that fits, and ends with all nodes empty",
    (contender) => {
      const machines = machinesOf("exp04", 5);
      const anyJob = fc.record({
        submitSec: fc.double({ min: 0, max: 1200, noNaN: true }),
        cores: fc.oneof(
          fc.constantFrom(0, 1, 30, 96, 128, 500),
          fc.nat(960).map((tenths) => tenths / 10),
        ),
        gpus: fc.constantFrom(0, 0, 1, 8),
        performance: fc.boolean(),
        cpuUtil: fc.constantFrom(0, 0.5, 1),
        gpuUtil: fc.constantFrom(0, 0.9),
        durationSec: fc.constantFrom(0, 59.5, 600),
      });
      fc.assert(
        fc.property(fc.array(anyJob, { maxLength: 40 }), fc.nat(), (jobs, seed) => {
          const trace = traceOf(jobs.toSorted((one, other) => one.submitSec - other.submitSec));
          const story = simulateQueue({ trace, machines, seed }, contender);
          expect(faults(story, machines)).toEqual([]);
          const { figures } = queueRunFigures(story);
          expect(figures["unfinished"]).toBe(jobs.filter(({ cores }) => cores > 128).length);
          expect(Object.entries(figures).filter(([, value]) => !Number.isFinite(value) || value < 0)).toEqual([]);
        }),
        { numRuns: 25 },
      );
    },
  );

  it("reports the energy of the physics and the waiting times", () => {
    const machines = machinesOf("exp04", 1);
    const trace = traceOf([job(), job({ submitSec: 60, cores: 48, durationSec: 300 })]);
    const story = simulateQueue({ trace, machines, seed: 1 }, plain("least"));
    expect([...story.startedAt]).toEqual([0, 600]);
    expect([...story.endedAt]).toEqual([600, 900]);
    const model = machines[0]?.model;
    if (model === undefined) throw new Error("no machine");
    const node = new SimulatedNode(model);
    node.start(jobAt(trace, 0));
    node.advance(seconds(600));
    node.start(jobAt(trace, 1));
    node.advance(seconds(900));
    const { figures } = queueRunFigures(story);
    expect(figures["itKWh"]).toBeCloseTo(node.joules / 3.6e6, 12);
    expect(figures).toMatchObject({ completed: 2, waitMeanSec: 270, makespanHours: 0.25, emptyNodesPct: 0 });
    expect(figures).not.toHaveProperty("performanceWaitMeanSec");
    expect(figures["slowdownMean"]).toBeCloseTo((1 + 840 / 300) / 2, 12);
    expect(figures["coreHours"]).toBeCloseTo((96 * 600 + 48 * 300) / 3600, 12);
    expect(figures["kWhPerCoreHour"]).toBeCloseTo(node.cpuJoules / 1000 / (96 * 600 + 48 * 300), 12);
  });

  it("counts waiting performance jobs as SLO misses", () => {
    const trace = traceOf([
      job({ performance: true }),
      job({ submitSec: 60, performance: true }),
      job({ submitSec: 60, cores: 1 }),
    ]);
    const { figures } = queueRunFigures(
      simulateQueue({ trace, machines: machinesOf("exp04", 1), seed: 1 }, plain("least")),
    );
    expect(figures).toMatchObject({
      waitMeanSec: (0 + 540 + 1140) / 3,
      performanceWaitMeanSec: 270,
      performanceWaitP95Sec: expect.closeTo(0.95 * 540, 9),
      sloMisses: 1,
      sloMissPct: 50,
      slowedByCapsPct: 0,
      ranLongerPct: 0,
    });
  });

  it("lets a small job pass a large one that does not fit yet", () => {
    const machines = machinesOf("exp04", 1);
    const trace = traceOf([
      job({ cores: 50 }),
      job({ submitSec: 1 }),
      job({ submitSec: 2, cores: 46, durationSec: 10 }),
    ]);
    const { startedAt } = simulateQueue({ trace, machines, seed: 1 }, plain("most"));
    expect([...startedAt]).toEqual([0, 600, 2]);
  });
});

describe("fractional cores", () => {
  // 96 − 12.5 − 10.5 − 21.6 − 10.3 and back is not exactly 96 in floating point.
  const cores = [12.5, 10.5, 21.6, 10.3];
  const durations = [40, 10, 20, 30];
  const jobs = cores.map((own, index) => job({ cores: own, durationSec: durations[index] ?? 0 }));
  const trace = traceOf([...jobs, job({ submitSec: 60 })]);

  it("are returned completely when a node becomes empty", () => {
    const setup = { trace, machines: machinesOf("exp04", 1), seed: 1 };
    expect([...simulateQueue(setup, plain("least")).startedAt]).toEqual([0, 0, 0, 0, 60]);
  });

  it("are rounded up to millicores", () => {
    const own = [0.1 + 0.2, 12.3, 0.0001, 1 / 3].map((fraction) => job({ cores: fraction }));
    expect([...traceOf(own).cores]).toEqual([0.3, 12.3, 0.001, 0.334]);
  });
});

describe("the production code in a queue", () => {
  // On exp04 hardly any package draws more than the lowest cap that agents set.
  const machines = machinesOf("mixed", 40);
  const cores = machines.reduce((sum, { shape }) => sum + shape.cores, 0);
  const gpus = machines.reduce((sum, { shape }) => sum + shape.gpus, 0);
  const trace = generateTrace(workloadOfLoad(0.6, { nodes: 40, cores, gpus }, 3), seededRandom(4));

  it("slows no performance job while nodes are capped, unlike a scheduler that ignores caps", () => {
    const story = simulateQueue({ trace, machines, seed: 4 }, { arm: "joulie", policy: "static_partition" });
    const joulie = queueRunFigures(story);
    const blind = queueRunFigures(
      simulateQueue({ trace, machines, seed: 4 }, { arm: "least", policy: "static_partition" }),
    );
    expect(joulie.figures).toMatchObject({ unfinished: 0, slowedByCaps: 0 });
    expect(blind.figures["unfinished"]).toBe(0);
    expect(blind.figures["slowedByCaps"]).toBeGreaterThan(0);
    expect(blind.figures["ranLongerPct"]).toBeGreaterThan(0.5);
  });

  it("slows standard jobs when nodes are full enough to reach their caps", () => {
    const full = generateTrace(workloadOfLoad(1.2, { nodes: 40, cores, gpus }, 3), seededRandom(4));
    const stretch = (contender: Contender, performance: number): number => {
      const { startedAt, endedAt } = simulateQueue({ trace: full, machines, seed: 4 }, contender);
      const own = [...full.performance.keys()].filter((index) => full.performance[index] === performance);
      const ran = own.reduce((sum, index) => sum + (endedAt[index] ?? 0) - (startedAt[index] ?? 0), 0);
      return ran / own.reduce((sum, index) => sum + (full.durationSec[index] ?? 0), 0);
    };
    const capped = { arm: "joulie", policy: "static_partition" } as const;
    expect(stretch(capped, 0)).toBeGreaterThan(1.0002);
    expect(stretch(capped, 1)).toBeCloseTo(1, 9);
    expect(stretch(plain("joulie"), 0)).toBeCloseTo(1, 9);
  });

  it("handles a job that ends exactly when its caps are lifted", () => {
    const jobs = [
      [0, 96, 1000],
      [0, 10, 80],
      [0.07, 5, 500],
      [19.87, 5, 500],
      [21.38, 5, 500],
      [80, 10, 50],
      [81, 96, 50],
    ] as const;
    const tight = traceOf(jobs.map(([submitSec, cores, durationSec]) => job({ submitSec, cores, durationSec })));
    const setup = { trace: tight, machines: machinesOf("exp04", 2), seed: 1 };
    const story = simulateQueue(setup, { arm: "most", policy: "static_partition" });
    expect(queueRunFigures(story).figures).toMatchObject({ completed: 7, unfinished: 0 });
  });

  it("gives bit-identical results for the same seed, with and without an operator", () => {
    for (const contender of [plain("joulie"), { arm: "joulie", policy: "queue_aware_v1" }, plain("kube")] as const) {
      const once = queueRunFigures(simulateQueue({ trace, machines, seed: 4 }, contender));
      expect(queueRunFigures(simulateQueue({ trace, machines, seed: 4 }, contender))).toEqual(once);
    }
  });

  it("ends when a performance job can never be placed, and reports it as not done", () => {
    // Only the larger node fits, and static_partition keeps the denser node at performance: the one with GPUs.
    const mixed = machinesOf("mixed", 100);
    const large = mixed.find(({ shape }) => shape.cores === 192);
    const dense = mixed.find(({ shape }) => shape.gpus === 8);
    if (large === undefined || dense === undefined) throw new Error("no such machines");
    const wide = traceOf([job({ submitSec: 300, cores: 150, performance: true })]);
    const setup = { trace: wide, machines: [large, dense], seed: 1 };
    const refused = queueRunFigures(simulateQueue(setup, { arm: "joulie", policy: "static_partition" }));
    expect(refused.figures).toMatchObject({ completed: 0, unfinished: 1 });
    expect([...refused.done]).toEqual([0]);
    expect(queueRunFigures(simulateQueue(setup, plain("least"))).figures).toMatchObject({
      completed: 1,
      unfinished: 0,
    });
  });
});
