import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { cpuClassOf } from "../power/index.ts";
import { celsius, seconds, watts } from "../units/index.ts";
import { SimulatedNode } from "./node.ts";
import { nodeModel, nodeModelOf, settledAt, temperatureAfter } from "./node-model.ts";

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

  it("stays lower under a cap", () => {
    const node = new SimulatedNode(model, { ambient: celsius(45) });
    node.setCaps({ cpuWattsPerPackage: watts(200) });
    node.start(busy);
    expect(node.advance(seconds(1e5))).toBeUndefined();
    expect(node.temperature).toBeCloseTo(45 + 30, 3);
  });
});
