import { describe, expect, it } from "vitest";
import { cpuClassOf, gpuClassOf } from "../power/index.ts";
import { seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel } from "./node-model.ts";
import type { SimulatedJob } from "./work.ts";

const cpu = { packages: 2, cores: 128, idle: watts(50), full: watts(300), class: cpuClassOf("ampere-altra-q80-30") };
const gpu = { boards: 4, idle: watts(79), full: watts(700), class: gpuClassOf("nvidia-h100-sxm") };
const cpuNode = nodeModel({ cpu });
const job: SimulatedJob = { id: "a", cores: 64, cpuUtil: 1, cpuShare: 1, work: seconds(100) };

describe("a machine that is switched off and on", () => {
  it("SLP-60 draws idle, standby, boot and idle power at the wall in turn", () => {
    const node = new SimulatedNode(cpuNode);
    const idle = node.wallWatts;
    node.advance(seconds(100));
    node.setPower("stopping");
    expect(node.wallWatts).toBe(idle);
    node.advance(seconds(160));
    node.setPower("off");
    expect([node.wallWatts, node.watts]).toEqual([10, 0]);
    node.advance(seconds(1160));
    node.setPower("booting");
    expect(node.wallWatts).toBeGreaterThan(idle);
    expect(node.wallWatts).toBe(cpuNode.states.boot);
    node.advance(seconds(1400));
    node.setPower("on");
    expect(node.wallWatts).toBe(idle);
    node.advance(seconds(1500));
    const expected = 260 * idle + 1000 * 10 + 240 * cpuNode.states.boot;
    expect(node.wallJoules).toBeCloseTo(expected, 6);
    expect(node.joules).toBeCloseTo(100 * (160 + 240 + 100), 6);
  });

  it("SLP-60 counts the same energy however often it is read", () => {
    const [once, often] = [new SimulatedNode(cpuNode), new SimulatedNode(cpuNode)];
    for (const power of ["off", "booting", "on"] as const) {
      once.setPower(power);
      often.setPower(power);
      const from = once.now;
      for (let second = 1; second <= 50; second++) {
        often.advance(seconds(from + second));
        expect(often.wallJoules).toBeGreaterThan(0);
      }
      once.advance(seconds(from + 50));
    }
    expect(often.wallJoules).toBe(once.wallJoules);
  });

  it("SLP-60 loses its jobs, and starts none until it has booted", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job);
    node.advance(seconds(10));
    expect(node.setPower("stopping")).toEqual([]);
    expect(node.jobCount).toBe(1);
    expect(node.setPower("off")).toEqual([job]);
    expect(node.nextAt).toBeUndefined();
    expect(node.start(job)).toBe(false);
    node.setPower("booting");
    expect(node.start(job)).toBe(false);
    node.setPower("on");
    expect(node.start(job)).toBe(true);
    expect(node.leftOf("a")).toBe(100);
  });

  it("takes longer and draws more with GPUs", () => {
    const gpuNode = nodeModel({ cpu, gpu });
    expect(gpuNode.states).toMatchObject({ off: 50, bootTime: 420, stopTime: 60 });
    expect(cpuNode.states).toMatchObject({ off: 10, bootTime: 240, stopTime: 60 });
  });
});
