import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../testing/agent-test-harness.ts";

let harness: AgentTestHarness;
beforeEach(async () => {
  harness = new AgentTestHarness();
  await harness.createNode("a");
  await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
});
afterEach(async () => {
  await harness.close();
});

/** An agent that has backed off from a conflicting writer of its throttle. */
const withContestedThrottle = async (variables: Readonly<Record<string, string>> = {}): Promise<AgentUnderTest> => {
  harness.machine.rapl.absent = "no RAPL";
  await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
  const agent = harness.start(variables);
  await harness.advance(2);
  for (let round = 0; round < 7; round++) {
    harness.machine.throttle.throttlePct = 10;
    await harness.advance(20);
  }
  expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
  return agent;
};

describe("cap verification", () => {
  it("reports a cap as untested until power reaches it, and as proven once it held", async () => {
    const agent = harness.start();
    await harness.advance(65);
    expect((await harness.controlStatus())?.cpu?.message).toBe("200 W per package; not yet tested by load");
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 1']);
    // Slightly above the cap: there is load, and the cap holds.
    harness.machine.draw(408);
    await harness.advance(200);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied", message: "200 W per package" });
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 0']);
  });

  it("reports a limit that reads back but has no effect as an error with an event, until the next target", async () => {
    const agent = harness.start();
    await harness.advance(5);
    harness.machine.draws.set("package-1", 300);
    await harness.advance(100);
    const status = (await harness.controlStatus())?.cpu;
    expect(status).toMatchObject({ backend: "rapl", result: "error" });
    expect(status?.message).toContain("not effective: package-1 stays above the cap although the cap reads back");
    expect((await harness.events()).map(({ reason, type }) => `${type} ${reason}`)).toEqual([
      "Warning CapNotEffective",
    ]);
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 1']);
    expect(await agent.series("joulie_cap_alarm")).toContain(
      'joulie_cap_alarm{node="a",device="cpu",reason="CapNotEffective"} 1',
    );
    // Less load does not clear the error.
    harness.machine.draws.set("package-1", 10);
    await harness.advance(60);
    expect((await harness.controlStatus())?.cpu?.result).toBe("error");
    await harness.target("a", { cpu: { packagePowerCapWatts: 190 } });
    await harness.advance(2);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    expect(await agent.series("joulie_cap_alarm")).toEqual([
      'joulie_cap_alarm{node="a",device="cpu",reason="CapContested"} 0',
      'joulie_cap_alarm{node="a",device="cpu",reason="CapNotEffective"} 0',
    ]);
  });

  it("judges a package with several dies by their sum", async () => {
    harness.machine.draws.clear();
    for (const zone of ["package-0-die-0", "package-0-die-1", "package-1-die-0", "package-1-die-1"])
      harness.machine.draws.set(zone, 90);
    harness.start();
    await harness.advance(65);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied", observedPowerWatts: 360 });
    harness.machine.draws.set("package-1-die-1", 150);
    await harness.advance(100);
    expect((await harness.controlStatus())?.cpu?.result).toBe("error");
    expect((await harness.controlStatus())?.cpu?.message).toContain("not effective: package-1 stays above the cap");
  });

  it("raises no false alarm during the board's averaging window or from noise around the cap", async () => {
    harness.machine.rapl.change("package-0", { averagingWindow: milliseconds(28_000) });
    harness.machine.rapl.change("package-1", { averagingWindow: milliseconds(28_000) });
    harness.machine.draw(700);
    harness.start({ RECONCILE_INTERVAL: "2s" });
    await harness.advance(28);
    for (let round = 0; round < 40; round++) {
      harness.machine.draw(round % 2 === 0 ? 412 : 388);
      await harness.advance(2);
    }
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    expect(await harness.events()).toEqual([]);
  });

  it("reports a conflicting writer, overrides it, then backs off", async () => {
    harness.machine.throttle.absent = "no cpufreq";
    const agent = harness.start();
    await harness.advance(2);
    for (let round = 1; round <= 5; round++) {
      harness.machine.rapl.limits.set("package-0", 350);
      await harness.advance(20);
      const status = (await harness.controlStatus())?.cpu;
      expect(status).toMatchObject({ result: "error" });
      expect(status?.message).toContain(
        `another program set package-0 to 350 W; set again, ${round} of 5 times per hour`,
      );
      expect(harness.machine.rapl.limits.get("package-0")).toBe(200);
      await harness.advance(20);
      expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    }
    const writes = harness.machine.rapl.writes.length;
    harness.machine.rapl.limits.set("package-0", 350);
    await harness.advance(60);
    expect(harness.machine.rapl.writes.length).toBe(writes);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("blocked");
    expect(status?.message).toContain(
      "another program keeps raising the limit of package-0; it is not set again for now",
    );
    expect(status?.message?.split("another program")).toHaveLength(2);
    harness.machine.rapl.limits.set("package-0", 333);
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.message).toBe(status?.message);
    expect((await harness.events()).map(({ reason }) => reason)).toContain("CapContested");
    expect(await agent.series("joulie_cap_alarm")).toContain(
      'joulie_cap_alarm{node="a",device="cpu",reason="CapContested"} 1',
    );
    // After an hour the agent tries again.
    await harness.advance(3600);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(200);
  });

  it("backs off from a conflicting writer of one package even if another package cannot be capped", async () => {
    const { rapl, throttle } = harness.machine;
    throttle.absent = "no cpufreq";
    rapl.change("package-1", { locked: "locked by firmware" });
    harness.start();
    await harness.advance(2);
    for (let round = 0; round < 10; round++) {
      rapl.limits.set("package-0", 350);
      await harness.advance(20);
    }
    expect(rapl.writes.filter((what) => what === "cap package-0 200")).toHaveLength(6);
    expect(rapl.limits.get("package-0")).toBe(350);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("blocked");
    expect(status?.message).toContain("another program keeps raising the limit of package-0");
    expect(status?.message).toContain("package-1: locked by firmware");
  });

  it("reports a conflicting writer of the throttle, overrides it, then backs off", async () => {
    const { throttle } = harness.machine;
    harness.machine.rapl.absent = "no RAPL";
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    harness.start();
    await harness.advance(2);
    expect(throttle.throttlePct).toBe(40);
    for (let round = 1; round <= 5; round++) {
      throttle.throttlePct = 0;
      await harness.advance(20);
      const status = (await harness.controlStatus())?.cpu;
      expect(status).toMatchObject({ backend: "dvfs", result: "error" });
      expect(status?.message).toContain(
        `another program set the throttle to 0 %; set again, ${round} of 5 times per hour`,
      );
      expect(throttle.throttlePct).toBe(40);
      await harness.advance(20);
      expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    }
    const writes = throttle.writes.length;
    throttle.throttlePct = 0;
    await harness.advance(60);
    expect(throttle.writes.length).toBe(writes);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("blocked");
    expect(status?.message).toContain("another program keeps lifting the throttle; it is not set again for now");
    throttle.throttlePct = 7;
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.message).toBe(status?.message);
    expect((await harness.events()).map(({ reason }) => reason)).toContain("CapContested");
    // After an hour the agent tries again.
    await harness.advance(3600);
    expect(throttle.throttlePct).toBe(40);
  });

  it("eases a contested throttle with the load without lowering any frequency again", async () => {
    const { throttle } = harness.machine;
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(800);
    harness.start();
    await harness.advance(600);
    expect(throttle.throttlePct).toBeGreaterThan(30);
    for (let round = 0; round < 7; round++) {
      throttle.throttlePct = 5;
      await harness.advance(20);
    }
    expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
    const writes = throttle.writes.length;
    harness.machine.draw(100);
    await harness.advance(120);
    const since = throttle.writes.slice(writes);
    expect(since.length).toBeGreaterThan(0);
    expect(since.filter((write) => !write.startsWith("ease "))).toEqual([]);
    expect(throttle.throttlePct).toBe(5);
    expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
  });

  it("reports a conflicting writer even without a power reading", async () => {
    const { throttle } = harness.machine;
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(800);
    harness.start();
    await harness.advance(100);
    harness.machine.draws.clear();
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
    throttle.throttlePct = 0;
    await harness.advance(20);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("error");
    expect(status?.message).toContain("no power reading: the throttle is unchanged");
    expect(status?.message).toContain("another program set the throttle to 0 %; set again, 1 of 5 times per hour");
  });

  it("tries a new target at once even if the previous one was contested", async () => {
    const { throttle } = harness.machine;
    await withContestedThrottle();
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 50 } });
    await harness.advance(20);
    expect(throttle.throttlePct).toBe(50);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    const writes = throttle.writes.length;
    throttle.throttlePct = 10;
    await harness.advance(60);
    expect(throttle.writes.length).toBe(writes);
    expect((await harness.controlStatus())?.cpu?.result).toBe("blocked");
  });

  it("reports nothing as applied if both the limit and the fallback throttle have conflicting writers", async () => {
    const { rapl, throttle } = harness.machine;
    harness.machine.draw(800);
    harness.start();
    await harness.advance(2);
    for (let round = 0; round < 7; round++) {
      rapl.limits.set("package-0", watts(400));
      await harness.advance(20);
    }
    await harness.advance(300);
    expect(throttle.throttlePct).toBeGreaterThan(20);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    throttle.throttlePct = 0;
    await harness.advance(20);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("error");
    expect(status?.message).toContain("another program keeps raising the limit of package-0");
    expect(status?.message).toContain("another program set the throttle to 0 %; set again, 1 of 5 times per hour");
  });

  it("X-40 releases a contested throttle when the cap is removed", async () => {
    const { throttle } = harness.machine;
    await withContestedThrottle();
    await harness.target("a", {});
    await harness.advance(2);
    expect(throttle.throttlePct).toBe(0);
    expect((await harness.controlStatus())?.cpu?.result).toBe("none");
  });

  it("X-41 X-59 restores a contested throttle at the end, or in the next run after RESTORE_ON_EXIT=false", async () => {
    const { throttle } = harness.machine;
    await (await withContestedThrottle()).stop();
    expect(throttle.throttlePct).toBe(0);
    expect(harness.disk.boards).toEqual([]);
    await (await withContestedThrottle({ RESTORE_ON_EXIT: "false" })).stop();
    expect(throttle.throttlePct).toBe(10);
    await harness.removeTarget("a");
    harness.start();
    await harness.advance(2);
    expect(throttle.throttlePct).toBe(0);
  });

  it("backs off from writes that keep failing, and tries a new target at once", async () => {
    harness.machine.throttle.absent = "no cpufreq";
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    harness.start();
    await harness.advance(115);
    expect(harness.machine.rapl.writes.filter((what) => what === "cap package-0 200").length).toBeLessThan(5);
    harness.machine.rapl.refusal = undefined;
    await harness.target("a", { cpu: { packagePowerCapWatts: 180 } });
    await harness.advance(2);
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 180, "package-1": 180 });
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
  });

  it("X-87 tries a new percentage at once too", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.throttle.refusal = { result: "error", message: "EIO" };
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    harness.start();
    await harness.advance(115);
    harness.machine.throttle.refusal = undefined;
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 70 } });
    await harness.advance(2);
    expect(harness.machine.throttle.throttlePct).toBe(30);
  });

  it("leaves a lower limit of another program alone", async () => {
    harness.start();
    await harness.advance(2);
    const writes = harness.machine.rapl.writes.length;
    harness.machine.rapl.limits.set("package-1", 90);
    await harness.advance(60);
    expect(harness.machine.rapl.writes.length).toBe(writes);
    expect((await harness.controlStatus())?.cpu?.result).toBe("applied");
    const status = (await harness.controlStatus())?.cpu?.message;
    expect(status).toContain("another program holds package-1 lower");
    harness.machine.rapl.limits.set("package-1", 85);
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.message).toBe(status);
  });

  it("does not raise another program's lower limit: not for a new target, not at its removal, not at shutdown", async () => {
    const { rapl } = harness.machine;
    const agent = harness.start();
    await harness.advance(2);
    rapl.limits.set("package-1", 90);
    await harness.target("a", { cpu: { packagePowerCapWatts: 300 } });
    await harness.advance(2);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 300, "package-1": 90 });
    expect((await harness.controlStatus())?.cpu).toMatchObject({ result: "applied" });
    expect((await harness.controlStatus())?.cpu?.message).toContain("another program holds package-1 lower");
    // The other program removes its limit: the agent controls the board again.
    rapl.limits.set("package-1", 200);
    await harness.advance(20);
    expect(rapl.limits.get("package-1")).toBe(300);
    rapl.limits.set("package-1", 90);
    await harness.target("a", {});
    await harness.advance(5);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 350, "package-1": 90 });
    expect(harness.disk.boards).toEqual([]);
    await harness.target("a", { cpu: { packagePowerCapWatts: 80 } });
    await harness.advance(2);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 80, "package-1": 80 });
    rapl.limits.set("package-0", 60);
    await agent.stop();
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 60, "package-1": 90 });
  });

  it("X-91 restores a lower limit that its own failed write may have left", async () => {
    const { rapl } = harness.machine;
    harness.machine.throttle.absent = "no cpufreq";
    const agent = harness.start();
    await harness.advance(2);
    rapl.refusal = { result: "error", message: "EIO" };
    rapl.beforeWrite = () => rapl.limits.set("package-0", 150);
    await harness.target("a", { cpu: { packagePowerCapWatts: 150 } });
    await harness.advance(2);
    expect(rapl.limits.get("package-0")).toBe(150);
    rapl.refusal = undefined;
    rapl.beforeWrite = () => undefined;
    await agent.stop();
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
  });

  it("reports a cap that cannot be read back as an error, for packages and GPUs", async () => {
    harness.machine.throttle.absent = "no cpufreq";
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 }, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    harness.start();
    await harness.advance(2);
    expect(await harness.controlStatus()).toMatchObject({ cpu: { result: "applied" }, gpu: { result: "applied" } });
    harness.machine.rapl.unreadable = "EIO";
    harness.machine.gpu.unreadable = "the driver hangs";
    await harness.advance(20);
    expect(await harness.controlStatus()).toMatchObject({ cpu: { result: "error" }, gpu: { result: "error" } });
    expect((await harness.controlStatus())?.cpu?.message).toContain("the cap cannot be read back: EIO");
    expect((await harness.controlStatus())?.gpu?.message).toContain("the cap cannot be read back: the driver hangs");
  });

  it("reports a package that is lost while capped as an error even if the other one is fine", async () => {
    harness.machine.throttle.absent = "no cpufreq";
    harness.start();
    await harness.advance(2);
    harness.machine.rapl.change("package-1", { lost: "package-1 is gone: are all its CPUs offline?" });
    await harness.advance(20);
    expect((await harness.controlStatus())?.cpu?.result).toBe("error");
    expect((await harness.controlStatus())?.cpu?.message).toContain("package-1 is gone");
  });

  it("judges GPUs one by one and detects conflicting writers there too", async () => {
    harness.machine.gpu.absent = undefined;
    for (const id of ["GPU-0", "GPU-1"]) {
      harness.machine.gpu.add(id, { min: watts(100), max: watts(700) });
      harness.machine.gpu.draws.set(id, 150);
    }
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 400 } } });
    harness.start();
    await harness.advance(2);
    expect((await harness.controlStatus())?.gpu?.message).toBe("400 W per GPU; not yet tested by load");
    harness.machine.gpu.limits.set("GPU-1", 700);
    await harness.advance(20);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ result: "error" });
    expect(harness.machine.gpu.limits.get("GPU-1")).toBe(400);
    harness.machine.gpu.draws.set("GPU-0", 650);
    await harness.advance(120);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ backend: "nvml", result: "error" });
    expect((await harness.controlStatus())?.gpu?.message).toContain("not effective: GPU GPU-0 stays above the cap");
    expect((await harness.controlStatus())?.gpu?.observedPowerWatts).toBe(800);
  });

  it("X-91 restores a GPU that is locked while capped, and leaves one without a cap alone", async () => {
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 400 } } });
    harness.start();
    await harness.advance(2);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(400);
    harness.machine.gpu.change("GPU-0", { locked: "a virtual function" });
    await harness.target("a", {});
    await harness.advance(2);
    expect(harness.machine.gpu.limits.get("GPU-0")).toBe(700);
    await harness.target("a", { gpu: { powerCap: { capWattsPerGpu: 300 } } });
    await harness.advance(2);
    expect((await harness.controlStatus())?.gpu).toMatchObject({ result: "blocked" });
    expect(harness.machine.gpu.writes).toEqual(["cap GPU-0 400", "restore GPU-0 700"]);
  });

  it("reports full throttle without effect as an error", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.machine.draw(700);
    harness.start({ DVFS_STEP_PCT: "50" });
    await harness.advance(100);
    expect((await harness.controlStatus())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    await harness.advance(100);
    const status = (await harness.controlStatus())?.cpu;
    expect(status).toMatchObject({ backend: "dvfs", result: "error" });
    expect(status?.message).toContain("not effective: fully throttled and still above 400 W");
  });
});

describe("an unwritable journal", () => {
  it("blocks every cap, and the message says what to do", async () => {
    harness.disk.refusal = new Error("EROFS: read-only file system");
    harness.start();
    await harness.advance(2);
    expect(harness.machine.writes).toEqual([]);
    const status = (await harness.controlStatus())?.cpu;
    expect(status?.result).toBe("blocked");
    expect(status?.message).toContain("EROFS: read-only file system; nothing is capped until STATE_DIR can be written");
    harness.disk.refusal = undefined;
    await harness.advance(20);
    expect(harness.machine.rapl.writes).toEqual(["cap package-0 200", "cap package-1 200"]);
  });

  it("is never ignored: the original is on the disk before the first hardware write", async () => {
    const order: string[] = [];
    harness.disk.beforeWrite = (what) => order.push(what);
    harness.machine.rapl.beforeWrite = (what) => order.push(what);
    harness.start();
    await harness.advance(1);
    expect(order.indexOf("settle")).toBeLessThan(order.indexOf("cap package-0 200"));
    expect(order.filter((what) => what.startsWith("cap"))).toHaveLength(2);
  });
});

describe("SIMULATE_ONLY", () => {
  it("X-42 reports none with what it would do, and changes nothing", async () => {
    harness.machine.gpu.absent = undefined;
    harness.machine.gpu.add("GPU-0", { max: watts(700) });
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 }, gpu: { powerCap: { capPctOfMax: 50 } } });
    const agent = harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(65);
    expect(harness.machine.writes).toEqual([]);
    expect(harness.disk.files.size).toBe(0);
    expect(await harness.controlStatus()).toMatchObject({
      cpu: {
        backend: "rapl",
        result: "none",
        message: "simulate only: would set 210 W per package; 210 W per package",
      },
      gpu: { backend: "nvml", result: "none", message: "simulate only: would set GPU GPU-0 to 350 W; 350 W per GPU" },
    });
    await agent.stop();
    expect(harness.machine.writes).toEqual([]);
  });

  it("X-42 reports that it would throttle without RAPL", async () => {
    harness.machine.rapl.absent = "no RAPL";
    harness.start({ SIMULATE_ONLY: "true" });
    await harness.advance(21);
    expect(harness.machine.writes).toEqual([]);
    expect((await harness.controlStatus())?.cpu?.message).toContain("simulate only: would throttle towards 400 W");
  });
});
