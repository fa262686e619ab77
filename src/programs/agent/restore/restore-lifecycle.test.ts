import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { labels } from "../../../core/api/index.ts";
import { watts } from "../../../core/units/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { Trial } from "../testing/agent-test-harness.ts";

let trial: Trial;
beforeEach(async () => {
  trial = new Trial();
  await trial.createNode("a");
});
afterEach(async () => {
  await trial.end();
});

const capped = { cpu: { packagePowerCapWatts: 200 } };
const limits = () => Object.fromEntries(trial.machine.rapl.limits);
const ORIGINALS = { "package-0": 340, "package-1": 350 };
const CAPPED = { "package-0": 200, "package-1": 200 };

beforeEach(() => {
  trial.machine.rapl.limits.set("package-0", 340);
});

describe("when the agent stops", () => {
  it("X-41 X-91 what it set is restored, and it says so", async () => {
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(2);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
    expect(trial.disk.boards).toEqual([]);
    expect((await trial.told())?.cpu).toMatchObject({
      result: "none",
      message: "the agent has stopped; what it had set is restored",
    });
    expect((await trial.told())?.cpu?.observedPowerWatts).toBeUndefined();
    expect(trial.machine.closed).toBe(true);
  });

  it("X-91 RESTORE_ON_EXIT=false keeps caps, and the next agent still knows the originals", async () => {
    await trial.target("a", capped);
    const agent = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(2);
    await agent.stop();
    expect(limits()).toEqual(CAPPED);
    expect(trial.disk.boards).toEqual(["package-0", "package-1"]);
    await trial.untarget("a");
    const next = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(25);
    expect(limits()).toEqual(ORIGINALS);
    await next.stop();
  });

  it("a throttle is restored, too", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(700);
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(45);
    expect(trial.machine.throttle.throttlePct).toBe(10);
    await agent.stop();
    expect(trial.machine.throttle.throttlePct).toBe(0);
  });

  it("what cannot be restored is told, and stays known", async () => {
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(2);
    trial.machine.rapl.refusal = { result: "error", message: "EIO" };
    await agent.stop();
    expect(agent.logs.filter(({ level }) => level === "error").map(({ problem }) => problem)).toEqual([
      "what was set on package-0 by rapl could not be restored; EIO; what was set on package-1 by rapl could not be restored; EIO",
    ]);
    expect(trial.disk.boards).toEqual(["package-0", "package-1"]);
    trial.machine.rapl.refusal = undefined;
    await trial.untarget("a");
    trial.start();
    await trial.pass(25);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("what sets limits goes away while ours is in force", () => {
  it("X-91 is told, until what is ours can be lifted", async () => {
    trial.machine.gpu.absent = undefined;
    trial.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await trial.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    trial.start();
    await trial.pass(2);
    trial.machine.rapl.absent = "the module is gone";
    trial.machine.gpu.absent = "the driver is gone";
    await trial.target("a", {});
    await trial.pass(2);
    const told = await trial.told();
    expect(told).toMatchObject({ cpu: { result: "blocked" }, gpu: { result: "blocked" } });
    expect(told?.cpu?.message).toContain("our RAPL cap of 200 W cannot be lifted");
    expect(told?.gpu?.message).toContain("GPU GPU-0 keeps our cap of 400 W");
    trial.machine.rapl.absent = undefined;
    trial.machine.gpu.absent = undefined;
    await trial.pass(20);
    expect(await trial.told()).toMatchObject({ cpu: { result: "none" }, gpu: { result: "none" } });
    expect(limits()).toEqual(ORIGINALS);
    expect(trial.machine.gpu.limits.get("GPU-0")).toBe(700);
  });

  it("X-91 one board that is not shown any more is told, whatever the others say", async () => {
    trial.machine.gpu.absent = undefined;
    for (const id of ["GPU-0", "GPU-1"]) trial.machine.gpu.add(id, { min: watts(100), max: watts(700) });
    await trial.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    trial.start();
    await trial.pass(2);
    const { rapl, gpu } = trial.machine;
    rapl.boards.pop();
    gpu.boards.pop();
    await trial.target("a", {});
    await trial.pass(45);
    const told = await trial.told();
    expect(told).toMatchObject({ cpu: { result: "blocked" }, gpu: { result: "error" } });
    expect(told?.cpu?.message).toContain("our cap of 200 W on package-1 cannot be lifted");
    expect(told?.gpu?.message).toContain("GPU GPU-1 error: it is not there any more");
    expect([rapl.limits.get("package-0"), gpu.limits.get("GPU-0")]).toEqual([340, 700]);
  });
});

describe("when a node leaves management", () => {
  it("X-41 its originals are back, whatever RESTORE_ON_EXIT says, and nothing more is written about it", async () => {
    await trial.target("a", capped);
    const agent = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(2);
    await trial.label("a", { [labels.managed]: null });
    await trial.pass(1);
    expect(limits()).toEqual(ORIGINALS);
    agent.written();
    await trial.pass(120);
    expect(agent.written()).toEqual([]);
    expect((await trial.events()).map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
      "LimitsRestored: the node is not managed",
    ]);
    await trial.label("a", { [labels.managed]: "true" });
    await trial.pass(1);
    expect(limits()).toEqual(CAPPED);
    expect(agent.written().some(({ path }) => path.includes("nodehardwares/a"))).toBe(true);
  });

  it("a twin that goes takes the cap with it", async () => {
    await trial.target("a", capped);
    trial.start();
    await trial.pass(2);
    await trial.untarget("a");
    await trial.pass(1);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("after a crash", () => {
  /** A machine that was capped by an agent that no longer is. */
  const crash = async (): Promise<void> => {
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(2);
    // The disk as the dead agent left it; what the living one does at its end is undone.
    const left = new Map(trial.disk.files);
    await agent.stop();
    trial.disk.files.clear();
    for (const [name, text] of left) trial.disk.files.set(name, text);
    for (const id of ["package-0", "package-1"]) trial.machine.rapl.limits.set(id, 200);
    trial.machine.rapl.writes.length = 0;
  };

  it("X-59 a target still published that is in force needs no write, and is answered for: the originals are kept", async () => {
    await crash();
    const agent = trial.start();
    await trial.pass(2);
    expect(limits()).toEqual(CAPPED);
    expect(trial.machine.rapl.writes).toEqual([]);
    expect((await trial.told())?.cpu).toMatchObject({
      backend: "rapl",
      result: "applied",
      message: "200 W per package; not yet tested by load",
    });
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 a target still published that is not in force any more is re-asserted, and called applied only then", async () => {
    await crash();
    trial.machine.rapl.limits.set("package-1", 350);
    trial.machine.rapl.refusal = { result: "error", message: "EIO" };
    trial.machine.throttle.absent = "no cpufreq";
    const agent = trial.start();
    await trial.pass(2);
    expect((await trial.told())?.cpu).toMatchObject({ result: "error" });
    trial.machine.rapl.refusal = undefined;
    await trial.pass(20);
    expect(trial.machine.rapl.writes).toContain("cap package-1 200");
    expect(limits()).toEqual(CAPPED);
    expect((await trial.told())?.cpu?.result).toBe("applied");
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 a cap of an earlier run that does not bite is found out", async () => {
    trial.machine.gpu.absent = undefined;
    trial.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    trial.machine.gpu.draws.set("GPU-0", 150);
    await trial.target("a", { ...capped, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    const agent = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(2);
    await agent.stop();
    const writes = trial.machine.writes.length;
    trial.start();
    await trial.pass(2);
    trial.machine.draws.set("package-1", 300);
    trial.machine.gpu.draws.set("GPU-0", 650);
    await trial.pass(120);
    expect(trial.machine.writes).toHaveLength(writes);
    expect((await trial.told())?.cpu?.message).toContain("not effective: package-1");
    expect((await trial.told())?.gpu?.message).toContain("not effective: GPU GPU-0");
  });

  it("X-59 somebody who undid the cap while no agent ran is no rival: it is set again, with the old originals", async () => {
    await crash();
    trial.machine.rapl.limits.set("package-0", 340);
    trial.machine.rapl.limits.set("package-1", 350);
    trial.start();
    await trial.pass(2);
    expect(limits()).toEqual(CAPPED);
    expect((await trial.told())?.cpu?.result).toBe("applied");
    await trial.untarget("a");
    await trial.pass(1);
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 after another boot what the firmware set is the original, whatever it was before", async () => {
    await crash();
    trial.machine.boot = "the-next-boot";
    const firmware = { "package-0": 300, "package-1": 250 };
    for (const [id, limit] of Object.entries(firmware)) trial.machine.rapl.limits.set(id, limit);
    await trial.target("a", { cpu: { packagePowerCapWatts: 280 } });
    const agent = trial.start();
    await trial.pass(2);
    expect(limits()).toEqual({ "package-0": 280, "package-1": 250 });
    await agent.stop();
    expect(limits()).toEqual(firmware);
    expect(trial.disk.boards).toEqual([]);
  });

  it("X-59 after another boot that reset nothing, as kexec's, the old originals are the originals still", async () => {
    await crash();
    trial.machine.boot = "the-next-boot";
    const agent = trial.start();
    await trial.pass(4);
    expect(limits()).toEqual(CAPPED);
    await agent.stop();
    expect(limits()).toEqual(ORIGINALS);
  });

  it("X-59 without a target the originals are restored", async () => {
    await crash();
    await trial.untarget("a");
    trial.start();
    await trial.pass(2);
    expect(limits()).toEqual(ORIGINALS);
    await trial.pass(3);
    expect(trial.disk.boards).toEqual([]);
  });

  it("X-59 the throttle is known again, and goes on from there", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(700);
    await trial.target("a", capped);
    const agent = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(85);
    expect(trial.machine.throttle.throttlePct).toBe(20);
    await agent.stop();
    const next = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(2);
    expect(await next.series("joulie_dvfs_throttle_pct")).toEqual(['joulie_dvfs_throttle_pct{node="a"} 20']);
    await trial.pass(40);
    expect(trial.machine.throttle.writes.slice(-1)).toEqual(["throttle 30"]);
    await trial.untarget("a");
    await trial.pass(2);
    expect(trial.machine.throttle.throttlePct).toBe(0);
  });

  it("X-59 a percentage that was journalled and never written is written, and one that a rival undoes is written again", async () => {
    trial.machine.rapl.absent = "no RAPL";
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = trial.start({ RESTORE_ON_EXIT: "false" });
    await trial.pass(2);
    expect(trial.machine.throttle.throttlePct).toBe(40);
    await agent.stop();
    trial.machine.throttle.throttlePct = 0;
    trial.start();
    await trial.pass(2);
    expect(trial.machine.throttle.throttlePct).toBe(40);
    trial.machine.throttle.throttlePct = 10;
    await trial.pass(20);
    expect(trial.machine.throttle.throttlePct).toBe(40);
    trial.machine.throttle.throttlePct = 10;
    trial.machine.throttle.refusal = { result: "error", message: "EIO" };
    await trial.pass(20);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "dvfs", result: "error" });
  });

  it("X-59 the loop's throttle that was undone meanwhile is written again, even where it cannot rise", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(700);
    await trial.target("a", capped);
    const agent = trial.start({ RESTORE_ON_EXIT: "false", DVFS_STEP_PCT: "100" });
    await trial.pass(85);
    expect(trial.machine.throttle.throttlePct).toBe(100);
    await agent.stop();
    trial.machine.throttle.throttlePct = 0;
    trial.start({ DVFS_STEP_PCT: "100" });
    await trial.pass(2);
    expect(trial.machine.throttle.throttlePct).toBe(100);
  });

  it("with the API away at the start what is in force stays as it is", async () => {
    await crash();
    trial.api.faults.add({ fault: { kind: "refused" } });
    const agent = trial.start();
    await trial.pass(100);
    expect(limits()).toEqual(CAPPED);
    expect(trial.machine.rapl.writes).toEqual([]);
    expect((await agent.page("/readyz")).status).toBe(503);
    trial.api.faults.clear();
    await trial.untarget("a");
    await trial.pass(60);
    expect(limits()).toEqual(ORIGINALS);
  });

  it("… until the lease is over", async () => {
    await crash();
    trial.api.faults.add({ fault: { kind: "refused" } });
    trial.start({ TARGET_LEASE: "2m" });
    await trial.pass(100);
    expect(limits()).toEqual(CAPPED);
    await trial.pass(60);
    expect(limits()).toEqual(ORIGINALS);
  });
});

describe("when the API is away", () => {
  it("X-58 the last target stays enforced, against rivals too, and DVFS goes on from memory", async () => {
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(2);
    trial.api.faults.freeze();
    trial.machine.rapl.limits.set("package-0", 340);
    await trial.pass(40);
    expect(limits()).toEqual(CAPPED);
    trial.machine.rapl.absent = "gone";
    trial.machine.draw(700);
    await trial.pass(120);
    expect(trial.machine.throttle.throttlePct).toBeGreaterThan(0);
    trial.api.faults.thaw();
    await trial.pass(40);
    expect((await trial.told())?.cpu?.backend).toBe("dvfs");
    expect((await agent.page("/livez")).status).toBe(200);
  });

  it("X-58 after TARGET_LEASE without contact the originals are back, and the target too once it is over", async () => {
    await trial.target("a", capped);
    trial.start({ TARGET_LEASE: "3m" });
    await trial.pass(2);
    await trial.pass(400);
    expect(limits()).toEqual(CAPPED);
    trial.api.faults.freeze();
    // What was last heard may be up to a minute ago by now.
    await trial.pass(110);
    expect(limits()).toEqual(CAPPED);
    await trial.pass(100);
    expect(limits()).toEqual(ORIGINALS);
    trial.api.faults.thaw();
    await trial.pass(90);
    expect(limits()).toEqual(CAPPED);
  });

  it("TARGET_LEASE_ACTION=eco takes the last eco target, and the usual one where none was seen", async () => {
    await trial.target("a", { profile: "eco", cpu: { packagePowerCapWatts: 111 } });
    trial.start({ TARGET_LEASE: "1m", TARGET_LEASE_ACTION: "eco" });
    await trial.pass(2);
    await trial.target("a", { profile: "performance", cpu: { packagePowerCapWatts: 300 } });
    await trial.pass(2);
    expect(limits()).toEqual({ "package-0": 300, "package-1": 300 });
    trial.api.faults.freeze();
    await trial.pass(100);
    expect(limits()).toEqual({ "package-0": 111, "package-1": 111 });
    trial.api.faults.thaw();
  });

  it("TARGET_LEASE_ACTION=eco caps nothing on a node that was never seen to be managed", async () => {
    trial.api.faults.add({ fault: { kind: "refused" } });
    const agent = trial.start({ TARGET_LEASE: "1m", TARGET_LEASE_ACTION: "eco" });
    await trial.pass(100);
    expect(trial.machine.rapl.writes).toEqual([]);
    expect(limits()).toEqual(ORIGINALS);
    trial.api.faults.clear();
    await agent.stop();
  });

  it("an agent that stops meanwhile restores, and ends in time", async () => {
    await trial.target("a", capped);
    const agent = trial.start();
    await trial.pass(2);
    trial.api.faults.freeze();
    const from = trial.clock.monotonic();
    await agent.stop();
    // Kubernetes gives a pod 30 s.
    expect(trial.clock.monotonic() - from).toBeLessThan(30_000);
    expect(limits()).toEqual(ORIGINALS);
    trial.api.faults.thaw();
  });
});

describe("whose word counts", () => {
  it("X-68 a person's NodePowerProfile directly only while there is no NodeTwin", async () => {
    await trial.pin("a", { cpu: { packagePowerCapWatts: 150 } });
    trial.start();
    await trial.pass(2);
    expect(limits()).toEqual({ "package-0": 150, "package-1": 150 });
    await trial.target("a", { cpu: { packagePowerCapWatts: 250 } });
    await trial.pass(1);
    expect(limits()).toEqual({ "package-0": 250, "package-1": 250 });
    await trial.untarget("a");
    await trial.pass(1);
    expect(limits()).toEqual({ "package-0": 150, "package-1": 150 });
  });

  it("X-68 a mirror of the operator's is no person's word", async () => {
    await trial.hand.create(resources.nodePowerProfiles, {
      metadata: { name: "a", labels: { [labels.managedBy]: "operator" } },
      spec: { nodeName: "a", profile: "eco", cpu: { packagePowerCapWatts: 150 } },
    });
    trial.start();
    await trial.pass(2);
    expect(limits()).toEqual(ORIGINALS);
  });
});
