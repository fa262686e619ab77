import { describe, expect, it } from "vitest";
import { hardwareView } from "../../../core/inventory/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { FakeMachine } from "../testing/fake-machine.ts";
import { probeMachine } from "./probe-machine.ts";
import { probeText } from "./probe-text.ts";

describe("joulie agent probe", () => {
  const probed = async (machine: FakeMachine, clock: VirtualClock) => {
    const status = await machine.discover();
    const view = hardwareView({ metadata: { name: "" } }, status);
    const probing = probeMachine(machine, clock, {
      status,
      view,
      cpuPct: percent(60),
      gpuPct: percent(50),
      lowestKHz: 1_500_000,
    });
    await clock.advanceAsync(milliseconds(1000));
    return probing;
  };

  it("prints the hardware and the caps it would set, and writes nothing", async () => {
    const clock = new VirtualClock();
    const machine = new FakeMachine(clock);
    machine.gpu.absent = undefined;
    machine.gpu.add("GPU-1", { min: watts(200), max: watts(700) }, { model: "NVIDIA H100" });
    machine.gpu.draws.set("GPU-1", 123.4);
    const probe = await probed(machine, clock);
    expect(probe.energy.zones).toEqual([
      { zone: "package-0", watts: 100 },
      { zone: "package-1", watts: 100 },
    ]);
    expect(probe.backends).toMatchObject([
      { name: "rapl", boards: [{ id: "package-0", limit: 350, wouldSet: "210 W" }, { id: "package-1" }] },
      { name: "nvml", boards: [{ id: "GPU-1", watts: 123.4, wouldSet: "350 W" }] },
    ]);
    expect(machine.writes).toEqual([]);
    const text = probeText(probe, { CPU_PCT: percent(60), GPU_PCT: percent(50) });
    expect(text).toContain("NVIDIA H100");
    expect(text).toContain("200 W to 700 W, limit now 700 W, draws 123.4 W");
  });

  it("names what is missing on a machine without power interfaces, and escapes control characters", async () => {
    const clock = new VirtualClock();
    const machine = new FakeMachine(clock);
    machine.draws.clear();
    machine.rapl.absent = "powercap is not mounted";
    machine.throttle.absent = "cpufreq has no policies";
    machine.hardware = {
      cpu: { rawModel: "evil\u001b[2Jname", warnings: ["rapl: powercap is not mounted", "the BIOS is old"] },
    };
    const text = probeText(await probed(machine, clock), { CPU_PCT: percent(60), GPU_PCT: percent(50) });
    expect(text).toContain("evil\\u001b[2Jname");
    expect(text).toMatch(/rapl.*absent.*powercap is not mounted/);
    expect(text).toContain("cpufreq has no policies");
    expect(text.split("powercap is not mounted")).toHaveLength(2);
    expect(text).toContain("the BIOS is old");
  });
});
