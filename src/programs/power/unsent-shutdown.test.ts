import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { PowerSwitchError } from "../../platform/switch/index.ts";
import type { FakeMachine } from "./testing/fake-machine.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power and a shutdown that was never sent", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  /** Lets each check directly before a request fail, as while the API server is away. */
  const failChecks = (machine: FakeMachine, how: "shutdown" | "forceOff") => {
    const request = machine[how].bind(machine);
    const state = { isFailing: true, checks: 0 };
    machine[how] = async (confirm) =>
      request(async () => {
        state.checks++;
        const heal = harness.api.faults.add({
          fault: { kind: "status", code: 503 },
          when: ({ path }) => state.isFailing && path.includes("/pods"),
        });
        await confirm().finally(heal);
      });
    return state;
  };

  it("SLP-20 uses a node again at once that is wanted while the last check fails", async () => {
    const machine = await harness.createNode("a");
    failChecks(machine, "shutdown");
    harness.start({ SHUTDOWN_TIMEOUT: "10m" });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "shutdown");
    await harness.advance(30);
    expect(machine.calls).not.toContain("shutdown");
    await harness.want("a", "on");
    await harness.advance(60);
    expect([await harness.power("a"), await harness.isTainted("a")]).toEqual(["on", false]);
  });

  it("SLP-20 gives up a sleep whose last check fails until the time is over, and cuts no power", async () => {
    const machine = await harness.createNode("a");
    failChecks(machine, "shutdown");
    harness.start({ SHUTDOWN_TIMEOUT: "1m" });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.events()).some(({ reason }) => reason === "SleepGivenUp"));
    expect(machine.offCalls).toBe(0);
    expect(await harness.isTainted("a")).toBe(false);
  });

  it("SLP-13 wakes a node at once that is wanted while the last check before a cut fails", async () => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    const checks = failChecks(machine, "forceOff");
    harness.start({ SHUTDOWN_TIMEOUT: "5m" });
    await harness.want("a", "off");
    await harness.until(() => checks.checks > 0);
    await harness.want("a", "on");
    await harness.advance(60);
    expect(await harness.power("a")).toBe("waking");
    expect(machine.calls).not.toContain("forceOff");
  });

  it("SLP-13 uses a node again without a wake whose switch refuses both ways to switch it off", async () => {
    const machine = await harness.createNode("a");
    const refusal = new PowerSwitchError("refused", "the switch does not take power away");
    machine.shutdown = machine.forceOff = async () => Promise.reject(refusal);
    harness.start();
    await harness.want("a", "off");
    await harness.until(async () => (await harness.events()).some(({ reason }) => reason === "SleepGivenUp"));
    await harness.advance(5);
    expect([await harness.power("a"), await harness.isTainted("a")]).toEqual(["on", false]);
    expect((await harness.events()).map(({ reason }) => reason)).not.toContain("NodeWaking");
  });

  it.each(["shutdown", "forceOff"] as const)(
    "SLP-19 waits the settle time again if the taint is removed before anything was sent: %s",
    async (how) => {
      const machine = await harness.createNode("a");
      const checks = failChecks(machine, how);
      if (how === "forceOff")
        machine.shutdown = async () => Promise.reject(new PowerSwitchError("refused", "no graceful shutdown"));
      harness.start({ SHUTDOWN_TIMEOUT: "30m" }, { times: { settle: milliseconds(60_000) } });
      await harness.want("a", "off");
      await harness.until(() => checks.checks > 0);
      await harness.removeTaint("a");
      await harness.until(async () => harness.isTainted("a"));
      checks.isFailing = false;
      const taintedAt = harness.clock.now();
      await harness.until(() => machine.calls.includes(how));
      expect(harness.clock.now() - taintedAt).toBeGreaterThan(milliseconds(50_000));
    },
  );
});
