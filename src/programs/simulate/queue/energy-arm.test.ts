import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../platform/random/index.ts";
import { generateTrace, workloadOfLoad } from "../trace/generate.ts";
import { ANY_BOARD, type JobRow, type Trace, TraceBuilder } from "../trace/trace.ts";
import { boundToBoards, withPerformanceShare } from "./jobs.ts";
import { machinesOf } from "./machines.ts";
import { queueRunFigures } from "./queue-figures.ts";
import { simulateQueue } from "./run.ts";

const energy = { arm: "energy", policy: "fit_aware_v1" } as const;
const least = { arm: "least", policy: "none" } as const;
const traceOf = (jobs: readonly JobRow[]): Trace => {
  const builder = new TraceBuilder();
  for (const job of jobs) builder.add(job);
  return builder.build();
};
const job = (fields: Partial<JobRow> = {}): JobRow => ({
  submitSec: 0,
  cores: 32,
  gpus: 0,
  performance: false,
  cpuUtil: 0.5,
  gpuUtil: 0,
  durationSec: 600,
  ...fields,
});

describe("the arm energy", () => {
  const machines = machinesOf("mixed", 50);
  const workload = workloadOfLoad(0.6, { nodes: 50, cores: 40 * 150, gpus: 10 * 7 }, 6);
  const mixed = withPerformanceShare(generateTrace(workload, seededRandom(3)), 0.25, seededRandom(4));
  const trace = boundToBoards(mixed, machines, seededRandom(5));
  const setup = { trace, machines, seed: 3, atWall: true, window: [7200, 21_600] as const };

  it("completes all jobs with less energy per work than spreading, and slows no performance job by caps", () => {
    const [base, ours] = [least, energy].map((contender) => queueRunFigures(simulateQueue(setup, contender)).figures);
    expect([base?.["unfinished"], ours?.["unfinished"]]).toEqual([0, 0]);
    expect(ours?.["windowKWhPerWork"]).toBeLessThan((base?.["windowKWhPerWork"] ?? 0) * 0.98);
    expect(ours?.["slowedByCaps"]).toBe(0);
  });

  it("places every job that is bound to a kind of board on such boards", () => {
    const { placedOn } = simulateQueue(setup, energy);
    const bound = [...trace.gpus.keys()].filter((index) => (trace.gpus[index] ?? 0) > 0);
    expect(bound.map((index) => machines[placedOn[index] ?? -1]?.board)).toEqual(
      bound.map((index) => trace.board[index]),
    );
  });

  it("promotes a node for a performance job within seconds, not at the next minute", () => {
    // A standard job makes the only family in use eco; the performance job fits on no performance node.
    const jobs = [
      job(),
      job({ submitSec: 130.25, cores: 90, performance: true }),
      job({ submitSec: 131, cores: 96, performance: true }),
    ];
    const { startedAt } = simulateQueue({ trace: traceOf(jobs), machines: machinesOf("exp04", 5), seed: 1 }, energy);
    for (const [index, { submitSec }] of jobs.entries())
      expect((startedAt[index] ?? 0) - submitSec).toBeLessThanOrEqual(2);
  });

  it("gives the same result for the same seed", () => {
    const once = queueRunFigures(simulateQueue(setup, energy));
    expect(queueRunFigures(simulateQueue(setup, energy))).toEqual(once);
  });
});

describe("energy per work in the window", () => {
  const machines = machinesOf("exp04", 5);

  it("counts the energy and the work between the two moments only", () => {
    // One job on one node from 100 to 1100 s; the window covers half of it.
    const setup = { trace: traceOf([job({ submitSec: 100, durationSec: 1000 })]), machines, seed: 1 };
    const inside = simulateQueue({ ...setup, window: [600, 1000] }, least);
    const [from, to] = inside.marks;
    if (from === undefined || to === undefined) throw new Error("two marks are expected");
    expect(to.atSec - from.atSec).toBe(400);
    // 580 W of each CPU node and 560 W of the GPU node, over 512 cores.
    const perCore = (4 * 580 + 560) / 512;
    expect(to.ratedJoules - from.ratedJoules).toBeCloseTo(32 * perCore * 400, 6);
    const { figures } = queueRunFigures(inside);
    expect(figures["windowKWhPerWork"]).toBeCloseTo((to.energy.total - from.energy.total) / (32 * perCore * 400), 9);
    // Reading the meters changes nothing.
    const { figures: unread } = queueRunFigures(simulateQueue(setup, least));
    expect(figures["itKWh"]).toBe(unread["itKWh"]);
  });

  it("splits all energy by the state of the nodes, with and without the rest of the servers", () => {
    for (const atWall of [false, true]) {
      const { energy: spent } = simulateQueue({ trace: traceOf([job()]), machines, seed: 1, atWall }, least);
      const sum = Object.values(spent.byState).reduce((total, part) => total + part, 0);
      expect(sum).toBeCloseTo(spent.total, 6);
      expect(spent.total > spent.cpu + spent.gpu + 1).toBe(atWall);
    }
  });
});

describe("changes of the jobs", () => {
  const machines = machinesOf("mixed", 100);
  const trace = generateTrace(workloadOfLoad(0.6, { nodes: 100, cores: 12_000, gpus: 140 }, 24), seededRandom(1));

  it("draw the asked share of performance jobs and leave what the jobs compute", () => {
    const changed = withPerformanceShare(trace, 0.25, seededRandom(2));
    const share = changed.performance.reduce((sum, one) => sum + one, 0) / changed.length;
    expect(Math.abs(share - 0.25)).toBeLessThan(0.02);
    expect(changed.computeBound).toEqual(trace.computeBound);
  });

  it("bind each GPU job to boards that a node has enough of, in proportion to the boards", () => {
    const { board, gpus, length } = boundToBoards(trace, machines, seededRandom(2));
    const jobs = new Map<number, number>();
    const unfit: number[] = [];
    for (let index = 0; index < length; index++) {
      const asked = gpus[index] ?? 0;
      const kind = board[index] ?? ANY_BOARD;
      const fits = machines.some((machine) => machine.board === kind && machine.shape.gpus >= asked);
      if (asked === 0 ? kind !== ANY_BOARD : !fits) unfit.push(index);
      if (asked === 1) jobs.set(kind, (jobs.get(kind) ?? 0) + 1);
    }
    expect(unfit).toEqual([]);
    const boards = (kind: number) =>
      machines.filter((machine) => machine.board === kind).reduce((sum, { shape }) => sum + shape.gpus, 0);
    expect(Math.abs((jobs.get(0) ?? 0) / (jobs.get(1) ?? 1) - boards(0) / boards(1))).toBeLessThan(0.3);
  });
});
