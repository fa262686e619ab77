import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { wake } from "./requests.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power and a machine that is off although nothing in the API says so", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  /** As after a restore of etcd from before the sleep. */
  const restoredFromBeforeTheSleep = async () => {
    const machine = await harness.createNode("a");
    const { status: before } = await harness.endpoint("a");
    const program = harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    await program.stop();
    await harness.want("a", "on");
    await harness.removeTaint("a");
    const lost = {
      lastSleep: null,
      lastWake: null,
      operation: null,
      powerState: null,
      observedAt: null,
      cyclesToday: null,
    };
    await harness.endpointStatus("a", { ...lost, ...before });
    await harness.user.mergePatch(
      resources.nodeTwins,
      { name: "a" },
      { status: { power: null } },
      { subresource: "status" },
    );
    expect(machine.power).toBe("off");
    return machine;
  };
  const taintRemovedAndEndpointCreatedAgain = async () => {
    const machine = await harness.createNode("a");
    const program = harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    await program.stop();
    await harness.want("a", "on");
    await harness.removeTaint("a");
    const { spec } = await harness.endpoint("a");
    await harness.user.delete(resources.powerEndpoints, { name: "a" });
    await harness.user.create(resources.powerEndpoints, { metadata: { name: "a" }, spec });
    return machine;
  };
  const losses = [
    ["etcd was restored from before the sleep", restoredFromBeforeTheSleep],
    ["the taint was removed and the PowerEndpoint created again", taintRemovedAndEndpointCreatedAgain],
  ] as const;

  it.each(losses)(
    "X-133 `joulie wake` succeeds only when the machine is on and the node Ready, after %s",
    async (_, lose) => {
      const machine = await lose();
      harness.start();
      const { user: client, clock } = harness;
      const request = { ended: false, failure: undefined as string | undefined, power: "", ready: 0 };
      void wake({ client, clock, timeout: milliseconds(3_600_000), names: ["a"] }).then((failure) => {
        Object.assign(request, { ended: true, failure, power: machine.power, ready: machine.heartbeats });
      });
      await harness.until(() => request.ended);
      expect(request).toEqual({ ended: true, failure: undefined, power: "on", ready: 2 });
    },
  );

  it.each(losses)("X-133 keep-awake and stop wake the machine after %s", async (_, lose) => {
    const machine = await lose();
    harness.start();
    await harness.advance(30);
    expect(machine.power).toBe("off");
    await harness.annotate("a", { "joulie.io/keep-awake": "true" });
    await harness.until(() => machine.heartbeats === 2);
    await harness.advance(60);
    await harness.annotate("a", { "joulie.io/keep-awake": null });
    machine.cut();
    await harness.advance(60);
    expect(machine.power).toBe("off");
    await harness.stopAll("true");
    await harness.until(() => machine.heartbeats === 3);
    expect(machine.power).toBe("on");
  });

  it("X-133 `joulie wake` fails while the switch does not say on", async () => {
    const machine = await restoredFromBeforeTheSleep();
    machine.on = async () => undefined;
    harness.start();
    const { user: client, clock } = harness;
    const request: { failure?: string | undefined } = {};
    void wake({ client, clock, timeout: milliseconds(600_000) }).then((failure) => (request.failure = failure));
    await harness.advance(700);
    expect(request.failure).toBe("1 of 1 nodes are not awake after 10m: a");
  });

  const readyCondition = async (status: "True" | "False") =>
    harness.user.mergePatch(
      resources.nodes,
      { name: "a" },
      { status: { conditions: [{ type: "Ready", status }] } },
      { subresource: "status" },
    );
  const requestOf = async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/wake"];

  it.each(["joulie.io/keep-awake", "joulie.io/wake"])(
    "X-133 %s begins no wake while the switch says off and the node is Ready, and says so",
    async (annotation) => {
      const machine = await harness.createNode("a", { proven: false });
      machine.state = async () => "off";
      harness.start();
      await harness.annotate("a", { [annotation]: "true" });
      for (let minute = 0; minute < 30; minute++) {
        await harness.advance(60);
        await machine.heartbeat();
      }
      expect(machine.calls).not.toContain("on");
      const { status } = await harness.endpoint("a");
      expect([status?.wakeProven, status?.lastWake, status?.operation]).toEqual([undefined, undefined, undefined]);
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: "Reachable", status: "True", reason: "Contradicted" }),
      );
      expect(await harness.isTainted("a")).toBe(false);
    },
  );

  it("SLP-21 a wake of a node that is Ready all the time proves nothing", async () => {
    const machine = await harness.createNode("a", { proven: false });
    // Its agent has not reported since a wake that failed.
    await harness.endpointStatus("a", { lastWake: { at: "2030-01-01T00:00:01Z", result: "failed" } });
    machine.agentReports = false;
    machine.state = async () => "off";
    harness.start({ WAKE_TIMEOUT: "1m" });
    await harness.annotate("a", { "joulie.io/keep-awake": "true" });
    await harness.untilPower("a", "waking");
    await harness.advance(30);
    machine.agentReports = true;
    await machine.heartbeat();
    await harness.untilPower("a", "on");
    expect((await harness.endpoint("a")).status?.wakeProven).not.toBe(true);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["does not exist", async () => harness.user.delete(resources.nodes, { name: "a" })],
    ["never becomes Ready", async () => readyCondition("False")],
  ])("X-133 joulie.io/wake is no success, and reads the switch now and then, if the Node %s", async (_, happen) => {
    const machine = await harness.createNode("a");
    await happen();
    harness.start();
    await harness.annotate("a", { "joulie.io/wake": "now" });
    await harness.advance(3600);
    expect(await requestOf()).toBe("now");
    expect(machine.calls.length).toBeLessThan(20);
  });

  it("X-133 joulie.io/wake is done as soon as the node is Ready", async () => {
    await harness.createNode("a");
    await readyCondition("False");
    harness.start();
    await harness.annotate("a", { "joulie.io/wake": "now" });
    await harness.advance(60);
    await readyCondition("True");
    await harness.advance(5);
    expect(await requestOf()).toBeUndefined();
  });
});
