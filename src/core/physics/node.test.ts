import { describe, expect, it } from "vitest";
import { cpuClassOf, gpuClassOf } from "../power/index.ts";
import { celsius, percent, seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel } from "./node-model.ts";
import type { SimulatedJob } from "./work.ts";

const cpu = { packages: 2, cores: 128, idle: watts(50), full: watts(300), class: cpuClassOf("ampere-altra-q80-30") };
const gpu = { boards: 4, idle: watts(79), full: watts(700), class: gpuClassOf("nvidia-h100-sxm") };
const cpuNode = nodeModel({ cpu });
const gpuNode = nodeModel({ cpu, gpu });

const job = (id: string, fields: Partial<SimulatedJob> = {}): SimulatedJob => ({
  id,
  cores: 64,
  cpuUtil: 1,
  cpuShare: 1,
  work: seconds(100),
  ...fields,
});
const training = (id: string, fields: Partial<SimulatedJob> = {}): SimulatedJob =>
  job(id, { cores: 8, cpuUtil: 0.5, cpuShare: 0, gpus: 1, gpuUtil: 1, gpuShare: 1, ...fields });

describe("an empty node", () => {
  it("draws idle power under any caps and has no events", () => {
    const node = new SimulatedNode(gpuNode);
    expect(node.watts).toBe(2 * 50 + 4 * 79);
    const caps = { cpuWattsPerPackage: watts(120), gpuWattsPerBoard: watts(200), throttlePct: percent(50) };
    node.setCaps(caps);
    expect(node.caps).toEqual(caps);
    expect(node.watts).toBe(416);
    expect(node.nextAt).toBeUndefined();
    expect(node.advance(seconds(3600))).toBeUndefined();
    expect(node.joules).toBe(416 * 3600);
    expect(node.cpuJoules).toBe(100 * 3600);
    expect(node.jobCount).toBe(0);
    expect(node.operation).toMatchObject({ cpuLoad: 0, gpuLoad: 0, gpuClock: 1, cpuSaturated: false });
  });

  it("reports that a cap below idle power cannot be met", () => {
    const node = new SimulatedNode(gpuNode);
    node.setCaps({ cpuWattsPerPackage: watts(49), gpuWattsPerBoard: watts(78) });
    expect(node.operation).toMatchObject({ cpuSaturated: true, gpuSaturated: true });
    expect(node.watts).toBe(416);
  });
});

describe("a job", () => {
  it("runs at full speed on an uncapped node and completes on time", () => {
    const node = new SimulatedNode(cpuNode, { at: seconds(10) });
    expect(node.start(job("a"))).toBe(true);
    expect(node.start(job("a"))).toBe(false);
    expect(node.operation.cpuLoad).toBe(0.5);
    expect(node.watts).toBe(2 * (50 + 125));
    expect(node.nextAt).toBe(110);
    expect(node.advance(seconds(60))).toBeUndefined();
    expect(node.leftOf("a")).toBe(50);
    expect([...node.jobs()].map(({ id }) => id)).toEqual(["a"]);
    expect(node.advance(seconds(500))).toMatchObject({ kind: "finished", at: 110, job: { id: "a" } });
    expect(node.now).toBe(110);
    expect(node.advance(seconds(500))).toBeUndefined();
    expect(node.now).toBe(500);
    expect(node.joules).toBe(350 * 100 + 100 * 390);
    expect(node.leftOf("a")).toBeUndefined();
    expect(node.rateOf("a")).toBeUndefined();
  });

  it("keeps its progress when caps change: 1/(c/f + 1 − c)", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job("a", { cpuShare: 0.6, work: seconds(100) }));
    node.advance(seconds(40));
    node.setCaps({ cpuWattsPerPackage: watts(120) });
    const { cpuClock } = node.operation;
    expect(cpuClock).toBeLessThan(1);
    expect(node.operation.cpuWatts).toBeCloseTo(240, 6);
    expect(node.rateOf("a")).toBeCloseTo(1 / (0.6 / cpuClock + 0.4), 12);
    expect(node.leftOf("a")).toBe(60);
    expect(node.nextAt).toBeCloseTo(40 + 60 * (0.6 / cpuClock + 0.4), 9);
    node.advance(seconds(60));
    node.setCaps({});
    expect(node.operation.cpuClock).toBe(1);
    const left = 60 - 20 / (0.6 / cpuClock + 0.4);
    expect(node.nextAt).toBeCloseTo(60 + left, 9);
  });

  it("completes in order of remaining work, then of start", () => {
    const node = new SimulatedNode(cpuNode);
    for (const id of ["b", "a"]) node.start(job(id, { cores: 1 }));
    node.start(job("short", { cores: 1, work: seconds(5) }));
    node.start(job("nothing", { cores: 1, work: seconds(0) }));
    const events: unknown[] = [];
    for (let step = 0; step < 5; step++) {
      const happening = node.advance(seconds(100));
      events.push(happening?.kind === "finished" ? [happening.job.id, happening.at] : happening);
    }
    expect(events).toEqual([["nothing", 0], ["short", 5], ["b", 100], ["a", 100], undefined]);
  });

  it("can be stopped and returns its remaining work", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job("a"));
    node.advance(seconds(30));
    expect(node.stop("a")).toBe(70);
    expect(node.stop("a")).toBeUndefined();
    expect(node.watts).toBe(100);
    expect(node.nextAt).toBeUndefined();
  });

  it("without an end runs until it is stopped", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job("service", { work: seconds(Infinity) }));
    expect(node.nextAt).toBeUndefined();
    expect(node.advance(seconds(1e6))).toBeUndefined();
    expect(node.advance(seconds(Infinity))).toBeUndefined();
    expect(node.now).toBe(1e6);
    expect(node.leftOf("service")).toBe(Infinity);
  });

  it("gets a smaller share if the node is overcommitted", () => {
    const node = new SimulatedNode(gpuNode);
    node.start(job("a", { cores: 128 }));
    expect(node.rateOf("a")).toBe(1);
    node.start(job("b", { cores: 128 }));
    expect(node.rateOf("a")).toBe(0.5);
    expect(node.operation.cpuWatts).toBe(600);
    node.start(training("c", { gpus: 8, cores: 0 }));
    expect(node.rateOf("c")).toBe(0.5);
    expect(node.operation.gpuWatts).toBe(2800);
    expect(node.operation.gpuLoad).toBe(1);
  });

  it("that needs a GPU makes no progress on a node without GPUs", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(training("a"));
    expect(node.rateOf("a")).toBe(0);
    expect(node.nextAt).toBeUndefined();
    // A job may hold a GPU without depending on its clock.
    node.start(training("b", { gpuShare: 0 }));
    expect(node.rateOf("b")).toBe(1);
    expect(node.operation).toMatchObject({ gpuWatts: 0, gpuLoad: 0, gpuClock: 1, gpuSaturated: false });
  });
});

describe("GPU boards", () => {
  it("are capped independently for each job", () => {
    const node = new SimulatedNode(gpuNode);
    node.start(training("hard"));
    node.start(training("light", { gpuUtil: 0.4 }));
    node.setCaps({ gpuWattsPerBoard: watts(400) });
    // 79 + 0.4·621 is below the cap: the cap does not limit that board.
    expect(node.rateOf("light")).toBe(1);
    expect(node.rateOf("hard")).toBeLessThan(1);
    expect(node.operation.gpuWatts).toBeCloseTo(400 + (79 + 0.4 * 621) + 2 * 79, 6);
    expect(node.operation.gpuLoad).toBeCloseTo(1.4 / 4, 12);
    expect(node.operation.gpuClock).toBeCloseTo((1 + (node.rateOf("hard") ?? 0)) / 2, 12);
    node.setCaps({ gpuWattsPerBoard: watts(100) });
    expect(node.operation.gpuSaturated).toBe(true);
    expect(node.operation.gpuWatts).toBeGreaterThan(4 * 100);
  });

  it("slow a job together with the CPU: the slowdowns of both clocks add up", () => {
    const node = new SimulatedNode(gpuNode);
    node.start(training("a", { cores: 128, cpuUtil: 1, cpuShare: 0.3, gpuShare: 0.5 }));
    node.setCaps({ cpuWattsPerPackage: watts(200), gpuWattsPerBoard: watts(400) });
    const { cpuClock, gpuClock } = node.operation;
    expect(node.rateOf("a")).toBeCloseTo(1 / (0.3 / cpuClock + 0.5 / gpuClock + 0.2), 12);
  });
});

describe("a throttle", () => {
  it("runs that share of the cores at the slowest clock", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job("a", { cores: 128 }));
    node.setCaps({ throttlePct: percent(25) });
    expect(node.operation.cpuClock).toBeCloseTo(0.75 + 0.25 * 0.33, 12);
    expect(node.operation.cpuWatts).toBeCloseTo(2 * (50 + 250 * (0.75 + 0.25 * (0.25 + 0.75 * 0.33 * 0.75 ** 2))), 9);
    // ceil(128·pct/100) cores, as the agent does it.
    node.setCaps({ throttlePct: percent(0.1) });
    expect(node.operation.cpuClock).toBeCloseTo(1 - (1 / 128) * 0.67, 12);
    node.setCaps({ throttlePct: percent(100) });
    expect(node.operation.cpuClock).toBeCloseTo(0.33, 12);
    node.setCaps({ throttlePct: percent(Number.NaN) });
    expect(node.operation.cpuClock).toBe(1);
  });

  it("leaves the remaining power under a cap to the other cores", () => {
    const node = new SimulatedNode(cpuNode);
    node.start(job("a", { cores: 128 }));
    node.setCaps({ throttlePct: percent(50), cpuWattsPerPackage: watts(180) });
    expect(node.operation.cpuWatts).toBeCloseTo(360, 6);
    expect(node.operation.cpuSaturated).toBe(false);
  });
});

describe("adversarial input", () => {
  it.each([Number.NaN, -1, 1e308, Infinity, -Infinity, 0])("%d gives defined results everywhere", (bad) => {
    const model = nodeModel({
      cpu: { ...cpu, packages: bad, cores: bad, idle: watts(bad), full: watts(bad) },
      gpu: { ...gpu, boards: bad, idle: watts(bad), full: watts(bad) },
    });
    for (const shape of [model, gpuNode]) {
      const node = new SimulatedNode(shape, { at: seconds(bad), ambient: celsius(bad) });
      node.setAmbient(celsius(bad));
      node.setCaps({ cpuWattsPerPackage: watts(bad), gpuWattsPerBoard: watts(bad), throttlePct: percent(bad) });
      node.start(
        job("a", {
          cores: bad,
          cpuUtil: bad,
          cpuShare: bad,
          gpus: bad,
          gpuUtil: bad,
          gpuShare: bad,
          work: seconds(bad),
        }),
      );
      node.start(job("b", { cores: bad }));
      for (const to of [bad, 10, 1000]) for (let step = 0; step < 10; step++) node.advance(seconds(to));
      for (const value of [node.watts, node.joules, node.temperature, node.now, ...Object.values(node.operation)]) {
        expect(Number.isFinite(Number(value))).toBe(true);
      }
      expect(node.joules).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("a server at the wall", () => {
  it("draws the rest of the server in addition, and integrates it exactly", () => {
    const node = new SimulatedNode(gpuNode, { at: seconds(50) });
    const { rest, idle } = gpuNode;
    expect(node.wallWatts).toBe(416 + rest.idle);
    node.advance(seconds(60));
    node.start(training("a", { gpus: 4, work: seconds(100) }));
    const busy = node.watts;
    expect(node.wallWatts).toBeCloseTo(busy + rest.idle + rest.slope * (busy - idle), 9);
    const end = node.advance(seconds(1000));
    expect(end?.at).toBe(160);
    node.advance(seconds(200));
    const expected = (10 + 40) * (416 + rest.idle) + 100 * (busy + rest.idle + rest.slope * (busy - idle));
    expect(node.wallJoules).toBeCloseTo(expected, 6);
    expect(node.joules).toBeCloseTo(50 * 416 + 100 * busy, 6);
  });
});
