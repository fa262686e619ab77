import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { cpuClassOf } from "../power/index.ts";
import { celsius, seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel, nodeModelOf, settledAt, temperatureAfter, timeToReach } from "./node-model.ts";

const viewOf = (labels: Record<string, string>, allocatable: Record<string, string>) =>
  hardwareView({ metadata: { name: "n", labels }, status: { allocatable } }, undefined);

describe("the model of a node", () => {
  it("uses the watts of the inventory and the device classes of its models", () => {
    const view = viewOf(
      {
        "joulie.io/hw.cpu-model": "AMD EPYC 9654 96-Core Processor",
        "joulie.io/hw.cpu-sockets": "2",
        "joulie.io/hw.cpu-cores": "192",
        "joulie.io/hw.gpu-model": "AMD Instinct MI300X",
        "joulie.io/hw.gpu-count": "8",
      },
      { cpu: "384" },
    );
    const model = nodeModelOf(view);
    expect(model).toMatchObject({ packages: 2, cores: 192, boards: 8 });
    expect(model.cpu).toMatchObject({ full: 360, idle: expect.closeTo(360 * 0.157, 9) });
    expect(model.gpu).toMatchObject({ full: 750, idle: 140 });
    expect(model.full).toBe(2 * 360 + 8 * 750);
    expect(model.idle).toBeCloseTo(view.cpu.idleWatts + 8 * 140, 9);
  });

  it("is the generic model for an unknown node", () => {
    const model = nodeModelOf(viewOf({}, { cpu: "100" }));
    expect(model).toMatchObject({ packages: 1, cores: 50, boards: 0, full: 175 });
    expect(model.gpu).toBeUndefined();
    expect(nodeModelOf(viewOf({}, {})).cores).toBe(1);
  });
});

const model = nodeModel({
  cpu: { packages: 2, cores: 100, idle: watts(50), full: watts(300), class: cpuClassOf("ampere-altra-q80-30") },
});
const { thermal } = model;
const busy = { id: "busy", cores: 100, cpuUtil: 1, cpuShare: 1, work: seconds(1e6) };

describe("heat", () => {
  it("scales with the hardware: full power is 45 degrees above air temperature for every node", () => {
    expect(settledAt(thermal, model.full, celsius(22))).toBeCloseTo(67, 9);
    expect(settledAt(thermal, model.idle, celsius(-10))).toBeCloseTo(-10 + 45 / 6, 9);
  });

  it("follows power with its time constant", () => {
    const settled = celsius(67);
    expect(temperatureAfter(thermal, celsius(29.5), settled, seconds(0))).toBe(29.5);
    expect(temperatureAfter(thermal, celsius(29.5), settled, seconds(120))).toBeCloseTo(67 - 37.5 / Math.E, 9);
    expect(temperatureAfter(thermal, celsius(29.5), settled, seconds(1e9))).toBe(67);
  });

  it("computes when the temperature crosses a threshold: at once if beyond it, never if out of reach", () => {
    const rising = timeToReach(thermal, celsius(30), celsius(90), celsius(85), true);
    expect(temperatureAfter(thermal, celsius(30), celsius(90), rising)).toBeCloseTo(85, 9);
    const falling = timeToReach(thermal, celsius(85), celsius(60), celsius(80), false);
    expect(temperatureAfter(thermal, celsius(85), celsius(60), falling)).toBeCloseTo(80, 9);
    expect(timeToReach(thermal, celsius(86), celsius(90), celsius(85), true)).toBe(0);
    expect(timeToReach(thermal, celsius(79), celsius(90), celsius(80), false)).toBe(0);
    expect(timeToReach(thermal, celsius(30), celsius(85), celsius(85), true)).toBe(Number.POSITIVE_INFINITY);
    expect(timeToReach(thermal, celsius(85), celsius(80), celsius(80), false)).toBe(Number.POSITIVE_INFINITY);
  });

  it("throttles a hot node until it has cooled, repeatedly", () => {
    const node = new SimulatedNode(model, { ambient: celsius(45) });
    node.start(busy);
    expect(node.throttled).toBe(false);
    const hot = node.advance(seconds(1e5));
    expect(hot).toMatchObject({ kind: "throttled", at: expect.closeTo(120 * Math.log((90 - 52.5) / 5), 6) });
    expect(node.temperature).toBe(85);
    expect(node.throttled).toBe(true);
    expect(node.operation.cpuClock).toBe(0.6);
    expect(node.rateOf("busy")).toBeCloseTo(0.6, 12);
    expect(node.advance(seconds(1e5))).toMatchObject({ kind: "recovered" });
    expect(node.temperature).toBe(80);
    expect(node.operation.cpuClock).toBe(1);
    expect(node.advance(seconds(1e5))).toMatchObject({ kind: "throttled" });
  });

  it("keeps a node throttled in hot air and releases it when the air cools", () => {
    const node = new SimulatedNode(model);
    node.start(busy);
    node.setAmbient(celsius(90));
    expect(node.advance(seconds(1e5))).toMatchObject({ kind: "throttled" });
    expect(node.nextAt).toBeCloseTo(1e6 / 0.6, -4);
    expect(node.advance(seconds(1e5))).toBeUndefined();
    expect(node.temperature).toBeGreaterThan(100);
    node.setAmbient(celsius(20));
    expect(node.ambient).toBe(20);
    expect(node.advance(seconds(2e5))).toMatchObject({ kind: "recovered" });
  });

  it("does not throttle if a cap keeps the node cool", () => {
    const node = new SimulatedNode(model, { ambient: celsius(45) });
    node.setCaps({ cpuWattsPerPackage: watts(200) });
    node.start(busy);
    expect(node.advance(seconds(1e5))).toBeUndefined();
    expect(node.temperature).toBeCloseTo(45 + 30, 3);
  });
});
