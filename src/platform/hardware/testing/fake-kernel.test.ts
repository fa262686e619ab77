import { describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { errorCode } from "../host/host-error.ts";
import { acpiCpufreq, intelPstate } from "./cpufreq-trees.ts";
import { FakeHost } from "./fake-host.ts";
import { emulateCpufreq, emulateEnergy, emulateHsmp, emulateRapl } from "./fake-kernel.ts";
import { hsmpTree } from "./hsmp-trees.ts";
import { epyc, sapphireRapids, zonePath } from "./powercap-trees.ts";

const LIMIT = `${zonePath("intel-rapl:0")}/constraint_0_power_limit_uw`;
const ENABLED = `${zonePath("intel-rapl:0")}/enabled`;

const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "taken";
  } catch (error) {
    return errorCode(error);
  }
};

describe("the fake kernel", () => {
  it.each([
    ["350000000", "350000000"],
    ["350000000\n", "350000000"],
    ["100124999", "100000000"],
    ["1", "0"],
    ["4095875000", "4095875000"],
    ["4096000000", "0"],
    ["5000000000", "904000000"],
  ])("RAPL stores %j as %s µW", (text, stored) => {
    const host = new FakeHost(sapphireRapids);
    emulateRapl(host);
    host.write(LIMIT, text);
    expect(host.read(LIMIT)).toBe(stored);
  });

  it("RAPL rejects anything but unsigned integers, and everything while locked", () => {
    const host = new FakeHost(sapphireRapids);
    emulateRapl(host);
    for (const text of ["12.5", "-1", "", "abc", "0x10"]) expect(codeOf(() => host.write(LIMIT, text))).toBe("EINVAL");
    host.writeAsAnother(ENABLED, "0");
    expect(host.read(ENABLED)).toBe("0");
    emulateRapl(host, { locked: true });
    expect(codeOf(() => host.write(LIMIT, "350000000"))).toBe("ENODATA");
    expect(codeOf(() => host.writeAsAnother(ENABLED, "1"))).toBe("ENOSYS");
    expect(host.read(LIMIT)).toBe("350000000");
    expect(codeOf(() => host.read(`${zonePath("intel-rapl:1")}/constraint_0_max_power_uw`))).toBe("ENODATA");
  });

  it("RAPL switches the clamp and the short-term limit together with `enabled`", () => {
    const host = new FakeHost(sapphireRapids);
    const bits = emulateRapl(host).get(zonePath("intel-rapl:0"));
    expect(bits).toEqual({ clamp: true, shortTerm: true });
    host.writeAsAnother(ENABLED, "0");
    expect(bits).toEqual({ clamp: false, shortTerm: false });
    host.writeAsAnother(ENABLED, "1");
    expect(bits).toEqual({ clamp: true, shortTerm: true });
  });

  it("HSMP stores whole milliwatts, or the firmware's choice", () => {
    const host = new FakeHost(hsmpTree());
    const cap = "class/hwmon/hwmon3/power1_cap";
    emulateHsmp(host);
    host.write(cap, "200000999");
    expect(host.read(cap)).toBe("200000000");
    emulateHsmp(host, () => 225_000);
    host.write(cap, "100000000");
    expect(host.read(cap)).toBe("225000000");
  });

  it("energy counters follow the clock and wrap", () => {
    const host = new FakeHost(epyc);
    const clock = new VirtualClock();
    emulateEnergy(host, clock, watts(100));
    const counter = `${zonePath("intel-rapl:0")}/energy_uj`;
    const start = Number(host.read(counter));
    clock.advance(milliseconds(1000));
    expect(Number(host.read(counter)) - start).toBe(100_000_000);
    clock.advance(milliseconds(10_000));
    expect(Number(host.read(counter))).toBeLessThan(start);
  });

  it("cpufreq clamps, lowers and restores the minimum, and may be slow", () => {
    const host = new FakeHost(intelPstate);
    const clock = new VirtualClock();
    emulateCpufreq(host, { clock, lag: 50 });
    const policy = "devices/system/cpu/cpu1/cpufreq";
    const shown = (): string => `${host.read(`${policy}/scaling_min_freq`)} ${host.read(`${policy}/scaling_max_freq`)}`;
    const write = (file: string, text: string): void => {
      host.write(`${policy}/${file}`, text);
      clock.advance(milliseconds(50));
    };
    write("scaling_min_freq", "2000000");
    host.write(`${policy}/scaling_max_freq`, "1500000");
    expect(shown()).toBe("2000000 3800000");
    clock.advance(milliseconds(50));
    expect(shown()).toBe("1500000 1500000");
    write("scaling_max_freq", "9000000");
    expect(shown()).toBe("2000000 3800000");
    write("scaling_max_freq", "1");
    expect(shown()).toBe("800000 800000");
    expect(codeOf(() => host.write(`${policy}/scaling_max_freq`, "1.5 GHz"))).toBe("EINVAL");
  });

  it("cpufreq rounds up to the next P-state, and the lowest request wins", () => {
    const host = new FakeHost(acpiCpufreq);
    emulateCpufreq(host);
    const policy = "devices/system/cpu/cpufreq/policy3";
    host.write(`${policy}/scaling_min_freq`, "1600000");
    host.write(`${policy}/scaling_max_freq`, "1650000");
    expect(host.read(`${policy}/scaling_max_freq`)).toBe("1700000");
    const held = new FakeHost(intelPstate);
    emulateCpufreq(held, { rivalMax: 1_200_000 });
    expect(held.read("devices/system/cpu/cpufreq/policy0/scaling_max_freq")).toBe("1200000");
  });

  it("cpufreq returns EBUSY while all CPUs of a policy are offline", () => {
    const host = new FakeHost(intelPstate);
    emulateCpufreq(host);
    const policy = "devices/system/cpu/cpufreq/policy3";
    host.set(`${policy}/affected_cpus`, "");
    expect(codeOf(() => host.read(`${policy}/scaling_max_freq`))).toBe("EBUSY");
    expect(codeOf(() => host.write(`${policy}/scaling_max_freq`, "1500000"))).toBe("EBUSY");
  });
});
