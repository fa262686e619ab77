import { describe, expect, it } from "vitest";
import type { Caps } from "../../../core/physics/index.ts";
import { seconds } from "../../../core/units/index.ts";
import { ANY_BOARD } from "../trace/trace.ts";
import type { TraceJob } from "./jobs.ts";
import { machinesOf } from "./machines.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";
import { SimulatedOperator } from "./simulated-operator.ts";

const performanceJob: TraceJob = {
  id: "0",
  index: 0,
  cores: 8,
  gpus: 0,
  performance: true,
  cpuUtil: 1,
  cpuShare: 0.9,
  work: seconds(90),
};

const kinds = [{ cores: 8, gpus: 0, performance: true, board: ANY_BOARD }];

/** Caps that agents would set after a pass, by node. */
function enforcedBy(operator: SimulatedOperator): Map<number, Caps> {
  const enforced = new Map<number, Caps>();
  operator.enforce((node, caps) => enforced.set(node, caps));
  return enforced;
}

describe("SimulatedOperator", () => {
  it("caps the less dense half, and a node with a performance job only after that job has ended", () => {
    const machines = machinesOf("exp04", 10);
    const site = new SimulatedCluster(machines);
    const operator = new SimulatedOperator(machines, site, kinds, "static_partition");
    site.start(7, performanceJob, 0);
    operator.bound(0, 0, 7, 0);
    const classOf = (node: number) => operator.kernel.filter(operator.kernel.slotOf(`node-0000${node}`), "performance");
    operator.pass(0);
    // Nodes 8 and 9 have GPUs; of the CPU nodes, which are equally dense, the first three by name complete the half.
    expect([...machines.keys()].map(classOf)).toEqual([0, 0, 0, 1, 1, 1, 1, 2, 0, 0]);
    // Published first and capped in a later pass, because a job may have been placed in between.
    const first = enforcedBy(operator);
    expect([...first.values()].map(({ cpuWattsPerPackage }) => cpuWattsPerPackage)).toEqual(
      machines.map(() => undefined),
    );
    operator.pass(60);
    const second = enforcedBy(operator);
    expect([...second.keys()]).toEqual([3, 4, 5, 6]);
    expect(second.get(3)?.cpuWattsPerPackage).toBe(174);
    expect(site.processNextEvent()?.ended?.index).toBe(0);
    operator.ended(0);
    operator.pass(120);
    expect(classOf(7)).toBe(1);
    operator.pass(180);
    expect([...enforcedBy(operator).keys()]).toContain(7);
    expect(enforcedBy(operator).size).toBe(0);
  });

  it("X-96 keeps a promoted node at performance for five minutes, as the operator does", () => {
    const machines = machinesOf("exp04", 10);
    const operator = new SimulatedOperator(machines, new SimulatedCluster(machines), kinds, "queue_aware_v1");
    const performing = () =>
      machines.filter(({ name }) => operator.kernel.filter(operator.kernel.slotOf(name), "performance") === 0).length;
    operator.pass(0);
    expect(performing()).toBe(6);
    const waiting = Array.from({ length: 65 }, (_, job) => job);
    for (const job of waiting) operator.arrived(job, 0, 60);
    operator.pass(60);
    expect(performing()).toBe(7);
    for (const job of waiting) operator.ended(job);
    for (const at of [120, 240, 359]) {
      operator.pass(at);
      expect(performing()).toBe(7);
    }
    operator.pass(360);
    expect(performing()).toBe(6);
  });

  /** Number of capped nodes and cap in watts per board, by GPU model. */
  function boardCaps(
    cluster: "exp04" | "mixed",
    policy: "static_partition" | "queue_aware_v1",
  ): Record<string, number[]> {
    const machines = machinesOf(cluster, 250);
    const operator = new SimulatedOperator(machines, new SimulatedCluster(machines), kinds, policy);
    operator.pass(0);
    enforcedBy(operator);
    operator.pass(60);
    const found: Record<string, number[]> = {};
    for (const [index, { gpuWattsPerBoard }] of enforcedBy(operator)) {
      const model = machines[index]?.hardware.gpu?.model ?? "";
      if (gpuWattsPerBoard !== undefined) (found[model] ??= []).push(gpuWattsPerBoard);
    }
    return found;
  }

  it("caps the boards of GPU nodes outside the denser half", () => {
    // 60 % of 400 W and of 350 W.
    expect(boardCaps("mixed", "static_partition")).toEqual({
      "NVIDIA A100-SXM4-80GB": [240],
      "NVIDIA L40S": Array.from({ length: 14 }, () => 210),
    });
  });

  it("caps no board of exp04 with static_partition or the initial share of queue_aware_v1, as the guide states", () => {
    expect(boardCaps("exp04", "static_partition")).toEqual({});
    expect(boardCaps("exp04", "queue_aware_v1")).toEqual({});
    expect(boardCaps("mixed", "queue_aware_v1")).toEqual({});
  });

  it("keeps every node at performance without a policy, but publishes twins", () => {
    const machines = machinesOf("exp04", 5);
    const operator = new SimulatedOperator(machines, new SimulatedCluster(machines), kinds, "none");
    for (let job = 0; job < 100; job++) operator.arrived(job, 0, 0);
    operator.pass(0);
    operator.pass(60);
    const uncapped = { cpuWattsPerPackage: undefined, gpuWattsPerBoard: undefined };
    expect([...enforcedBy(operator).values()]).toEqual(machines.map(() => uncapped));
    const demand = { cpuCores: 1, gpus: new Map<string, number>() };
    // An idle node scores far above 50, the neutral score of a node without a twin.
    const scores = new Int16Array(1);
    operator.kernel.scoreMany(Int32Array.of(operator.kernel.slotOf("node-00000")), demand, "standard", scores);
    expect(scores[0]).toBeGreaterThan(60);
  });
});
