import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { PowerSwitchError } from "../../platform/switch/index.ts";
import type { FakeMachine } from "./testing/fake-machine.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

const daemonSet = {
  ownerReferences: [{ apiVersion: "apps/v1", kind: "DaemonSet", name: "d", uid: "1", controller: true }],
};

describe("joulie power", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const asleep = async (name = "a") => {
    const machine = await harness.createNode(name);
    const program = harness.start();
    await harness.want(name, "off");
    await harness.untilPower(name, "off");
    return { machine, program };
  };

  it("SLP-10 taints, counts the pods and shuts down, and wakes to Ready, reported and untainted", async () => {
    const { machine } = await asleep();
    expect(machine.power).toBe("off");
    expect(machine.calls.filter((call) => call !== "state")).toEqual(["shutdown"]);
    expect(await harness.isTainted("a")).toBe(true);
    expect((await harness.endpoint("a")).status).toMatchObject({
      powerState: "off",
      lastSleep: { result: "succeeded" },
      cyclesToday: 1,
    });
    await harness.want("a", "on");
    await harness.untilPower("a", "waking");
    await harness.advance(60);
    expect(await harness.isTainted("a")).toBe(true);
    await harness.untilPower("a", "on");
    expect(await harness.isTainted("a")).toBe(false);
    const { status } = await harness.endpoint("a");
    expect(status).toMatchObject({ powerState: "on", wakeProven: true, lastWake: { result: "succeeded" } });
    expect(status?.lastWake?.seconds).toBeGreaterThanOrEqual(120);
    expect(status?.operation).toBeUndefined();
  });

  it("SLP-10 switches nothing off before the watch has shown the taint", async () => {
    const machine = await harness.createNode("a");
    harness.hidesNodeChanges = true;
    harness.start();
    await harness.want("a", "off");
    await harness.until(async () => harness.isTainted("a"));
    await harness.advance(60);
    expect(machine.offCalls).toBe(0);
    expect(harness.counts.has("a")).toBe(false);
    harness.hidesNodeChanges = false;
    await harness.untilPower("a", "off");
  });

  it("SLP-11 keeps a node on while any pod other than a DaemonSet's or a mirror is on it", async () => {
    const machine = await harness.createNode("a");
    await harness.createPod("daemon", "a", daemonSet);
    await harness.createPod("mirror", "a", { annotations: { "kubernetes.io/config.mirror": "x" }, ...daemonSet });
    await harness.createPod("job", "a");
    harness.start();
    await harness.want("a", "off");
    await harness.advance(120);
    expect(machine.offCalls).toBe(0);
    expect(await harness.isTainted("a")).toBe(false);
    expect(await harness.power("a")).toBe("on");
    expect((await harness.events()).map(({ reason }) => reason)).toContain("SleepGivenUp");
    await harness.user.delete(resources.pods, { name: "job", namespace: "default" });
    await harness.untilPower("a", "off");
    expect(machine.power).toBe("off");
  });

  it("SLP-11 counts a pod that is bound between the taint and the count", async () => {
    const machine = await harness.createNode("a");
    harness.start();
    await harness.want("a", "off");
    await harness.until(async () => harness.isTainted("a"));
    await harness.createPod("late", "a");
    await harness.advance(60);
    expect(machine.offCalls).toBe(0);
    expect(await harness.isTainted("a")).toBe(false);
  });

  /** Lets something happen after the last count of the step `count` and before the shutdown. */
  const beforeShutdown = (machine: FakeMachine, happen: () => Promise<void>) => {
    const read = machine.state.bind(machine);
    let isDone = false;
    machine.state = async () => {
      if (!isDone && (await harness.step(machine.name)) === "shutdown") {
        isDone = true;
        await happen();
      }
      return read();
    };
  };

  it.each<[string, () => Promise<void>]>([
    ["a pod is bound", async () => harness.createPod("late", "a")],
    ["the operator changes its mind", async () => harness.want("a", "on")],
    ["a user keeps the node awake", async () => harness.annotate("a", { "joulie.io/keep-awake": "true" })],
    ["the taint is removed", async () => harness.removeTaint("a")],
    ["the Node is deleted", async () => harness.user.delete(resources.nodes, { name: "a" })],
  ])("SLP-11 asks the API server once more, and sends no shutdown if %s at the last moment", async (_, happen) => {
    const machine = await harness.createNode("a");
    let hasHappened = false;
    beforeShutdown(machine, async () => {
      await happen();
      hasHappened = true;
    });
    harness.start();
    await harness.want("a", "off");
    await harness.until(() => hasHappened);
    await harness.settle();
    expect(machine.calls).not.toContain("shutdown");
  });

  it("SLP-11 cuts no power from a machine on which a pod has started since the shutdown", async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    harness.start();
    await harness.want("a", "off");
    await harness.until(() => machine.calls.includes("shutdown"));
    await harness.createPod("tolerates-everything", "a");
    await harness.until(async () => (await harness.power("a")) === "waking");
    await machine.heartbeat();
    await harness.untilPower("a", "on");
    expect(machine.calls).not.toContain("forceOff");
    expect((await harness.events()).map(({ reason }) => reason)).toContain("SleepGivenUp");
    // Otherwise it would be tried again and again, and keep pods away each time.
    expect((await harness.endpoint("a")).status).toMatchObject({ cyclesToday: 1, lastSleep: { result: "failed" } });
  });

  it("SLP-13 counts a try whose switch refuses to cut the power as a cycle of the day", async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    machine.forceOff = async () => Promise.reject(new PowerSwitchError("refused", "none of the reset types ForceOff"));
    harness.start({ SHUTDOWN_TIMEOUT: "1m" });
    await harness.want("a", "off");
    await harness.untilPower("a", "waking");
    expect((await harness.endpoint("a")).status).toMatchObject({ cyclesToday: 1, lastSleep: { result: "failed" } });
    await harness.want("a", "on");
    await harness.until(async () => {
      await machine.heartbeat();
      return (await harness.power("a")) === "on";
    });
  });

  it.each<[string, (harness: PowerTestHarness) => Promise<void>]>([
    [
      "the label joulie.io/may-sleep",
      async (h) => void (await h.createNode("a", { own: { "joulie.io/may-sleep": "false" } })),
    ],
    ["a proven wake", async (h) => void (await h.createNode("a", { proven: false }))],
    [
      "a role other than control plane",
      async (h) => void (await h.createNode("a", { own: { "node-role.kubernetes.io/control-plane": "" } })),
    ],
  ])("SLP-12 never switches a node off without %s", async (_, create) => {
    await create(harness);
    harness.start();
    await harness.want("a", "off");
    await harness.advance(120);
    expect(harness.machine("a").offCalls).toBe(0);
    expect(await harness.isTainted("a")).toBe(false);
  });

  it("SLP-12 leaves a node alone that is not Ready", async () => {
    const machine = await harness.createNode("a");
    const conditions = [{ type: "Ready", status: "False" }];
    await harness.user.mergePatch(
      resources.nodes,
      { name: "a" },
      { status: { conditions } },
      { subresource: "status" },
    );
    harness.start();
    await harness.want("a", "off");
    await harness.advance(120);
    expect(machine.offCalls).toBe(0);
    expect(await harness.isTainted("a")).toBe(false);
  });

  it("SLP-13 cuts the power of a machine that ignores the shutdown, after a bound", async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    harness.start({ SHUTDOWN_TIMEOUT: "2m" });
    await harness.want("a", "off");
    await harness.until(() => machine.calls.includes("shutdown"));
    await harness.advance(100);
    expect(machine.calls).not.toContain("forceOff");
    await harness.untilPower("a", "off");
    expect(machine.calls.filter((call) => call === "forceOff")).toHaveLength(1);
  });

  it("SLP-13 uses a machine again that cannot be switched off", async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    machine.ignoresForce = true;
    harness.start({ SHUTDOWN_TIMEOUT: "1m" });
    await harness.want("a", "off");
    await harness.untilPower("a", "stopping");
    await harness.until(() => machine.calls.includes("forceOff"));
    const alive = setLoop(async () => machine.heartbeat());
    await harness.until(async () => {
      await alive();
      return (await harness.power("a")) === "on";
    });
    expect(await harness.isTainted("a")).toBe(false);
    expect((await harness.events()).map(({ reason }) => reason)).toContain("SleepGivenUp");
    const { status } = await harness.endpoint("a");
    // Otherwise it would be tried again and again, and keep pods away each time.
    expect(status).toMatchObject({ cyclesToday: 1, lastSleep: { result: "failed" } });
    // It has not booted.
    expect([status?.lastWake?.result, status?.lastWake?.seconds]).toEqual(["succeeded", undefined]);
  });

  it("SLP-14 tries a failed wake once more with a power cycle, then excludes the node until a wake is proven", async () => {
    const { machine } = await asleep();
    machine.neverBoots = true;
    await harness.want("a", "on");
    await harness.untilPower("a", "failed");
    expect(machine.calls.filter((call) => call === "on").length).toBeGreaterThanOrEqual(2);
    expect(machine.calls.filter((call) => call === "forceOff")).toHaveLength(1);
    const { status } = await harness.endpoint("a");
    expect(status).toMatchObject({ wakeProven: false, lastWake: { result: "failed" } });
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "WakeProven", status: "False", reason: "WakeFailed" }),
    );
    expect((await harness.events()).filter(({ reason }) => reason === "WakeFailed").map(({ type }) => type)).toEqual([
      "Warning",
      "Warning",
    ]);
    expect(await harness.isTainted("a")).toBe(true);

    machine.neverBoots = false;
    machine.cut();
    machine.switchOn();
    await harness.untilPower("a", "on");
    expect(await harness.isTainted("a")).toBe(false);
    const offBefore = machine.offCalls;
    await harness.want("a", "off");
    await harness.advance(600);
    expect(machine.offCalls).toBe(offBefore);

    await harness.requestTest("a");
    await harness.until(
      async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/test-power"] === undefined,
    );
    expect((await harness.endpoint("a")).status?.wakeProven).toBe(true);
    await harness.untilPower("a", "off");
  });

  it("SLP-14 waits for the agent's report before it removes the taint", async () => {
    const { machine } = await asleep();
    machine.agentReports = false;
    await harness.want("a", "on");
    await harness.untilPower("a", "waking");
    await harness.advance(300);
    expect(await harness.power("a")).toBe("waking");
    expect(await harness.isTainted("a")).toBe(true);
    await machine.agentReport();
    await harness.untilPower("a", "on");
  });

  it("SLP-15 a dead switch delays only its own node and is called less and less often", async () => {
    const dead = await harness.createNode("dead");
    dead.failure = new PowerSwitchError("timeout", "no response within 20s");
    for (const name of ["b", "c"]) await harness.createNode(name);
    harness.start({}, { times: { concurrency: 1 } });
    for (const name of ["dead", "b", "c"]) await harness.want(name, "off");
    await harness.untilPower("b", "off");
    await harness.untilPower("c", "off");
    await harness.advance(3600);
    expect(await harness.isTainted("dead")).toBe(false);
    expect(dead.calls.length).toBeLessThan(30);
    const { status } = await harness.endpoint("dead");
    expect(status?.failures).toBeGreaterThan(5);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Reachable", status: "False", reason: "Timeout" }),
    );
  });

  it("SLP-15 a switch that dies during a wake makes the wake fail in time", async () => {
    const { machine } = await asleep();
    machine.failure = new PowerSwitchError("network", "no response (ECONNREFUSED)");
    await harness.want("a", "on");
    await harness.untilPower("a", "failed");
    expect(machine.power).toBe("off");
  });

  it("SLP-16 the stop switch wakes every node and lets none fall asleep", async () => {
    const { machine } = await asleep();
    const other = await harness.createNode("b");
    await harness.stopAll("true");
    await harness.want("b", "off");
    await harness.untilPower("a", "on");
    expect(machine.power).toBe("on");
    await harness.advance(900);
    expect(other.offCalls).toBe(0);
    expect(await harness.power("a")).toBe("on");
    await harness.stopAll(null);
    await harness.untilPower("b", "off");
  });

  it("SLP-16 a node with joulie.io/keep-awake wakes and stays awake", async () => {
    const { machine } = await asleep();
    await harness.annotate("a", { "joulie.io/keep-awake": "true" });
    await harness.untilPower("a", "on");
    const before = machine.offCalls;
    await harness.advance(1200);
    expect(machine.offCalls).toBe(before);
    await harness.annotate("a", { "joulie.io/keep-awake": null });
    await harness.untilPower("a", "off");
  });

  it("SLP-17 uses a node that another hand switched on", async () => {
    const { machine, program } = await asleep();
    await harness.advance(120);
    machine.switchOn();
    await harness.untilPower("a", "on");
    expect(await harness.isTainted("a")).toBe(false);
    expect(machine.calls).not.toContain("on");
    const { status } = await harness.endpoint("a");
    expect([status?.lastWake?.result, status?.lastWake?.seconds]).toEqual(["succeeded", undefined]);
    expect(await program.page("/metrics")).toContain("joulie_power_wake_duration_seconds_count 0");
  });

  it("SLP-17 does not switch on a machine that another hand switched off", async () => {
    const machine = await harness.createNode("a");
    harness.start();
    machine.cut();
    await harness.advance(900);
    expect(machine.power).toBe("off");
    expect((await harness.endpoint("a")).status?.powerState).toBe("off");
  });

  it("SLP-18 wakes a node whose label, twin or Node is removed while it sleeps", async () => {
    for (const name of ["a", "b", "c"]) await harness.createNode(name);
    harness.start();
    for (const name of ["a", "b", "c"]) await harness.want(name, "off");
    for (const name of ["a", "b", "c"]) await harness.untilPower(name, "off");
    await harness.user.mergePatch(
      resources.nodes,
      { name: "a" },
      { metadata: { labels: { "joulie.io/may-sleep": null } } },
    );
    await harness.user.delete(resources.nodeTwins, { name: "b" });
    await harness.user.delete(resources.nodes, { name: "c" });
    await harness.until(() => ["a", "b", "c"].every((name) => harness.machine(name).power === "on"));
    await harness.until(async () => !(await harness.isTainted("a")) && !(await harness.isTainted("b")));
    await harness.until(async () => (await harness.endpoint("c")).status?.operation === undefined);
    expect((await harness.endpoint("c")).status?.powerState).toBe("on");
  });

  it("SLP-18 reports a sleeping node without a PowerEndpoint, and uses it again once it is Ready", async () => {
    const { machine } = await asleep();
    await harness.user.delete(resources.powerEndpoints, { name: "a" });
    await harness.advance(400);
    expect((await harness.events()).map(({ reason }) => reason)).toContain("PowerEndpointMissing");
    expect(await harness.isTainted("a")).toBe(true);
    machine.switchOn();
    await harness.until(async () => !(await harness.isTainted("a")));
    expect(await harness.power("a")).toBe("on");
  });

  it("SLP-19 sets the taint again if another writer removes it, and counts again before it shuts down", async () => {
    const machine = await harness.createNode("a");
    harness.start({}, { times: { settle: milliseconds(60_000) } });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    await harness.removeTaint("a");
    await harness.createPod("late", "a");
    await harness.until(async () => harness.isTainted("a"));
    await harness.advance(90);
    expect(machine.offCalls).toBe(0);
    await harness.user.delete(resources.pods, { name: "late", namespace: "default" });
    await harness.untilPower("a", "off");
    await harness.removeTaint("a");
    await harness.until(async () => harness.isTainted("a"));
  });

  it("SLP-20 does not switch anything off while the API server is away, and goes on afterwards", async () => {
    const machine = await harness.createNode("a");
    harness.start({}, { times: { settle: milliseconds(60_000) } });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 503 },
      when: ({ path }) => path.includes("/pods"),
    });
    await harness.advance(300);
    expect(machine.offCalls).toBe(0);
    heal();
    await harness.untilPower("a", "off");
  });

  it("SLP-21 proves a wake by a test and records how long it took", async () => {
    const machine = await harness.createNode("a", { proven: false });
    machine.bootTakes = milliseconds(240_000);
    harness.start();
    await harness.requestTest("a");
    await harness.until(() => machine.calls.includes("on"));
    await harness.until(
      async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/test-power"] === undefined,
    );
    const { status } = await harness.endpoint("a");
    expect(status).toMatchObject({ wakeProven: true, lastWake: { result: "succeeded" } });
    expect(status?.lastWake?.seconds).toBeGreaterThan(235);
    expect(status?.lastWake?.seconds).toBeLessThan(300);
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Tested", status: "True" }));
    await harness.advance(600);
    expect(machine.offCalls).toBe(1);
  });

  it("SLP-21 refuses to test a node with pods, and a control-plane node", async () => {
    const busy = await harness.createNode("a");
    await harness.createPod("job", "a");
    const plane = await harness.createNode("p", { own: { "node-role.kubernetes.io/control-plane": "" } });
    harness.start();
    for (const name of ["a", "p"]) await harness.requestTest(name);
    for (const name of ["a", "p"]) {
      await harness.until(
        async () => (await harness.endpoint(name)).metadata.annotations?.["joulie.io/test-power"] === undefined,
      );
      expect((await harness.endpoint(name)).status?.conditions).toContainEqual(
        expect.objectContaining({ type: "Tested", status: "False", reason: "TestRefused" }),
      );
    }
    expect(busy.offCalls + plane.offCalls).toBe(0);
  });

  it("stays awake for five minutes after a wake", async () => {
    const { machine } = await asleep();
    await harness.want("a", "on");
    await harness.untilPower("a", "on");
    const before = machine.offCalls;
    await harness.want("a", "off");
    await harness.advance(240);
    expect(machine.offCalls).toBe(before);
    await harness.untilPower("a", "off");
  });

  it("notices that the time of the last wake was corrected", async () => {
    const { machine } = await asleep();
    await harness.want("a", "on");
    await harness.untilPower("a", "on");
    const before = machine.offCalls;
    await harness.want("a", "off");
    await harness.advance(5);
    expect(machine.offCalls).toBe(before);
    const at = "2020-01-01T00:00:00Z";
    await harness.endpointStatus("a", { lastWake: { at }, lastSleep: { at } });
    await harness.advance(30);
    expect(machine.offCalls).toBe(before + 1);
  });

  it("serves metrics of states, sleeps and wakes", async () => {
    const { program } = await asleep();
    const text = await program.page("/metrics");
    expect(text).toContain('joulie_power_node_state{node="a",state="off"} 1');
    expect(text).toContain('joulie_power_sleeps_total{result="succeeded"} 1');
    expect(text).toContain("joulie_power_leading 1");
  });
});

/** Calls at most once per turn. */
const setLoop = (act: () => Promise<void>) => {
  let turns = 0;
  return async () => {
    if (turns++ % 20 === 0) await act();
  };
};
