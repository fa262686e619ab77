import { describe, expect, it } from "vitest";
import type { NodeTwinSpec } from "../../core/api/index.ts";
import { hardwareView } from "../../core/inventory/index.ts";
import type { Caps } from "../../core/physics/index.ts";
import { percent, type Watts, watts } from "../../core/units/index.ts";
import { CapAudit, type CappedMachine } from "./cap-audit.ts";

const hardware = hardwareView(
  {
    metadata: {
      name: "a",
      labels: {
        "joulie.io/hw.cpu-model": "AMD-EPYC-9654",
        "joulie.io/hw.cpu-sockets": "2",
        "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3",
        "joulie.io/hw.gpu-count": "8",
      },
    },
  },
  undefined,
);
const cpu = hardware.cpu.maxWattsPerSocket;
const gpu = hardware.gpu?.maxWatts as Watts;
const machine = (caps: Caps): CappedMachine => ({ spec: { hardware }, physics: { caps }, power: "on" });
const eco: NodeTwinSpec = {
  nodeName: "a",
  profile: "eco",
  cpu: { packagePowerCapPctOfMax: percent(60) },
  gpu: { powerCap: { capPctOfMax: percent(60) } },
};
const performance: NodeTwinSpec = {
  nodeName: "a",
  profile: "performance",
  cpu: { packagePowerCapPctOfMax: percent(100) },
};
const enforced = { cpuWattsPerPackage: watts(0.6 * cpu), gpuWattsPerBoard: watts(0.6 * gpu) };

function audited(spec: NodeTwinSpec, caps: Caps) {
  const audit = new CapAudit(() => machine(caps));
  audit.published("a", spec, { real: 0, simulated: 0 });
  audit.compareSettled({ real: 0, simulated: 0 }, { real: 0, simulated: 0 });
  return audit.figures;
}

describe("CapAudit", () => {
  it("reports no difference when enforced watts match the published percentage, or nothing is capped", () => {
    expect(audited(eco, enforced)).toEqual({ compared: 1, eco: 1, different: 0, examples: [] });
    expect(audited(performance, {})).toEqual({ compared: 1, eco: 0, different: 0, examples: [] });
    expect(audited(performance, { cpuWattsPerPackage: cpu })).toMatchObject({ different: 0 });
  });

  it("reports a missing cap, a different cap and throttled cores", () => {
    expect(audited(eco, { gpuWattsPerBoard: enforced.gpuWattsPerBoard }).examples[0]).toMatch(
      /^a: CPU \d+ W instead of/,
    );
    expect(audited(eco, { ...enforced, gpuWattsPerBoard: gpu }).examples[0]).toContain("GPU");
    expect(audited(performance, enforced)).toMatchObject({ compared: 1, different: 1 });
    expect(audited(eco, { ...enforced, throttlePct: percent(10) }).examples[0]).toContain("throttled by 10 %");
  });

  it("expects the device minimum when the published cap is below it, and of a package at least a quarter", () => {
    const low: NodeTwinSpec = { ...eco, gpu: { powerCap: { capPctOfMax: percent(1) } } };
    expect(audited(low, { ...enforced, gpuWattsPerBoard: watts(200) })).toMatchObject({ different: 0 });
    const typo: NodeTwinSpec = { ...eco, cpu: { packagePowerCapPctOfMax: percent(0.6) } };
    expect(audited(typo, { ...enforced, cpuWattsPerPackage: watts(0.25 * cpu) })).toMatchObject({ different: 0 });
  });

  it("X-88 takes no higher cap for a cap of 60 %, such as the lowest power that a BIOS can configure", () => {
    expect(audited(eco, { ...enforced, cpuWattsPerPackage: watts(320) }).examples[0]).toBe(
      "a: CPU 320 W instead of 240 W",
    );
  });

  it("PRE-08 expects no cap of agents that only observe", () => {
    const observed = (caps: Caps) => {
      const audit = new CapAudit(() => machine(caps), true);
      audit.published("a", eco, { real: 0, simulated: 0 });
      audit.compareSettled({ real: 0, simulated: 0 }, { real: 0, simulated: 0 });
      return audit.figures;
    };
    expect(observed({})).toMatchObject({ compared: 1, eco: 1, different: 0 });
    expect(observed(enforced).examples).toEqual(["a: CPU 240 W instead of 400 W, GPU 420 W instead of 700 W"]);
  });

  it("compares caps only after both settling times have passed since the last change", () => {
    const audit = new CapAudit(() => machine({}));
    audit.published("a", eco, { real: 5, simulated: 300 });
    audit.published("a", { ...eco, policy: { name: "pinned" } }, { real: 9, simulated: 540 });
    audit.compareSettled({ real: 4, simulated: 999 }, { real: 4, simulated: 999 });
    audit.compareSettled({ real: 9, simulated: 299 }, { real: 9, simulated: 299 });
    expect(audit.figures.compared).toBe(0);
    audit.compareSettled({ real: 5, simulated: 300 }, { real: 5, simulated: 300 });
    expect(audit.figures).toMatchObject({ compared: 1, different: 1 });
    audit.published("a", performance, { real: 20, simulated: 1200 });
    audit.compareSettled({ real: 10, simulated: 600 }, { real: 10, simulated: 600 });
    audit.forget("a");
    audit.compareSettled({ real: 100, simulated: 6000 }, { real: 100, simulated: 6000 });
    expect(audit.figures.compared).toBe(1);
  });

  it("compares a machine that was off only after its caps could have been set again", () => {
    let power: CappedMachine["power"] = "off";
    const audit = new CapAudit(() => ({ ...machine({}), power }));
    const at = (time: number) => ({ real: time, simulated: time });
    audit.published("a", eco, at(0));
    audit.compareSettled(at(50), at(60));
    power = "on";
    audit.compareSettled(at(59), at(69));
    expect(audit.figures.compared).toBe(0);
    audit.compareSettled(at(60), at(70));
    expect(audit.figures).toMatchObject({ compared: 1, different: 1 });
  });
});
