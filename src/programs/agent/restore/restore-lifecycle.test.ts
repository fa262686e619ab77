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
  it("X-41 X-91 what it set is restored, and it says so", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
    expect(harness.disk.boards).toEqual([]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "none",
      message: "the agent has stopped; what it had set is restored",
    });
    expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBeUndefined();
    expect(harness.machine.closed).toBe(true);
  });

  it("X-91 RESTORE_ON_EXIT=false keeps caps, and the next agent still knows the originals", async () => {
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

  it("a throttle is restored, too", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(45);
    expect(harness.machine.throttle.throttlePct).toBe(10);
    await agent.stop();
    expect(harness.machine.throttle.throttlePct).toBe(0);
  });

  it("what cannot be restored is told, and stays known", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    await agent.stop();
    expect(agent.logs.filter(({ level }) => level === "error").map(({ problem }) => problem)).toEqual([
      "what was set on package-0 by rapl could not be restored; EIO; what was set on package-1 by rapl could not be restored; EIO",
    ]);
    expect(harness.disk.boards).toEqual(["package-0", "package-1"]);
    harness.machine.rapl.refusal = undefined;
    await harness.removeTarget("a");
    harness.start();
    await harness.advance(25);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("what sets limits goes away while ours is in force", () => {
  it("X-91 is told, until what is ours can be lifted", async () => {
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

  it("X-91 one board that is not shown any more is told, whatever the others say", async () => {
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
    expect(status?.cpu?.message).toContain("our cap of 200 W on package-1 cannot be lifted");
    expect(status?.gpu?.message).toContain("GPU GPU-1 error: it is not there any more");
    expect([rapl.limits.get("package-0"), gpu.limits.get("GPU-0")]).toEqual([340, 700]);
  });
});

describe("when a node leaves management", () => {
  it("X-41 its originals are back, whatever RESTORE_ON_EXIT says, and nothing more is written about it", async () => {
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

  it("a twin that goes takes the cap with it", async () => {
    await harness.target("a", capped);
    harness.start();
    await harness.advance(2);
    await harness.removeTarget("a");
    await harness.advance(1);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("after a crash", () => {
  /** A machine that was capped by an agent that no longer is. */
  const crash = async (): Promise<void> => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    // The disk as the dead agent left it; what the living one does at its end is undone.
    const left = new Map(harness.disk.files);
    await agent.stop();
    harness.disk.files.clear();
    for (const [name, text] of left) harness.disk.files.set(name, text);
    for (const id of ["package-0", "package-1"]) harness.machine.rapl.limits.set(id, 200);
    harness.machine.rapl.writes.length = 0;
  };

  it("X-59 a target still published that is in force needs no write, and is answered for: the originals are kept", async () => {
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

  it("X-59 a target still published that is not in force any more is re-asserted, and called applied only then", async () => {
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

  it("X-59 a cap of an earlier run that does not bite is found out", async () => {
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

  it("X-59 somebody who undid the cap while no agent ran is no rival: it is set again, with the old originals", async () => {
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

  it("X-59 after another boot what the firmware set is the original, whatever it was before", async () => {
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

  it("X-59 after another boot that reset nothing, as kexec's, the old originals are the originals still", async () => {
    await crash();
    harness.machine.boot = "the-next-boot";
    const agent = harness.start();
    await harness.advance(4);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 without a target the originals are restored", async () => {
    await crash();
    await harness.removeTarget("a");
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(ORIGINALS);
    await harness.advance(3);
    expect(harness.disk.boards).toEqual([]);
  });

  it("X-59 the throttle is known again, and goes on from there", async () => {
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

  it("X-59 a percentage that was journalled and never written is written, and one that a rival undoes is written again", async () => {
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

  it("X-59 the loop's throttle that was undone meanwhile is written again, even where it cannot rise", async () => {
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

  it("with the API away at the start what is in force stays as it is", async () => {
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

  it("… until the lease is over", async () => {
    await crash();
    harness.api.faults.add({ fault: { kind: "refused" } });
    harness.start({ TARGET_LEASE: "2m" });
    await harness.advance(100);
    expect(limits()).toEqual(CAPPED);
    await harness.advance(60);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("when the API is away", () => {
  it("X-58 the last target stays enforced, against rivals too, and DVFS goes on from memory", async () => {
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

  it("X-58 after TARGET_LEASE without contact the originals are back, and the target too once it is over", async () => {
    await harness.target("a", capped);
    harness.start({ TARGET_LEASE: "3m" });
    await harness.advance(2);
    await harness.advance(400);
    expect(limits()).toEqual(CAPPED);
    harness.api.faults.freeze();
    // What was last heard may be up to a minute ago by now.
    await harness.advance(110);
    expect(limits()).toEqual(CAPPED);
    await harness.advance(100);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.thaw();
    await harness.advance(90);
    expect(limits()).toEqual(CAPPED);
  });

  it("TARGET_LEASE_ACTION=eco takes the last eco target, and the usual one where none was seen", async () => {
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

  it("TARGET_LEASE_ACTION=eco caps nothing on a node that was never seen to be managed", async () => {
    harness.api.faults.add({ fault: { kind: "refused" } });
    const agent = harness.start({ TARGET_LEASE: "1m", TARGET_LEASE_ACTION: "eco" });
    await harness.advance(100);
    expect(harness.machine.rapl.writes).toEqual([]);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.clear();
    await agent.stop();
  });

  it("an agent that stops meanwhile restores, and ends in time", async () => {
    await harness.target("a", capped);
    const agent = harness.start();
    await harness.advance(2);
    harness.api.faults.freeze();
    const from = harness.clock.monotonic();
    await agent.stop();
    // Kubernetes gives a pod 30 s.
    expect(harness.clock.monotonic() - from).toBeLessThan(30_000);
    expect(limits()).toEqual(ORIGINALS);
    harness.api.faults.thaw();
  });
});

describe("whose word counts", () => {
  it("X-68 a person's NodePowerProfile directly only while there is no NodeTwin", async () => {
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

  it("X-68 a mirror of the operator's is no person's word", async () => {
    await harness.user.create(resources.nodePowerProfiles, {
      metadata: { name: "a", labels: { [labels.managedBy]: "operator" } },
      spec: { nodeName: "a", profile: "eco", cpu: { packagePowerCapWatts: 150 } },
    });
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(ORIGINALS);
  });
});
