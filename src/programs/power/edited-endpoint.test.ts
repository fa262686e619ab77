import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { PowerSwitchError } from "../../platform/switch/index.ts";
import type { FakeMachine } from "./testing/fake-machine.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power and a PowerEndpoint of another machine", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const point = async (spec: object) => harness.user.mergePatch(resources.powerEndpoints, { name: "a" }, { spec });
  const edit = async () => point({ webhook: { url: "https://other.example/{node}" } });
  const untilTested = async () => {
    await harness.requestTest("a");
    await harness.until(
      async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/test-power"] === undefined,
    );
  };

  it("SLP-12 needs a new test after an edit of the PowerEndpoint", async () => {
    const machine = await harness.createNode("a", { proven: false });
    harness.start();
    await untilTested();
    expect((await harness.endpoint("a")).status?.wakeProven).toBe(true);
    await edit();
    await harness.want("a", "off");
    await harness.advance(900);
    expect(machine.offCalls).toBe(1);
    const { status } = await harness.endpoint("a");
    expect(status?.wakeProven).toBe(false);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "WakeProven", status: "False", reason: "SpecChanged" }),
    );
    await untilTested();
    await harness.untilPower("a", "off");
  });

  it("SLP-15 calls the switch of an edited PowerEndpoint at once, whatever the delay after earlier failures", async () => {
    const machine = await harness.createNode("a");
    harness.start({ WAKE_TIMEOUT: "1h" });
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    machine.failure = new PowerSwitchError("network", "connection refused");
    await harness.want("a", "on");
    await harness.advance(400);
    machine.failure = undefined;
    const before = machine.calls.length;
    await harness.advance(20);
    expect(machine.calls.slice(before)).toEqual([]);
    await edit();
    await harness.advance(5);
    expect(machine.calls.slice(before)).toContain("on");
  });

  it("SLP-18 wakes a node whose PowerEndpoint is edited while it sleeps", async () => {
    const machine = await harness.createNode("a", { proven: false });
    harness.start();
    await untilTested();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    await edit();
    await harness.untilPower("a", "on");
    expect(machine.power).toBe("on");
  });

  it("SLP-11 takes no power by a switch that was edited at the last moment, not even for a test", async () => {
    const machine = await harness.createNode("a");
    const read = machine.state.bind(machine);
    let isEdited = false;
    machine.state = async () => {
      if (!isEdited && (await harness.step("a")) === "shutdown") {
        isEdited = true;
        await edit();
      }
      return read();
    };
    harness.start();
    await harness.requestTest("a");
    await harness.until(() => isEdited);
    await harness.settle();
    expect(machine.calls).not.toContain("shutdown");
  });

  const withBoot = async (machine: FakeMachine, bootID: () => string) => {
    const report = async () => harness.nodeInfo("a", { bootID: bootID() });
    const heartbeat = machine.heartbeat.bind(machine);
    machine.heartbeat = async () => {
      await report();
      await heartbeat();
    };
    await report();
  };

  it.each([
    [true, "1"],
    [false, "0"],
  ])("SLP-21 counts a wake as proven only if the node has started again: %s", async (isProven, bootAfter) => {
    const machine = await harness.createNode("a", { proven: false });
    await point({ webhook: null, redfish: { address: "https://bmc.example" } });
    await withBoot(machine, () => (machine.calls.includes("on") ? bootAfter : "0"));
    harness.start();
    await untilTested();
    const { status } = await harness.endpoint("a");
    expect(status?.wakeProven ?? false).toBe(isProven);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Tested", reason: isProven ? "WakeSucceeded" : "NotRestarted" }),
    );
    expect(await harness.isTainted("a")).toBe(false);
    expect((await harness.events()).some(({ reason }) => reason === "NotRestarted")).toBe(!isProven);
  });
});

describe("joulie power and a PowerEndpoint that was deleted", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it.each([
    ["is deleted", false],
    ["is created again", true],
  ])(
    "SLP-18 keeps the taint of a node that shuts down while its PowerEndpoint %s, until the machine is back",
    async (_, isCreated) => {
      const machine = await harness.createNode("a");
      machine.shutdownTakes = milliseconds(240_000);
      harness.start();
      await harness.want("a", "off");
      await harness.until(() => machine.calls.includes("shutdown"));
      const { spec } = await harness.endpoint("a");
      await harness.user.delete(resources.powerEndpoints, { name: "a" });
      if (isCreated) await harness.user.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
      await harness.until(async () => {
        if (machine.power === "off") return true;
        await machine.heartbeat();
        expect(await harness.isTainted("a")).toBe(true);
        return false;
      });
      await harness.want("a", "on");
      await harness.advance(900);
      expect(machine.calls.includes("on")).toBe(isCreated);
      machine.switchOn();
      await harness.untilPower("a", "on");
      expect([machine.power, await harness.isTainted("a")]).toEqual(["on", false]);
    },
  );

  it.each([false, true])(
    "SLP-18 uses a node again whose taint a user removed, also after a restart: %s",
    async (restarts) => {
      const machine = await harness.createNode("a");
      const program = harness.start();
      await harness.want("a", "off");
      await harness.untilPower("a", "off");
      if (restarts) await program.stop();
      await harness.user.delete(resources.powerEndpoints, { name: "a" });
      await harness.advance(5);
      await harness.removeTaint("a");
      machine.switchOn();
      await harness.advance(200);
      if (restarts) harness.start();
      await harness.untilPower("a", "on");
      expect(await harness.isTainted("a")).toBe(false);
    },
  );
});
