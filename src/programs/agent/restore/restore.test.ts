import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../platform/config/index.ts";
import { restoreConfig } from "../config.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";
import { restoreAll } from "./restore.ts";

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

  it("restores the journalled limits once, on the host and over HTTP if a variable allows the endpoint", async () => {
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
      "1 of 3 limits were not restored; they stay in the journal for another attempt (JOULIE_E_NOT_RESTORED)",
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
      text: "nothing to restore: no original limit is stored in /var/lib/joulie\n",
    });
  });

  it("X-59 keeps limits that the firmware set at a later boot", async () => {
    harness.machine.rapl.limits.set("package-0", 340);
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(3);
    await agent.stop();
    harness.machine.boot = "the-next-boot";
    harness.machine.rapl.limits.set("package-0", 300);
    expect((await byHand()).code).toBe(0);
    // The other package still has the agent's limit: it was not reset.
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 300, "package-1": 350 });
    expect(harness.disk.boards).toEqual([]);
  });

  it("prints limits that it could not restore, keeps them in the journal, and exits with 1", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(3);
    await agent.stop();
    harness.machine.rapl.refusal = { result: "blocked", message: "not as root" };
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: not restored: not as root");
    expect(text).toContain("2 of 2 limits were not restored");
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
  });

  const cappedAndEnded = async (): Promise<void> => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(5);
    await agent.stop();
  };

  it("exits with 1 if the journal is damaged, and prints the file and the limits in force", async () => {
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
    // It fails until the user removes the file.
    expect((await byHand()).code).toBe(1);
    harness.disk.files.delete("originals.damaged.json");
    expect((await byHand()).code).toBe(0);
  });

  it("exits with 1 if the journal cannot be read, and leaves it unchanged", async () => {
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

  it("restores from the previous journal file if the current one is damaged, and exits with 1", async () => {
    await cappedAndEnded();
    harness.disk.files.set("originals.json", "");
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: restored");
    expect(text).toContain("rapl package-0: 350 W of at most 350 W");
  });

  it("exits with 1 if the disk is full and the journal still lists restored limits", async () => {
    await cappedAndEnded();
    harness.disk.refusal = new Error("ENOSPC: no space left on device");
    const { code, text } = await byHand();
    expect(code).toBe(1);
    expect(text).toContain("rapl package-0: restored");
    expect(text).toContain("ENOSPC");
    expect(text).toContain("run the command again");
  });
});
