import { describe, expect, it } from "vitest";
import { hardwareView } from "../inventory/index.ts";
import { nodePowerModelOf, restOfServerOf, wallPower } from "../power/index.ts";
import { instant, watts } from "../units/index.ts";
import { type MeterReading, powerAtWall, readingOfMeter } from "./wall-power.ts";

const modelOf = (labels: Readonly<Record<string, string>>) =>
  nodePowerModelOf(hardwareView({ metadata: { name: "n", uid: "u", labels } }, undefined));
const cpuNode = modelOf({ "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.cpu-sockets": "2" });
const gpuNode = modelOf({
  "joulie.io/hw.cpu-model": "EPYC 9654",
  "joulie.io/hw.gpu-model": "H100 SXM",
  "joulie.io/hw.gpu-count": "8",
});
const at = instant(0);
const kepler = (more: Partial<MeterReading>): MeterReading => ({ source: "kepler", at, ...more });
const none = () => undefined;

describe("power at the wall", () => {
  it("X-153 prefers the meter of the whole server to the model, counts estimates as modelled, and is unknown without a reading", () => {
    const measured = { source: "agent", measuredNodePowerW: watts(300) } as const;
    const modelled = wallPower(watts(300), cpuNode.idle, restOfServerOf(cpuNode));
    expect(powerAtWall(cpuNode, measured)).toEqual({ power: modelled, modelled: modelled - 300 });
    expect(powerAtWall(cpuNode, { ...measured, serverPowerW: watts(420) })).toEqual({ power: 420, modelled: 0 });
    for (const source of ["utilization", "static"] as const)
      expect(powerAtWall(cpuNode, { ...measured, source })).toEqual({ power: modelled, modelled });
    const partial = powerAtWall(cpuNode, { ...measured, estimatedGpuPowerW: watts(100) });
    expect(partial).toEqual({ power: modelled, modelled: modelled - 200 });
    expect(powerAtWall(cpuNode, { ...measured, serverPowerW: watts(0) })?.power).toBe(modelled);
    expect(powerAtWall(cpuNode, {})).toBeUndefined();
    // Devices that draw less than the model expects at idle need the rest of an idle server, never less than nothing.
    for (const devices of [0, 5, cpuNode.idle]) {
      const wall = powerAtWall(cpuNode, { ...measured, measuredNodePowerW: watts(devices) });
      expect(wall?.power).toBeCloseTo(devices + restOfServerOf(cpuNode).idle, 6);
      expect(wall?.modelled).toBeGreaterThanOrEqual(0);
    }
    expect(powerAtWall(cpuNode, undefined)).toBeUndefined();
  });
});

describe("the reading of a meter", () => {
  it("X-156 of packages and boards, or of a node without boards, is the node's", () => {
    expect(readingOfMeter(kepler({ power: watts(500) }), gpuNode, none)).toEqual({ source: "kepler", at, power: 500 });
    const onlyCpus = kepler({ power: watts(200), onlyCpus: true });
    expect(readingOfMeter(onlyCpus, cpuNode, none)).toEqual({ source: "kepler", at, power: 200 });
  });

  it("X-156 of the packages alone is partial on a node with boards: their power is estimated, and it says so", () => {
    const onlyCpus = kepler({ power: watts(210), onlyCpus: true });
    const reading = { source: "kepler", at, power: 6310, estimatedGpus: 6100 };
    expect(readingOfMeter(onlyCpus, gpuNode, () => watts(6100))).toEqual(reading);
    expect(readingOfMeter(onlyCpus, gpuNode, none)).toBeUndefined();
  });

  it("X-154 of the whole server gives packages and boards by the model, not by an estimate of the boards", () => {
    for (const model of [cpuNode, gpuNode]) {
      const devices = watts(model.idle + 0.4 * (model.full - model.idle));
      const server = wallPower(devices, model.idle, restOfServerOf(model));
      for (const more of [{}, { power: watts(1), onlyCpus: model === gpuNode }] as const) {
        if (model === cpuNode && "power" in more) continue;
        const reading = readingOfMeter(kepler({ ...more, server }), model, () => watts(1));
        expect(reading).toEqual({ source: "kepler", at, server, power: expect.closeTo(devices, 6) });
      }
    }
    expect(readingOfMeter(kepler({ server: watts(1) }), cpuNode, none)?.power).toBeGreaterThanOrEqual(0);
    const low = watts(cpuNode.idle / 2);
    const ofLow = wallPower(low, cpuNode.idle, restOfServerOf(cpuNode));
    expect(readingOfMeter(kepler({ server: ofLow }), cpuNode, none)?.power).toBeCloseTo(low, 6);
    // A BMC without a sensor answers 0; a server that is on never draws nothing.
    expect(readingOfMeter(kepler({ server: watts(0) }), cpuNode, none)).toBeUndefined();
    const beside = readingOfMeter(kepler({ power: watts(300), server: watts(0) }), cpuNode, none);
    expect(beside).toEqual({ source: "kepler", at, power: 300 });
    expect(readingOfMeter(kepler({}), cpuNode, none)).toBeUndefined();
  });
});
