import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hardwareView } from "../../../core/inventory/index.ts";
import { milliseconds, percent, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { restoreConfig } from "../config.ts";
import { probeMachine } from "../probe/probe.ts";
import { probeText } from "../probe/probe-text.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";
import { FakeMachine } from "../testing/fake-machine.ts";
import { restoreAll } from "./restore.ts";

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

  it("shows what is there and what would be set, and writes nothing", async () => {
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

  it("says of a machine with nothing what is missing, and obeys no escape sequence in a name", async () => {
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

describe("joulie agent restore", () => {
  let harness: AgentTestHarness;
  let service: FakeControlService;
  beforeEach(async () => {
    harness = new AgentTestHarness();
    service = new FakeControlService();
    await service.listen();
    await harness.createNode("a");
  });
  afterEach(async () => {
    await harness.close();
    await service.close();
  });

  const allowed = { TELEMETRY_ALLOWED_ENDPOINTS: "loopback" };
  const byHand = async (env: Readonly<Record<string, string>> = allowed): Promise<{ code: number; text: string }> => {
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(restoreConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error("no configuration");
    let text = "";
    const { disk: files, clock, machine: host } = harness;
    const running = restoreAll(parsed.value.values, { files, clock, host, out: (more) => void (text += more) });
    const end = { reached: false };
    void running.finally(() => (end.reached = true));
    while (!end.reached) await harness.step();
    return { code: await running, text };
  };

  it("puts back what the journal knows, on the host and over HTTP where a variable allows it, and only once", async () => {
    await harness.route("own", {
      target: { scope: "node", nodeName: "a" },
      controls: { gpu: { type: "http", http: { endpoint: service.control } } },
    });
    await harness.label("a", { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" });
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 }, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false", ...allowed });
    await harness.until(
      () => service.node("a").capWattsPerGpu === 400 && harness.machine.rapl.limits.get("package-1") === 200,
    );
    await agent.stop();
    const asked = service.requests.length;
    const refused = await byHand({});
    expect(refused.code).toBe(1);
    expect(refused.text.trim().split("\n").toSorted()).toEqual([
      "1 of 3 are not restored; they stay in the journal, so that this can be tried again (JOULIE_E_NOT_RESTORED)",
      expect.stringMatching(/^a http gpus: not restored: .*add it to TELEMETRY_ALLOWED_ENDPOINTS$/),
      "rapl package-0: restored",
      "rapl package-1: restored",
    ]);
    expect(service.requests).toHaveLength(asked);
    const { code, text } = await byHand();
    expect(text).toBe("a http gpus: restored\n");
    expect(code).toBe(0);
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
    expect(service.node("a").capWattsPerGpu).toBe(700);
    expect(await byHand()).toEqual({
      code: 0,
      text: "nothing to restore: no original limit is kept in /var/lib/joulie\n",
    });
  });

  it("X-59 leaves what the firmware has set since at another boot", async () => {
    harness.machine.rapl.limits.set("package-0", 340);
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(3);
    await agent.stop();
    harness.machine.boot = "the-next-boot";
    harness.machine.rapl.limits.set("package-0", 300);
    expect((await byHand()).code).toBe(0);
    // The other still reads as we had set it: nothing was reset there.
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect(harness.disk.boards).toEqual([]);
  });

  it("tells what it could not put back, keeps it, and fails", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(3);
    await agent.stop();
    harness.machine.rapl.refusal = { result: "blocked", message: "not as root" };
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: not restored: not as root");
    expect(text).toContain("2 of 2 are not restored");
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
  });

  const cappedAndEnded = async (): Promise<void> => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(5);
    await agent.stop();
  };

  it("fails where the journal is damaged, and names the file and the limits in force", async () => {
    await cappedAndEnded();
    harness.disk.files.set("originals.json", "{");
    harness.disk.files.delete("originals.previous.json");
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("/var/lib/joulie/originals.json cannot be used");
    expect(text).not.toContain("nothing to restore");
    expect(text).toContain("rapl package-0: 200 W of at most 350 W");
    expect(text).toContain("rapl package-1: 200 W of at most 350 W");
    expect(text).toContain("cpufreq policies: 1 at most 3800 MHz");
    // And again, until somebody has looked and removed the file.
    expect((await byHand()).code).toBe(1);
    harness.disk.files.delete("originals.damaged.json");
    expect((await byHand()).code).toBe(0);
  });

  it("fails where the journal cannot be read, and leaves it for the next try", async () => {
    await cappedAndEnded();
    const read = harness.disk.read.bind(harness.disk);
    harness.disk.read = async () => {
      throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    };
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("/var/lib/joulie/originals.json cannot be read: EIO");
    expect(text).toContain("rapl package-0: 200 W");
    harness.disk.read = read;
    expect((await byHand()).code).toBe(0);
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
  });

  it("restores what the file before the damaged one knows, and fails all the same", async () => {
    await cappedAndEnded();
    harness.disk.files.set("originals.json", "");
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: restored");
    expect(text).toContain("rapl package-0: 350 W of at most 350 W");
  });

  it("fails where the journal still lists what was restored, because the disk is full", async () => {
    await cappedAndEnded();
    harness.disk.refusal = new Error("ENOSPC: no space left on device");
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: restored");
    expect(text).toContain("ENOSPC");
    expect(text).toContain("run it again");
  });
});
