import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { type Agent, Trial } from "../testing/agent-test-harness.ts";

let trial: Trial;
beforeEach(async () => {
  trial = new Trial();
  await trial.createNode("a");
  await trial.target("a", { cpu: { packagePowerCapWatts: 200 } });
});
afterEach(async () => {
  await trial.end();
});

/** An agent that has left the field to a rival of its throttle. */
const foughtOver = async (variables: Readonly<Record<string, string>> = {}): Promise<Agent> => {
  trial.machine.rapl.absent = "no RAPL";
  await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
  const agent = trial.start(variables);
  await trial.pass(2);
  for (let round = 0; round < 7; round++) {
    trial.machine.throttle.throttlePct = 10;
    await trial.pass(20);
  }
  expect((await trial.told())?.cpu?.result).toBe("blocked");
  return agent;
};

describe("a cap is a promise", () => {
  it("is not called tested before load pushes against it, and proven once it held", async () => {
    const agent = trial.start();
    await trial.pass(65);
    expect((await trial.told())?.cpu?.message).toBe("200 W per package; not yet tested by load");
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 1']);
    // A hair above and back: load was there, and the cap held.
    trial.machine.draw(408);
    await trial.pass(200);
    expect((await trial.told())?.cpu).toMatchObject({ result: "applied", message: "200 W per package" });
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 0']);
  });

  it("a limit that reads back and does not bite is an error, with an event, until the next one", async () => {
    const agent = trial.start();
    await trial.pass(5);
    trial.machine.draws.set("package-1", 300);
    await trial.pass(100);
    const told = (await trial.told())?.cpu;
    expect(told).toMatchObject({ backend: "rapl", result: "error" });
    expect(told?.message).toContain("not effective: package-1 stays above the cap although it reads back");
    expect((await trial.events()).map(({ reason, type }) => `${type} ${reason}`)).toEqual(["Warning CapNotEffective"]);
    expect(await agent.series("joulie_cap_unproven")).toEqual(['joulie_cap_unproven{node="a",device="cpu"} 1']);
    // Load that goes away mends nothing.
    trial.machine.draws.set("package-1", 10);
    await trial.pass(60);
    expect((await trial.told())?.cpu?.result).toBe("error");
    await trial.target("a", { cpu: { packagePowerCapWatts: 190 } });
    await trial.pass(2);
    expect((await trial.told())?.cpu?.result).toBe("applied");
  });

  it("a package of several dies is judged by all of them together", async () => {
    trial.machine.draws.clear();
    for (const zone of ["package-0-die-0", "package-0-die-1", "package-1-die-0", "package-1-die-1"])
      trial.machine.draws.set(zone, 90);
    trial.start();
    await trial.pass(65);
    expect((await trial.told())?.cpu).toMatchObject({ result: "applied", observedPowerWatts: 360 });
    trial.machine.draws.set("package-1-die-1", 150);
    await trial.pass(100);
    expect((await trial.told())?.cpu?.result).toBe("error");
    expect((await trial.told())?.cpu?.message).toContain("not effective: package-1 stays above the cap");
  });

  it("no false alarm while the board itself still averages, nor from noise around the cap", async () => {
    trial.machine.rapl.change("package-0", { averagesOver: milliseconds(28_000) });
    trial.machine.rapl.change("package-1", { averagesOver: milliseconds(28_000) });
    trial.machine.draw(700);
    trial.start({ RECONCILE_INTERVAL: "2s" });
    await trial.pass(28);
    for (let round = 0; round < 40; round++) {
      trial.machine.draw(round % 2 === 0 ? 412 : 388);
      await trial.pass(2);
    }
    expect((await trial.told())?.cpu?.result).toBe("applied");
    expect(await trial.events()).toEqual([]);
  });

  it("a rival that undoes it is named and overruled, and in the end left the field", async () => {
    trial.machine.throttle.absent = "no cpufreq";
    trial.start();
    await trial.pass(2);
    for (let round = 1; round <= 5; round++) {
      trial.machine.rapl.limits.set("package-0", 350);
      await trial.pass(20);
      const told = (await trial.told())?.cpu;
      expect(told).toMatchObject({ result: "error" });
      expect(told?.message).toContain(
        `another program had set package-0 to 350 W; set again, ${round} of 5 times an hour`,
      );
      expect(trial.machine.rapl.limits.get("package-0")).toBe(200);
      await trial.pass(20);
      expect((await trial.told())?.cpu?.result).toBe("applied");
    }
    const writes = trial.machine.rapl.writes.length;
    trial.machine.rapl.limits.set("package-0", 350);
    await trial.pass(60);
    expect(trial.machine.rapl.writes.length).toBe(writes);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("blocked");
    expect(told?.message).toContain(
      "another program keeps raising the limit of package-0; it is not set again for now",
    );
    expect(told?.message?.split("another program")).toHaveLength(2);
    trial.machine.rapl.limits.set("package-0", 333);
    await trial.pass(20);
    expect((await trial.told())?.cpu?.message).toBe(told?.message);
    expect((await trial.events()).map(({ reason }) => reason)).toContain("CapContested");
    // An hour later it may have gone.
    await trial.pass(3600);
    expect(trial.machine.rapl.limits.get("package-0")).toBe(200);
  });

  it("a rival of one package is left the field though another package cannot be capped", async () => {
    const { rapl, throttle } = trial.machine;
    throttle.absent = "no cpufreq";
    rapl.change("package-1", { locked: "locked by firmware" });
    trial.start();
    await trial.pass(2);
    for (let round = 0; round < 10; round++) {
      rapl.limits.set("package-0", 350);
      await trial.pass(20);
    }
    expect(rapl.writes.filter((what) => what === "cap package-0 200")).toHaveLength(6);
    expect(rapl.limits.get("package-0")).toBe(350);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("blocked");
    expect(told?.message).toContain("another program keeps raising the limit of package-0");
    expect(told?.message).toContain("package-1: locked by firmware");
  });

  it("a rival of the throttle is named and overruled, and in the end left the field", async () => {
    const { throttle } = trial.machine;
    trial.machine.rapl.absent = "no RAPL";
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    trial.start();
    await trial.pass(2);
    expect(throttle.throttlePct).toBe(40);
    for (let round = 1; round <= 5; round++) {
      throttle.throttlePct = 0;
      await trial.pass(20);
      const told = (await trial.told())?.cpu;
      expect(told).toMatchObject({ backend: "dvfs", result: "error" });
      expect(told?.message).toContain(
        `another program had set the throttle to 0 %; set again, ${round} of 5 times an hour`,
      );
      expect(throttle.throttlePct).toBe(40);
      await trial.pass(20);
      expect((await trial.told())?.cpu?.result).toBe("applied");
    }
    const writes = throttle.writes.length;
    throttle.throttlePct = 0;
    await trial.pass(60);
    expect(throttle.writes.length).toBe(writes);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("blocked");
    expect(told?.message).toContain("another program keeps lifting the throttle; it is not set again for now");
    throttle.throttlePct = 7;
    await trial.pass(20);
    expect((await trial.told())?.cpu?.message).toBe(told?.message);
    expect((await trial.events()).map(({ reason }) => reason)).toContain("CapContested");
    // An hour later it may have gone.
    await trial.pass(3600);
    expect(throttle.throttlePct).toBe(40);
  });

  it("once the field is left a throttle goes down with the load, and sets nothing again with it", async () => {
    const { throttle } = trial.machine;
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(800);
    trial.start();
    await trial.pass(600);
    expect(throttle.throttlePct).toBeGreaterThan(30);
    for (let round = 0; round < 7; round++) {
      throttle.throttlePct = 5;
      await trial.pass(20);
    }
    expect((await trial.told())?.cpu?.result).toBe("blocked");
    const writes = throttle.writes.length;
    trial.machine.draw(100);
    await trial.pass(120);
    const since = throttle.writes.slice(writes);
    expect(since.length).toBeGreaterThan(0);
    expect(since.filter((write) => !write.startsWith("ease "))).toEqual([]);
    expect(throttle.throttlePct).toBe(5);
    expect((await trial.told())?.cpu?.result).toBe("blocked");
  });

  it("a rival is named where there is no reading to throttle by, too", async () => {
    const { throttle } = trial.machine;
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(800);
    trial.start();
    await trial.pass(100);
    trial.machine.draws.clear();
    await trial.pass(20);
    expect((await trial.told())?.cpu?.result).toBe("blocked");
    throttle.throttlePct = 0;
    await trial.pass(20);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("error");
    expect(told?.message).toContain("no power reading: the throttle is unchanged");
    expect(told?.message).toContain("another program had set the throttle to 0 %; set again, 1 of 5 times an hour");
  });

  it("a new target is tried at once, whoever fought over the one before", async () => {
    const { throttle } = trial.machine;
    await foughtOver();
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 50 } });
    await trial.pass(20);
    expect(throttle.throttlePct).toBe(50);
    expect((await trial.told())?.cpu?.result).toBe("applied");
    const writes = throttle.writes.length;
    throttle.throttlePct = 10;
    await trial.pass(60);
    expect(throttle.writes.length).toBe(writes);
    expect((await trial.told())?.cpu?.result).toBe("blocked");
  });

  it("with rivals of the limit and of the throttle that stands in for it nothing is applied", async () => {
    const { rapl, throttle } = trial.machine;
    trial.machine.draw(800);
    trial.start();
    await trial.pass(2);
    for (let round = 0; round < 7; round++) {
      rapl.limits.set("package-0", watts(400));
      await trial.pass(20);
    }
    await trial.pass(300);
    expect(throttle.throttlePct).toBeGreaterThan(20);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    throttle.throttlePct = 0;
    await trial.pass(20);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("error");
    expect(told?.message).toContain("another program keeps raising the limit of package-0");
    expect(told?.message).toContain("another program had set the throttle to 0 %; set again, 1 of 5 times an hour");
  });

  it("X-40 a throttle that somebody fights over is still let go of", async () => {
    const { throttle } = trial.machine;
    await foughtOver();
    await trial.target("a", {});
    await trial.pass(2);
    expect(throttle.throttlePct).toBe(0);
    expect((await trial.told())?.cpu?.result).toBe("none");
  });

  it("X-41 X-59 … and is restored by the agent that stops, and by the next one where it was kept", async () => {
    const { throttle } = trial.machine;
    await (await foughtOver()).stop();
    expect(throttle.throttlePct).toBe(0);
    expect(trial.disk.boards).toEqual([]);
    await (await foughtOver({ RESTORE_ON_EXIT: "false" })).stop();
    expect(throttle.throttlePct).toBe(10);
    await trial.untarget("a");
    trial.start();
    await trial.pass(2);
    expect(throttle.throttlePct).toBe(0);
  });

  it("what fails again and again rests, and a new target is tried at once", async () => {
    trial.machine.throttle.absent = "no cpufreq";
    trial.machine.rapl.refusal = { result: "error", message: "EIO" };
    trial.start();
    await trial.pass(115);
    expect(trial.machine.rapl.writes.filter((what) => what === "cap package-0 200").length).toBeLessThan(5);
    trial.machine.rapl.refusal = undefined;
    await trial.target("a", { cpu: { packagePowerCapWatts: 180 } });
    await trial.pass(2);
    expect(Object.fromEntries(trial.machine.rapl.limits)).toEqual({ "package-0": 180, "package-1": 180 });
    expect((await trial.told())?.cpu?.result).toBe("applied");
  });

  it("X-87 a new percentage is tried at once, too", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.throttle.refusal = { result: "error", message: "EIO" };
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    trial.start();
    await trial.pass(115);
    trial.machine.throttle.refusal = undefined;
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 70 } });
    await trial.pass(2);
    expect(trial.machine.throttle.throttlePct).toBe(30);
  });

  it("somebody who sets it lower is not fought: what was promised holds", async () => {
    trial.start();
    await trial.pass(2);
    const writes = trial.machine.rapl.writes.length;
    trial.machine.rapl.limits.set("package-1", 90);
    await trial.pass(60);
    expect(trial.machine.rapl.writes.length).toBe(writes);
    expect((await trial.told())?.cpu?.result).toBe("applied");
    const told = (await trial.told())?.cpu?.message;
    expect(told).toContain("another program holds package-1 lower");
    trial.machine.rapl.limits.set("package-1", 85);
    await trial.pass(20);
    expect((await trial.told())?.cpu?.message).toBe(told);
  });

  it("what somebody set lower meanwhile is not raised: neither by a new target, nor by its end, nor by the agent's", async () => {
    const { rapl } = trial.machine;
    const agent = trial.start();
    await trial.pass(2);
    rapl.limits.set("package-1", 90);
    await trial.target("a", { cpu: { packagePowerCapWatts: 300 } });
    await trial.pass(2);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 300, "package-1": 90 });
    expect((await trial.told())?.cpu).toMatchObject({ result: "applied" });
    expect((await trial.told())?.cpu?.message).toContain("another program holds package-1 lower");
    // As it was before they came: then it is ours again, and moves.
    rapl.limits.set("package-1", 200);
    await trial.pass(20);
    expect(rapl.limits.get("package-1")).toBe(300);
    rapl.limits.set("package-1", 90);
    await trial.target("a", {});
    await trial.pass(5);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 350, "package-1": 90 });
    expect(trial.disk.boards).toEqual([]);
    await trial.target("a", { cpu: { packagePowerCapWatts: 80 } });
    await trial.pass(2);
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 80, "package-1": 80 });
    rapl.limits.set("package-0", 60);
    await agent.stop();
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 60, "package-1": 90 });
  });

  it("X-91 a lower limit that a failed write of ours may have left is restored", async () => {
    const { rapl } = trial.machine;
    trial.machine.throttle.absent = "no cpufreq";
    const agent = trial.start();
    await trial.pass(2);
    rapl.refusal = { result: "error", message: "EIO" };
    rapl.beforeWrite = () => rapl.limits.set("package-0", 150);
    await trial.target("a", { cpu: { packagePowerCapWatts: 150 } });
    await trial.pass(2);
    expect(rapl.limits.get("package-0")).toBe(150);
    rapl.refusal = undefined;
    rapl.beforeWrite = () => undefined;
    await agent.stop();
    expect(Object.fromEntries(rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
  });

  it("one that cannot be read back any more is an error, of packages and of GPUs", async () => {
    trial.machine.throttle.absent = "no cpufreq";
    trial.machine.gpu.absent = undefined;
    trial.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await trial.target("a", { cpu: { packagePowerCapWatts: 200 }, gpu: { powerCap: { capWattsPerGpu: 400 } } });
    trial.start();
    await trial.pass(2);
    expect(await trial.told()).toMatchObject({ cpu: { result: "applied" }, gpu: { result: "applied" } });
    trial.machine.rapl.unreadable = "EIO";
    trial.machine.gpu.unreadable = "the driver hangs";
    await trial.pass(20);
    expect(await trial.told()).toMatchObject({ cpu: { result: "error" }, gpu: { result: "error" } });
    expect((await trial.told())?.cpu?.message).toContain("the cap cannot be read back: EIO");
    expect((await trial.told())?.gpu?.message).toContain("the cap cannot be read back: the driver hangs");
  });

  it("a package that is lost while it is capped is an error, whatever the other one says", async () => {
    trial.machine.throttle.absent = "no cpufreq";
    trial.start();
    await trial.pass(2);
    trial.machine.rapl.change("package-1", { lost: "package-1 is gone: are all its CPUs offline?" });
    await trial.pass(20);
    expect((await trial.told())?.cpu?.result).toBe("error");
    expect((await trial.told())?.cpu?.message).toContain("package-1 is gone");
  });

  it("GPUs are judged one by one, and rivals are found there too", async () => {
    trial.machine.gpu.absent = undefined;
    for (const id of ["GPU-0", "GPU-1"]) {
      trial.machine.gpu.add(id, { min: watts(100), max: watts(700) });
      trial.machine.gpu.draws.set(id, 150);
    }
    await trial.target("a", { gpu: { powerCap: { capWattsPerGpu: 400 } } });
    trial.start();
    await trial.pass(2);
    expect((await trial.told())?.gpu?.message).toBe("400 W per GPU; not yet tested by load");
    trial.machine.gpu.limits.set("GPU-1", 700);
    await trial.pass(20);
    expect((await trial.told())?.gpu).toMatchObject({ result: "error" });
    expect(trial.machine.gpu.limits.get("GPU-1")).toBe(400);
    trial.machine.gpu.draws.set("GPU-0", 650);
    await trial.pass(120);
    expect((await trial.told())?.gpu).toMatchObject({ backend: "nvml", result: "error" });
    expect((await trial.told())?.gpu?.message).toContain("not effective: GPU GPU-0 stays above the cap");
    expect((await trial.told())?.gpu?.observedPowerWatts).toBe(800);
  });

  it("X-91 a GPU that is locked while it is capped is still lifted, and one that carries no cap is left alone", async () => {
    trial.machine.gpu.absent = undefined;
    trial.machine.gpu.add("GPU-0", { min: watts(100), max: watts(700) });
    await trial.target("a", { gpu: { powerCap: { capWattsPerGpu: 400 } } });
    trial.start();
    await trial.pass(2);
    expect(trial.machine.gpu.limits.get("GPU-0")).toBe(400);
    trial.machine.gpu.change("GPU-0", { locked: "a virtual function" });
    await trial.target("a", {});
    await trial.pass(2);
    expect(trial.machine.gpu.limits.get("GPU-0")).toBe(700);
    await trial.target("a", { gpu: { powerCap: { capWattsPerGpu: 300 } } });
    await trial.pass(2);
    expect((await trial.told())?.gpu).toMatchObject({ result: "blocked" });
    expect(trial.machine.gpu.writes).toEqual(["cap GPU-0 400", "restore GPU-0 700"]);
  });

  it("full throttle that does not help is no success", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.machine.draw(700);
    trial.start({ DVFS_STEP_PCT: "50" });
    await trial.pass(100);
    expect((await trial.told())?.cpu).toMatchObject({ backend: "dvfs", result: "applied" });
    await trial.pass(100);
    const told = (await trial.told())?.cpu;
    expect(told).toMatchObject({ backend: "dvfs", result: "error" });
    expect(told?.message).toContain("not effective: fully throttled, and still above 400 W");
  });
});

describe("a journal that cannot be written", () => {
  it("blocks: nothing is capped without a way back, and the message says what to do", async () => {
    trial.disk.refusal = new Error("EROFS: read-only file system");
    trial.start();
    await trial.pass(2);
    expect(trial.machine.writes).toEqual([]);
    const told = (await trial.told())?.cpu;
    expect(told?.result).toBe("blocked");
    expect(told?.message).toContain("EROFS: read-only file system; nothing is capped until STATE_DIR can be written");
    trial.disk.refusal = undefined;
    await trial.pass(20);
    expect(trial.machine.rapl.writes).toEqual(["cap package-0 200", "cap package-1 200"]);
  });

  it("the original is on the disk before the first write", async () => {
    const order: string[] = [];
    trial.disk.beforeWrite = (what) => order.push(what);
    trial.machine.rapl.beforeWrite = (what) => order.push(what);
    trial.start();
    await trial.pass(1);
    expect(order.indexOf("settle")).toBeLessThan(order.indexOf("cap package-0 200"));
    expect(order.filter((what) => what.startsWith("cap"))).toHaveLength(2);
  });
});

describe("simulate only", () => {
  it("X-42 reports none with what it would do, and touches nothing", async () => {
    trial.machine.gpu.absent = undefined;
    trial.machine.gpu.add("GPU-0", { max: watts(700) });
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 }, gpu: { powerCap: { capPctOfMax: 50 } } });
    const agent = trial.start({ SIMULATE_ONLY: "true" });
    await trial.pass(65);
    expect(trial.machine.writes).toEqual([]);
    expect(trial.disk.files.size).toBe(0);
    expect(await trial.told()).toMatchObject({
      cpu: {
        backend: "rapl",
        result: "none",
        message: "simulate only: would set 210 W per package; 210 W per package",
      },
      gpu: { backend: "nvml", result: "none", message: "simulate only: would set GPU GPU-0 to 350 W; 350 W per GPU" },
    });
    await agent.stop();
    expect(trial.machine.writes).toEqual([]);
  });

  it("X-42 without RAPL it would throttle", async () => {
    trial.machine.rapl.absent = "no RAPL";
    trial.start({ SIMULATE_ONLY: "true" });
    await trial.pass(21);
    expect(trial.machine.writes).toEqual([]);
    expect((await trial.told())?.cpu?.message).toContain("simulate only: would throttle towards 400 W");
  });
});
