import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuClassOf, gpuClassOf } from "../power/index.ts";
import { seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel } from "./node-model.ts";
import type { SimulatedJob } from "./work.ts";

const cpu = { packages: 2, cores: 96, idle: watts(55), full: watts(350), class: cpuClassOf("amd-epyc-9654") };
const gpu = { boards: 4, idle: watts(79), full: watts(700), class: gpuClassOf("nvidia-h100-sxm") };
const cpuNode = nodeModel({ cpu });
const gpuNode = nodeModel({ cpu, gpu });
const job: SimulatedJob = { id: "a", cores: 8, cpuUtil: 1, cpuShare: 0.9, work: seconds(1000) };

describe("a node that is switched off and on", () => {
  it("SLP-70 shuts down at idle power, draws the off watts, and boots for the time of its kind", () => {
    for (const [model, off, boot] of [
      [cpuNode, 10, 240],
      [gpuNode, 50, 420],
    ] as const) {
      const node = new SimulatedNode(model);
      const idle = node.wallWatts;
      expect(node.shutDown()).toEqual([]);
      expect([node.power, node.wallWatts]).toEqual(["stopping", idle]);
      expect(node.advance(seconds(1000))).toEqual({ kind: "switched", at: 60, power: "off" });
      expect([node.power, node.watts, node.wallWatts]).toEqual(["off", 0, off]);
      expect(node.nextAt === undefined || node.nextAt > 60).toBe(true);
      while (node.advance(seconds(1000)) !== undefined);
      node.switchOn();
      expect(node.power).toBe("waking");
      expect(node.wallWatts).toBeGreaterThan(idle);
      expect(node.advance(seconds(9000))).toEqual({ kind: "switched", at: 1000 + boot, power: "on" });
      expect([node.power, node.wallWatts, node.offSeconds]).toEqual(["on", idle, 940]);
    }
  });

  it("SLP-70 a failed boot hangs at idle power until the power is cut", () => {
    const node = new SimulatedNode(cpuNode);
    const idle = node.wallWatts;
    node.cutPower();
    node.switchOn(true);
    expect(node.advance(seconds(500))).toEqual({ kind: "switched", at: 240, power: "failed" });
    node.switchOn();
    expect([node.power, node.wallWatts]).toEqual(["failed", idle]);
    node.cutPower();
    node.switchOn();
    expect(node.advance(seconds(500))).toMatchObject({ power: "on" });
  });

  it("SLP-71 runs no job unless it is on, and a shutdown stops what runs", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job);
    node.advance(seconds(10));
    expect(node.shutDown()).toEqual([job]);
    expect(node.jobCount).toBe(0);
    for (const change of [() => {}, () => node.cutPower(), () => node.switchOn(true)]) {
      change();
      expect(() => node.start(job)).toThrow(node.power);
    }
    node.advance(seconds(1000));
    expect(() => node.start(job)).toThrow("failed");
  });

  it("SLP-70 the energy of any sequence is the sum of power times time, however often the node is read", () => {
    const deeds = fc.array(
      fc.record({
        after: fc.integer({ min: 1, max: 600 }),
        what: fc.constantFrom("shutDown", "cutPower", "switchOn", "fail", "start"),
      }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(deeds, (steps) => {
        const node = new SimulatedNode(gpuNode);
        let wall = 0;
        let jobs = 0;
        const until = (to: number): void => {
          while (node.now < to) {
            const [before, power] = [node.now, node.wallWatts];
            node.advance(seconds(to));
            wall += power * (node.now - before);
          }
        };
        for (const { after, what } of steps) {
          until(node.now + after);
          if (what === "start" && node.power === "on") node.start({ ...job, id: String(jobs++) });
          else if (what === "shutDown") node.shutDown();
          else if (what === "cutPower") node.cutPower();
          else if (what === "switchOn" || what === "fail") node.switchOn(what === "fail");
        }
        until(node.now + 100);
        expect(node.wallJoules).toBeCloseTo(wall, 2);
      }),
    );
  });
});
