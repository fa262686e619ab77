import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import { type CapLimit, profileCaps } from "./cap-limits.ts";
import type { CapHardware } from "./caps.ts";

const hardware: CapHardware = {
  cpu: { match: "exact", maxWattsPerSocket: watts(400), from: {} },
  gpu: { count: 8, model: "H100", key: "h100", match: "exact", maxWatts: watts(700), minWatts: watts(200), from: {} },
};
const cpu = (share: number) => ({ cpu: { packagePowerCapPctOfMax: percent(share) } });
const cpuWatts = (power: number) => ({ cpu: { packagePowerCapWatts: watts(power) } });
const gpu = (share: number) => ({ gpu: { powerCap: { capPctOfMax: percent(share) } } });
const eco = (...limits: CapLimit[]) => profileCaps({ performance: [], eco: limits }, undefined, hardware).eco;

describe("the caps of a node", () => {
  it("are the lowest limit of each device, published with its name", () => {
    const limits: CapLimit[] = [
      { name: "profile", caps: { ...cpu(60), ...gpu(90) } },
      { name: "slowdown", caps: { ...cpu(70), ...gpu(80) } },
    ];
    const lowest = { ...cpu(60), ...gpu(80), caps: { profile: "eco", cpu: "profile", gpu: "slowdown" } };
    expect(eco(...limits)).toEqual(lowest);
    expect(eco(...limits.toReversed())).toEqual(lowest);
  });

  it("compare watts with percent of the device", () => {
    const share: CapLimit = { name: "profile", caps: cpu(60) };
    expect(eco(share, { name: "slowdown", caps: cpuWatts(239) })).toMatchObject(cpuWatts(239));
    expect(eco(share, { name: "slowdown", caps: cpuWatts(241) })).toMatchObject(cpu(60));
  });

  it("have the name of the first limit if two are equal", () => {
    const equal: CapLimit = { name: "slowdown", caps: cpuWatts(400) };
    expect(eco({ name: "profile", caps: cpu(100) }, equal)).toMatchObject({ caps: { cpu: "profile" } });
  });

  it("have no name for a device that nothing limits", () => {
    expect(eco({ name: "profile", caps: gpu(60) }, { name: "slowdown", caps: {} })).toEqual({
      ...gpu(60),
      caps: { profile: "eco", gpu: "profile" },
    });
  });
});
