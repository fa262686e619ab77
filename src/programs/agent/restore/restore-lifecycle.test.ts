import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { labels } from "../../../core/api/index.ts";
import { watts } from "../../../core/units/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
});
afterEach(async () => {
  await harness.close();
});

const capped = { cpu: { packagePowerCapWatts: 200 } };
const limits = () => Object.fromEntries(harness.machine.rapl.limits);
const ORIGINALS = { "package-0": 340, "package-1": 350 };
const CAPPED = { "package-0": 200, "package-1": 200 };

beforeEach(() => {
  harness.machine.rapl.limits.set("package-0", 340);
});

describe("when the agent stops", () => {
  it("X-41 X-91 restores its limits and reports it", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
    expect(harness.disk.boards).toEqual([]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "none",
      message: "the agent has stopped; the original limits are restored",
    });
    expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBeUndefined();
    expect(harness.machine.closed).toBe(true);
  });

  it("X-91 keeps caps with RESTORE_ON_EXIT=false, and the next agent still knows the originals", async () => {
    await harness.target("a", capped);
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(2);
    await agent.stop();
    expect(limits()).toEqual(CAPPED);
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
    await harness.removeTarget("a");
    const next = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(25);
    expect(limits()).toEqual(ORIGINALS);
    await next.stop();
  });

  it("restores a throttle too", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(45);
    expect(harness.machine.throttle.throttlePct).toBe(10);
    await agent.stop();
    expect(harness.machine.throttle.throttlePct).toBe(0);
  });

  it("reports limits that cannot be restored, and keeps them in the journal", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    await agent.stop();
    expect(agent.logs.filter(({ level }) => level === "error").map(({ problem }) => problem)).toEqual([
      "the limit set on package-0 by rapl could not be restored; EIO; the limit set on package-1 by rapl could not be restored; EIO",
    ]);
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
    harness.machine.rapl.refusal = undefined;
    await harness.removeTarget("a");
    harness.start();
    await harness.advance(25);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("when a backend disappears while a cap is in force", () => {
  it("X-91 reports it until the cap can be lifted", async () => {
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await harness.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    harness.start();
    await harness.advance(2);
    harness.machine.rapl.absent = "the module is gone";
    harness.machine.gpu.absent = "the driver is gone";
    await harness.target("a", {});
    await harness.advance(2);
    const status = await harness.controlStatus();
    expect(status).toMatchObject({ cpu: { result: "blocked" }, gpu: { result: "blocked" } });
    expect(status?.cpu?.message).toContain("our RAPL cap of 200 W cannot be lifted");
    expect(status?.gpu?.message).toContain("GPU GPU-0 keeps our cap of 400 W");
    harness.machine.rapl.absent = undefined;
    harness.machine.gpu.absent = undefined;
    await harness.advance(20);
    expect(await harness.controlStatus()).toMatchObject({ cpu: { result: "none" }, gpu: { result: "none" } });
    expect(limits()).toEqual(ORIGINALS);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(700);
  });

  it("X-91 reports a single board that disappears even if the others are fine", async () => {
    harness.machine.gpu.absent = undefined;
    for (const id of ["GPU-0", "GPU-1"]) harness.machine.gpu.add(id, { min: watts(100), max: watts(700) });
    await harness.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    harness.start();
    await harness.advance(2);
    const { rapl, gpu } = harness.machine;
    rapl.boards.pop();
    gpu.boards.pop();
    await harness.target("a", {});
    await harness.advance(45);
    const status = await harness.controlStatus();
    expect(status).toMatchObject({ cpu: { result: "blocked" }, gpu: { result: "error" } });
    expect(status?.cpu?.message).toContain("the agent's cap of 200 W on package-1 cannot be lifted");
    expect(status?.gpu?.message).toContain("GPU GPU-1 error: the board is gone");
    expect([rapl.limits.get("package-0"), gpu.limits.get("GPU-0")]).toEqual([340, 700]);
  });
});

describe("when a node leaves management", () => {
  it("X-41 restores the originals regardless of RESTORE_ON_EXIT and writes no more status", async () => {
    await harness.target("a", capped);
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(2);
    await harness.label("a", { [labels.managed]: null });
    await harness.advance(1);
    expect(limits()).toEqual(ORIGINALS);
    agent.takeWrites();
    await harness.advance(120);
    expect(agent.takeWrites()).toEqual([]);
    expect((await harness.events()).map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      "LimitsRestored: the node is not managed",
    ]);
    await harness.label("a", { [labels.managed]: "true" });
    await harness.advance(1);
    expect(limits()).toEqual(CAPPED);
    expect(agent.takeWrites().some(({ path }) => path.includes("nodehardwares/a"))).toBe(true);
  });

  it("removes the cap when the NodeTwin is deleted", async () => {
    await harness.target("a", capped);
    harness.start();
    await harness.advance(2);
    await harness.removeTarget("a");
    await harness.advance(1);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("after a crash", () => {
  /** A machine with the caps of a killed agent. */
  const crash = async (): Promise<void> => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    // Puts the disk back to the state at the kill, because stopping the agent restores the limits.
    const left = new Map(harness.disk.files);
    await agent.stop();
    harness.disk.files.clear();
    for (const [name, text] of left) harness.disk.files.set(name, text);
    for (const id of ["package-0", "package-1"]) harness.machine.rapl.limits.set(id, 200);
    harness.machine.rapl.writes.length = 0;
  };

  it("X-59 verifies a published target that is still in force without writing it, and keeps the originals", async () => {
    await crash();
    const agent = harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(CAPPED);
    expect(harness.machine.rapl.writes).toEqual([]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      backend: "rapl",
      result: "applied",
      message: "200 W per package; not yet tested by load",
    });
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 writes a published target that is no longer in force again, and reports applied only then", async () => {
    await crash();
    harness.machine.rapl.limits.set("package-1", 350);
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    harness.machine.throttle.absent = "no cpufreq";
    const agent = harness.start();
    await harness.advance(2);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "error" });
    harness.machine.rapl.refusal = undefined;
    await harness.advance(20);
    expect(harness.machine.rapl.writes).toContain("cap package-1 200");
    expect(limits()).toEqual(CAPPED);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 detects a cap of an earlier run that has no effect", async () => {
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    harness.machine.gpu.draws.set("GPU-0", 150);
    await harness.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(2);
    await agent.stop();
    const writes = harness.machine.writes.length;
    harness.start();
    await harness.advance(2);
    harness.machine.draws.set("package-1", 300);
    harness.machine.gpu.draws.set("GPU-0", 650);
    await harness.advance(120);
    expect(harness.machine.writes).toHaveLength(writes);
    expect((await harness.controlStatus())?.cpu?.message).toContain("not effective: package-1");
    expect((await harness.controlStatus())?.gpu?.message).toContain("not effective: GPU GPU-0");
  });

  it("X-59 counts no conflict for a cap that was undone while no agent ran, and sets it again with the old originals", async () => {
    await crash();
    harness.machine.rapl.limits.set("package-0", 340);
    harness.machine.rapl.limits.set("package-1", 350);
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(CAPPED);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    await harness.removeTarget("a");
    await harness.advance(1);
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 takes the firmware's limits as originals after a reboot", async () => {
    await crash();
    harness.machine.boot = "the-next-boot";
    const firmware = { "package-0": 300, "package-1": 250 };
    for (const [id, limit] of Object.entries(firmware)) harness.machine.rapl.limits.set(id, limit);
    await harness.target("a", { cpu: { packagePowerCapWatts: 280 } });
    const agent = harness.start();
    await harness.advance(2);
    expect(limits()).toEqual({ "package-0": 280, "package-1": 250 });
    await agent.stop();
    expect(limits()).toEqual(firmware);
    expect(harness.disk.boards).toEqual([]);
  });

  it("X-59 keeps the old originals after a boot that reset nothing, such as kexec", async () => {
    await crash();
    harness.machine.boot = "the-next-boot";
    const agent = harness.start();
    await harness.advance(4);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-42 X-59 restores the originals with SIMULATE_ONLY although a target is published, and sets nothing more", async () => {
    await crash();
    const agent = harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(2);
    expect(limits()).toEqual(ORIGINALS);
    const writes = [...harness.machine.writes];
    expect(writes).toHaveLength(2);
    await harness.advance(65);
    expect(harness.disk.boards).toEqual([]);
    expect(harness.machine.writes).toEqual(writes);
    const told = (await harness.events()).map(({ reason, note }) => `${reason}: ${note}`);
    expect(told).toContain("LimitsRestored: SIMULATE_ONLY is set");
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "none",
      message: "simulate only: would set 200 W per package; 200 W per package",
    });
    await agent.stop();
    expect(harness.machine.writes).toEqual(writes);
  });

  it("X-42 X-59 restores GPUs and a throttle with SIMULATE_ONLY too", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    const original = harness.machine.gpu.limits.get("GPU-0");
    await harness.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    const enforcing = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(45);
    await enforcing.stop();
    expect(harness.machine.throttle.throttlePct).toBe(10);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(400);
    harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(0);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(original);
    await harness.advance(20);
    expect(harness.disk.boards).toEqual([]);
  });

  it.each(["true", "false"])(
    "X-42 reports an error with SIMULATE_ONLY while a limit stays in force, RESTORE_ON_EXIT=%s",
    async (restoreOnExit) => {
      await crash();
      harness.machine.rapl.refusal = { result: "error", message: "EIO" };
      const agent = harness.start({ SIMULATE_ONLY: "true", RESTORE_ON_EXIT: restoreOnExit });
      await harness.advance(2);
      const problem = "the limit set on package-0 by rapl could not be restored; EIO";
      expect((await harness.controlStatus())?.cpu).toMatchObject({
        result: "error",
        message: expect.stringContaining(problem),
      });
      await agent.stop();
      expect((await harness.controlStatus())?.cpu?.result).toBe("error");
      expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
    },
  );

  it("X-59 restores the originals if there is no target", async () => {
    await crash();
    await harness.removeTarget("a");
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(ORIGINALS);
    await harness.advance(3);
    expect(harness.disk.boards).toEqual([]);
  });

  it("X-59 continues with the throttle of the earlier run", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    await harness.target("a", capped);
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(85);
    expect(harness.machine.throttle.throttlePct).toBe(20);
    await agent.stop();
    const next = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(2);
    expect(await next.series("joulie_dvfs_throttle_pct")).toEqual(['joulie_dvfs_throttle_pct{node="a"} 20']);
    await harness.advance(40);
    expect(harness.machine.throttle.writes.slice(-1)).toEqual(["throttle 30"]);
    await harness.removeTarget("a");
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(0);
  });

  it("X-59 writes a percentage that was journalled but never written, and again after a conflicting write", async () => {
    harness.machine.rapl.absent = "no RAPL";
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = harness.start({ RESTORE_ON_EXIT: "false" });
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(40);
    await agent.stop();
    harness.machine.throttle.throttlePct = 0;
    harness.start();
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(40);
    harness.machine.throttle.throttlePct = 10;
    await harness.advance(20);
    expect(harness.machine.throttle.throttlePct).toBe(40);
    harness.machine.throttle.throttlePct = 10;
    harness.machine.throttle.refusal = { result: "error", message: "EIO" };
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "dvfs", result: "error" });
  });

  it("X-59 writes a throttle again that was undone meanwhile, even if it cannot rise", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    await harness.target("a", capped);
    const agent = harness.start({ RESTORE_ON_EXIT: "false", DVFS_STEP_PCT: "100" });
    await harness.advance(85);
    expect(harness.machine.throttle.throttlePct).toBe(100);
    await agent.stop();
    harness.machine.throttle.throttlePct = 0;
    harness.start({ DVFS_STEP_PCT: "100" });
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(100);
  });

  it("keeps limits in force if the API server is unreachable at the start", async () => {
    await crash();
    harness.api.faults.add({ fault: { kind: "refused" } });
    const agent = harness.start();
    await harness.advance(100);
    expect(limits()).toEqual(CAPPED);
    expect(harness.machine.rapl.writes).toEqual([]);
    expect((await agent.page("/readyz")).status).toBe(503);
    harness.api.faults.clear();
    await harness.removeTarget("a");
    await harness.advance(60);
    expect(limits()).toEqual(ORIGINALS);
  });

  it("restores them when the lease expires", async () => {
    await crash();
    harness.api.faults.add({ fault: { kind: "refused" } });
    harness.start({ TARGET_LEASE: "2m" });
    await harness.advance(100);
    expect(limits()).toEqual(CAPPED);
    await harness.advance(60);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("while the API server is unreachable", () => {
  it("X-58 enforces the last target, also against conflicting writers, and DVFS continues", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    harness.api.faults.freeze();
    harness.machine.rapl.limits.set("package-0", 340);
    await harness.advance(40);
    expect(limits()).toEqual(CAPPED);
    harness.machine.rapl.absent = "gone";
    harness.machine.draw(700);
    await harness.advance(120);
    expect(harness.machine.throttle.throttlePct).toBeGreaterThan(0);
    harness.api.faults.thaw();
    await harness.advance(40);
    expect((await harness.controlStatus())?.cpu?.backend).toBe("dvfs");
    expect((await agent.page("/livez")).status).toBe(200);
  });

  it("X-58 restores the originals after TARGET_LEASE, and enforces the target again after reconnecting", async () => {
    await harness.target("a", capped);
    harness.start({ TARGET_LEASE: "3m" });
    await harness.advance(2);
    await harness.advance(400);
    expect(limits()).toEqual(CAPPED);
    harness.api.faults.freeze();
    // The last contact may be up to a minute ago.
    await harness.advance(110);
    expect(limits()).toEqual(CAPPED);
    await harness.advance(100);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.thaw();
    await harness.advance(90);
    expect(limits()).toEqual(CAPPED);
  });

  it("uses the last eco target with TARGET_LEASE_ACTION=eco, or the default one if none was seen", async () => {
    await harness.target("a", { profile: "eco", cpu: { packagePowerCapWatts: 111 } });
    harness.start({ TARGET_LEASE: "1m", TARGET_LEASE_ACTION: "eco" });
    await harness.advance(2);
    await harness.target("a", { profile: "performance", cpu: { packagePowerCapWatts: 300 } });
    await harness.advance(2);
    expect(limits()).toEqual({ "package-0": 300, "package-1": 300 });
    harness.api.faults.freeze();
    await harness.advance(100);
    expect(limits()).toEqual({ "package-0": 111, "package-1": 111 });
    harness.api.faults.thaw();
  });

  it("caps nothing with TARGET_LEASE_ACTION=eco on a node that was never seen as managed", async () => {
    harness.api.faults.add({ fault: { kind: "refused" } });
    const agent = harness.start({ TARGET_LEASE: "1m", TARGET_LEASE_ACTION: "eco" });
    await harness.advance(100);
    expect(harness.machine.rapl.writes).toEqual([]);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.clear();
    await agent.stop();
  });

  it("restores and exits in time if it is stopped meanwhile", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    harness.api.faults.freeze();
    const from = harness.clock.monotonic();
    await agent.stop();
    // The termination grace period is 30 s.
    expect(harness.clock.monotonic() - from).toBeLessThan(30_000);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.thaw();
  });
});

describe("precedence of targets", () => {
  it("X-68 follows a user's NodePowerProfile only while there is no NodeTwin", async () => {
    await harness.pin("a", { cpu: { packagePowerCapWatts: 150 } });
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual({ "package-0": 150, "package-1": 150 });
    await harness.target("a", { cpu: { packagePowerCapWatts: 250 } });
    await harness.advance(1);
    expect(limits()).toEqual({ "package-0": 250, "package-1": 250 });
    await harness.removeTarget("a");
    await harness.advance(1);
    expect(limits()).toEqual({ "package-0": 150, "package-1": 150 });
  });

  it("CLI-05 X-68 lets go of a pin that has ended while there is no NodeTwin", async () => {
    const until = new Date(harness.clock.now() + 5000).toISOString();
    await harness.user.create(resources.nodePowerProfiles, {
      metadata: { name: "a", annotations: { "joulie.io/pin-until": until } },
      spec: { nodeName: "a", profile: "eco", cpu: { packagePowerCapWatts: 150 } },
    });
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual({ "package-0": 150, "package-1": 150 });
    // The next tick comes without any event of the API.
    await harness.advance(40);
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-68 ignores a NodePowerProfile that mirrors the operator", async () => {
    await harness.user.create(resources.nodePowerProfiles, {
      metadata: { name: "a", labels: { [labels.managedBy]: "operator" } },
      spec: { nodeName: "a", profile: "eco", cpu: { packagePowerCapWatts: 150 } },
    });
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(ORIGINALS);
  });
});
