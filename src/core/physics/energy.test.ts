import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuClassOf, fittingClock, gpuClassOf, mixedPowerAt, powerAt } from "../power/index.ts";
import { type Celsius, celsius, percent, seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel } from "./node-model.ts";
import type { Caps } from "./operation.ts";
import type { SimulatedJob } from "./work.ts";

const cpu = { packages: 2, cores: 96, idle: watts(55), full: watts(350), class: cpuClassOf("amd-epyc-9654") };
const gpu = { boards: 4, idle: watts(79), full: watts(700), class: gpuClassOf("nvidia-h100-sxm") };
const model = nodeModel({ cpu, gpu });

type Deed =
  | { readonly at: number; readonly job: SimulatedJob }
  | { readonly at: number; readonly caps: Caps }
  | { readonly at: number; readonly ambient: Celsius };

const deed: fc.Arbitrary<Deed> = fc.record({ at: fc.integer({ min: 0, max: 500 }) }).chain(({ at }) =>
  fc.oneof(
    fc
      .record({
        cores: fc.integer({ min: 1, max: 48 }),
        cpuUtil: fc.double({ min: 0.1, max: 1, noNaN: true }),
        cpuShare: fc.double({ min: 0, max: 1, noNaN: true }),
        gpus: fc.constantFrom(0, 0.5, 1, 2),
        gpuUtil: fc.double({ min: 0.1, max: 1, noNaN: true }),
        gpuShare: fc.double({ min: 0, max: 1, noNaN: true }),
        work: fc.double({ min: 0, max: 400, noNaN: true }).map(seconds),
        id: fc.uuid(),
      })
      .map((job) => ({ at, job })),
    fc
      .record({
        cpuWattsPerPackage: fc.constantFrom(undefined, watts(150), watts(210), watts(0)),
        throttlePct: fc.constantFrom(undefined, percent(30), percent(100)),
        gpuWattsPerBoard: fc.constantFrom(undefined, watts(200), watts(420)),
      })
      .map((caps) => ({ at, caps })),
    fc.constantFrom(22, 35, 48, 60).map((ambient) => ({ at, ambient: celsius(ambient) })),
  ),
);
const story = fc.array(deed, { minLength: 1, maxLength: 25 }).map((deeds) => deeds.toSorted((a, b) => a.at - b.at));

function act(node: SimulatedNode, what: Deed): void {
  if ("job" in what) node.start(what.job);
  else if ("caps" in what) node.setCaps(what.caps);
  else node.setAmbient(what.ambient);
}

/** More events than any of these scenarios has. */
const MOST = 10_000;

/** Runs a scenario to its end; `look` is called at every step and must not affect the result. */
function play(deeds: readonly Deed[], end: number, look: (node: SimulatedNode) => void = () => {}, every = end) {
  const node = new SimulatedNode(model);
  const events: string[] = [];
  const goTo = (to: number) => {
    for (let stop = Math.min(to, node.now + every); ; stop = Math.min(to, stop + every)) {
      for (let count = 0; count < MOST; count++) {
        const happening = node.advance(seconds(stop));
        look(node);
        if (happening === undefined) break;
        events.push(`${happening.at} ${happening.kind} ${"job" in happening ? happening.job.id : ""}`);
      }
      if (stop >= to) return;
    }
  };
  for (const what of deeds) {
    goTo(what.at);
    act(node, what);
  }
  goTo(end);
  return { node, events };
}

describe("energy", () => {
  it("is the integral of power: power times time, summed from event to event", () => {
    fc.assert(
      fc.property(story, (deeds) => {
        const node = new SimulatedNode(model);
        let sum = 0;
        let at = 0;
        const goTo = (to: number) => {
          for (let count = 0; count < MOST; count++) {
            const until = Math.min(to, node.nextAt ?? to);
            sum += node.watts * (until - at);
            at = until;
            if (node.advance(seconds(to)) === undefined) return;
          }
        };
        for (const what of deeds) {
          goTo(what.at);
          act(node, what);
        }
        goTo(2000);
        expect(Math.abs(node.joules - sum) / sum).toBeLessThan(1e-9);
        expect(node.joules).toBeGreaterThanOrEqual(model.idle * 2000 * (1 - 1e-9));
        expect(node.joules).toBeLessThanOrEqual(model.full * 2000 * (1 + 1e-9));
      }),
    );
  });

  it("and all other results are independent of how often the node is read", () => {
    fc.assert(
      fc.property(story, fc.integer({ min: 1, max: 97 }), (deeds, every) => {
        const once = play(deeds, 2000);
        const often = play(
          deeds,
          2000,
          (node) => [node.joules, node.temperature, node.operation.cpuWatts, node.nextAt],
          every,
        );
        expect(often.events).toEqual(once.events);
        expect(often.node.joules).toBe(once.node.joules);
        expect(often.node.temperature).toBe(once.node.temperature);
      }),
      { numRuns: 50 },
    );
  });

  it("integrates the progress rate of a job to exactly its work", () => {
    fc.assert(
      fc.property(story, (deeds) => {
        const jobs = new Map(deeds.flatMap((what) => ("job" in what ? [[what.job.id, what.job] as const] : [])));
        const done = new Map<string, number>();
        const node = new SimulatedNode(model);
        let at = 0;
        const goTo = (to: number) => {
          for (let count = 0; count < MOST; count++) {
            const until = Math.min(to, node.nextAt ?? to);
            for (const { id } of node.jobs()) done.set(id, (done.get(id) ?? 0) + (node.rateOf(id) ?? 0) * (until - at));
            at = until;
            const happening = node.advance(seconds(to));
            if (happening === undefined) return;
            const finished = "job" in happening ? happening.job : undefined;
            // A finished job has done exactly its work.
            expect(Math.abs((done.get(finished?.id ?? "") ?? 0) - (finished?.work ?? 0))).toBeLessThan(1e-6);
          }
        };
        for (const what of deeds) {
          goTo(what.at);
          act(node, what);
        }
        goTo(700);
        for (const [id, job] of jobs) {
          const left = node.leftOf(id);
          expect(Math.abs((left ?? 0) + (done.get(id) ?? 0) - job.work)).toBeLessThan(1e-6);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("agrees with a simulation in steps of 0.25 ms to one part in a million", () => {
    const jobs: readonly SimulatedJob[] = [
      { id: "a", cores: 40, cpuUtil: 0.9, cpuShare: 0.8, work: seconds(150.3) },
      { id: "b", cores: 20, cpuUtil: 0.7, cpuShare: 0.3, gpus: 4, gpuUtil: 0.95, gpuShare: 0.5, work: seconds(310.7) },
      { id: "c", cores: 30, cpuUtil: 1, cpuShare: 0.5, work: seconds(77.7) },
    ];
    const end = 400;
    const capsAt = 120;
    const caps: Caps = { cpuWattsPerPackage: watts(180), gpuWattsPerBoard: watts(640), throttlePct: percent(25) };
    const ambient = celsius(52);

    const node = new SimulatedNode(model, { ambient });
    for (const job of jobs) node.start(job);
    const events: string[] = [];
    const goTo = (to: number) => {
      for (let count = 0; count < MOST; count++) {
        const happening = node.advance(seconds(to));
        if (happening === undefined) return;
        events.push(happening.kind);
      }
    };
    goTo(capsAt);
    node.setCaps(caps);
    goTo(end);
    expect(events).toEqual(["finished", "finished", "finished"]);

    const brute = bruteForce(jobs, ambient, caps, capsAt, end, 0.00025);
    expect(Math.abs(node.joules - brute.joules) / brute.joules).toBeLessThan(1e-6);
    expect(Math.abs(node.temperature - brute.temperature)).toBeLessThan(1e-3);
  });
});

/** The same node simulated in small steps, with the differential equation for the temperature. */
function bruteForce(
  jobs: readonly SimulatedJob[],
  ambient: Celsius,
  caps: Caps,
  capsAt: number,
  end: number,
  step: number,
) {
  const left = jobs.map(({ work }) => Number(work));
  const { thermal } = model;
  let temperature = ambient + thermal.degreesPerWatt * model.idle;
  let energy = 0;
  let power = 0;
  let rates: number[] = [];
  let stale = true;
  const steps = Math.round(end / step);
  for (let index = 0; index < steps; index++) {
    const isCapped = index >= Math.round(capsAt / step);
    stale ||= index === Math.round(capsAt / step);
    if (stale) {
      const inForce = isCapped ? caps : {};
      const running = jobs.filter((_, at) => (left[at] ?? 0) > 0);
      const load = running.reduce((sum, { cores, cpuUtil }) => sum + (cores * cpuUtil) / 96, 0);
      const held = (inForce.throttlePct ?? 0) / 100;
      const clock = fittingClock(model.cpu, load, inForce.cpuWattsPerPackage, held);
      const cpuClock = (1 - held) * clock + held * model.cpu.clock.slowest;
      power = 2 * mixedPowerAt(model.cpu, load, clock, held) + 4 * gpu.idle;
      rates = jobs.map(({ cpuShare, gpus = 0, gpuUtil = 0, gpuShare = 0 }, at) => {
        if ((left[at] ?? 0) <= 0) return 0;
        if (gpus === 0 || model.gpu === undefined) return 1 / (cpuShare / cpuClock + 1 - cpuShare);
        const gpuClock = fittingClock(model.gpu, gpuUtil, inForce.gpuWattsPerBoard);
        power += gpus * (powerAt(model.gpu, gpuUtil, gpuClock) - gpu.idle);
        return 1 / (cpuShare / cpuClock + gpuShare / gpuClock + 1 - cpuShare - gpuShare);
      });
      stale = false;
    }
    energy += power * step;
    const settled = ambient + thermal.degreesPerWatt * power;
    const middle = temperature + ((settled - temperature) / thermal.timeConstant) * (step / 2);
    temperature += ((settled - middle) / thermal.timeConstant) * step;
    for (let at = 0; at < left.length; at++) {
      const before = left[at] ?? 0;
      if (before <= 0) continue;
      left[at] = before - (rates[at] ?? 0) * step;
      if ((left[at] ?? 0) <= 0) stale = true;
    }
  }
  return { joules: energy, temperature };
}
