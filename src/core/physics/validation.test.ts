import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { CPU_CLASSES, clockFactor, cpuClassOf, type LoadPoints, powerAt, SPECPOWER } from "../power/index.ts";
import { seconds, type Watts, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { type NodeModel, nodeModel, nodeModelOf } from "./node-model.ts";
import type { Caps } from "./operation.ts";
import { type SimulatedJob, WORK_KINDS, type WorkKind } from "./work.ts";

/** A node with boards of one product, described by its labels. */
const gpuNode = (product: string, gpus: number): NodeModel =>
  nodeModelOf(
    hardwareView(
      {
        metadata: {
          name: "n",
          labels: { "nvidia.com/gpu.product": product, "joulie.io/hw.cpu-model": "Intel Xeon Gold 6430" },
        },
        status: { allocatable: { cpu: "64", "nvidia.com/gpu": String(gpus) } },
      },
      undefined,
    ),
  );

const jobOf = (kind: WorkKind, fields: Partial<SimulatedJob> = {}): SimulatedJob => ({
  id: kind.name,
  cores: 4,
  cpuUtil: kind.cpuUtil,
  cpuShare: kind.cpuShare,
  gpus: kind.gpuUtil > 0 ? 1 : 0,
  gpuUtil: kind.gpuUtil,
  gpuShare: kind.gpuShare,
  work: seconds(1000),
  ...fields,
});

/** Runs one job alone to its end. */
function run(model: NodeModel, job: SimulatedJob, caps: Caps) {
  const node = new SimulatedNode(model);
  node.setCaps(caps);
  node.start(job);
  const { gpuSaturated, cpuSaturated } = node.operation;
  const happening = node.advance(seconds(1e9));
  if (happening?.kind !== "finished") throw new Error(`the job did not finish: ${JSON.stringify(happening)}`);
  return {
    time: happening.at,
    joules: node.joules,
    gpuJoules: node.gpuJoules,
    saturated: gpuSaturated || cpuSaturated,
  };
}

describe("against published measurements", () => {
  it("V100 training at 150 of 250 W: 13.7 % less energy and 6.8 % more time, each within 3 points", () => {
    const model = gpuNode("Tesla-V100-PCIE-32GB", 1);
    expect(model.gpu).toMatchObject({ idle: 27, full: 250 });
    const free = run(model, jobOf(WORK_KINDS.training), { gpuWattsPerBoard: watts(250) });
    const capped = run(model, jobOf(WORK_KINDS.training), { gpuWattsPerBoard: watts(150) });
    const less = 100 * (1 - capped.gpuJoules / free.gpuJoules);
    const longer = 100 * (capped.time / free.time - 1);
    expect(Math.abs(less - 13.7)).toBeLessThan(3);
    expect(Math.abs(longer - 6.8)).toBeLessThan(3);
    // The model results that the guide states.
    expect([less.toFixed(1), longer.toFixed(1)]).toEqual(["14.2", "6.7"]);
  });

  /** A publication and a node with the idle and full-load power of its server; the rest comes from the model. */
  const published: readonly (readonly [string, LoadPoints, number])[] = [
    ["amd-epyc-7763", SPECPOWER.epyc7763, 1],
    ["amd-epyc-9654", SPECPOWER.epyc9654, 2],
    ["amd-epyc-9655", SPECPOWER.epyc9655, 2],
    ["amd-epyc-9965", SPECPOWER.epyc9965, 2],
    ["intel-xeon-platinum-8380", SPECPOWER.xeon8380, 2],
  ];
  // The model takes its curve from these points, so it must reproduce them exactly.
  it.each(published)("%s: every SPECpower point as published", (key, points, packages) => {
    const [idle, full] = [points[0]?.[1] ?? 0, points.at(-1)?.[1] ?? 0];
    const model = nodeModel({
      cpu: {
        packages,
        cores: 100,
        idle: watts(idle / packages),
        full: watts(full / packages),
        class: cpuClassOf(key),
      },
    });
    for (const [load, power] of points) {
      const node = new SimulatedNode(model);
      // Two jobs share the load because the load of a node is the sum over its jobs.
      for (const id of ["a", "b"]) node.start(jobOf(WORK_KINDS.compute, { id, cores: 50 * load, cpuUtil: 1 }));
      expect(Math.abs(node.watts - power) / power).toBeLessThan(1e-9);
    }
  });
});

describe("caps and work", () => {
  const h100 = gpuNode("NVIDIA-H100-80GB-HBM3", 8);

  it("a high cap does not change memory-bound decode at all", () => {
    const free = run(h100, jobOf(WORK_KINDS.decode), {});
    for (const cap of [400, 500, 600]) {
      expect(run(h100, jobOf(WORK_KINDS.decode), { gpuWattsPerBoard: watts(cap) })).toEqual(free);
    }
  });

  it("a cap slows memory-bound work less than compute-bound work", () => {
    const slowdown = (kind: WorkKind, cap: Watts) =>
      run(h100, jobOf(kind), { gpuWattsPerBoard: cap }).time / run(h100, jobOf(kind), {}).time;
    const tight = watts(250);
    expect(slowdown(WORK_KINDS.decode, tight)).toBeLessThan(1.05);
    expect(slowdown(WORK_KINDS.dense, tight)).toBeGreaterThan(1.4);
  });

  const models: readonly (readonly [string, NodeModel, WorkKind, "gpuWattsPerBoard" | "cpuWattsPerPackage", number])[] =
    [
      ["V100 training", gpuNode("Tesla-V100-PCIE-32GB", 1), WORK_KINDS.training, "gpuWattsPerBoard", 1],
      ["H100 dense", h100, WORK_KINDS.dense, "gpuWattsPerBoard", 1],
      ["L40S training", gpuNode("NVIDIA-L40S", 4), WORK_KINDS.training, "gpuWattsPerBoard", 1],
      ["EPYC 9654 compute", epycNode(), WORK_KINDS.compute, "cpuWattsPerPackage", 192],
      ["EPYC 9654 analytics", epycNode(), WORK_KINDS.analytics, "cpuWattsPerPackage", 192],
    ];

  it.each(models)(
    "%s: energy per unit of work has its minimum inside the range of caps",
    (_, model, kind, which, cores) => {
      const device = which === "gpuWattsPerBoard" ? model.gpu : model.cpu;
      if (device === undefined) throw new Error("the node has no such device");
      const job = jobOf(kind, { cores });
      const load = which === "gpuWattsPerBoard" ? kind.gpuUtil : kind.cpuUtil;
      const [lowest, highest] = [powerAt(device, load, device.clock.slowest), powerAt(device, load, 1)];
      const energies = Array.from({ length: 41 }, (_, step): number => {
        const cap = watts(lowest + ((highest - lowest) * step) / 40);
        return run(model, job, { [which]: cap }).joules;
      });
      const least = energies.indexOf(Math.min(...energies));
      expect(least).toBeGreaterThan(0);
      expect(least).toBeLessThan(40);
      // U-shaped: down to the minimum, up after it.
      const falls = energies.map((energy, step) => energy <= (energies[step - 1] ?? Infinity) * (1 + 1e-12));
      expect(falls.lastIndexOf(true)).toBe(least);
    },
  );

  it("a tighter cap never speeds up a job and never raises power", () => {
    const cap = fc.double({ min: -10, max: 800, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(...models), cap, cap, ([, model, kind, which, cores], one, other) => {
        const under = (power: number) => {
          const node = new SimulatedNode(model);
          node.setCaps({ [which]: watts(power) });
          node.start(jobOf(kind, { cores }));
          return { watts: node.watts, rate: node.rateOf(kind.name) ?? 0 };
        };
        const [tight, loose] = [under(Math.min(one, other)), under(Math.max(one, other))];
        expect(tight.rate).toBeLessThanOrEqual(loose.rate * (1 + 1e-9));
        expect(loose.rate).toBeLessThanOrEqual(1);
        expect(tight.watts).toBeLessThanOrEqual(loose.watts * (1 + 1e-9));
      }),
    );
  });

  it("saturates at the slowest clock, reports it, and exceeds the cap", () => {
    const { saturated, joules, time } = run(epycNode(), jobOf(WORK_KINDS.compute, { cores: 192 }), {
      cpuWattsPerPackage: watts(100),
    });
    expect(saturated).toBe(true);
    expect(joules / time).toBeGreaterThan(2 * 100);
    expect(
      run(epycNode(), jobOf(WORK_KINDS.compute, { cores: 192 }), { cpuWattsPerPackage: watts(216) }).saturated,
    ).toBe(false);
  });

  it("every CPU class can meet the eco cap of 60 % at full load", () => {
    // Otherwise the simulator could not meet the caps of the default policy.
    for (const { clock, name } of CPU_CLASSES) {
      const idle = 0.25;
      const least = idle + (1 - idle) * clockFactor(clock, clock.slowest);
      expect([name, least < 0.6]).toEqual([name, true]);
    }
  });
});

function epycNode(): NodeModel {
  return nodeModelOf(
    hardwareView(
      {
        metadata: {
          name: "n",
          labels: {
            "joulie.io/hw.cpu-model": "AMD EPYC 9654 96-Core Processor",
            "joulie.io/hw.cpu-sockets": "2",
            "joulie.io/hw.cpu-cores": "192",
          },
        },
        status: { allocatable: { cpu: "384" } },
      },
      undefined,
    ),
  );
}
