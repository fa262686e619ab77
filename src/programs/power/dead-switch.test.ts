import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { PowerSwitchError } from "../../platform/switch/index.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power with a switch that dies in the middle of a sleep", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  /** The switch dies between the count of pods and the shutdown. */
  const untilDead = async () => {
    const machine = await harness.createNode("a");
    harness.start({}, { times: { settle: milliseconds(60_000) } });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    machine.failure = new PowerSwitchError("timeout", "no response within 20s");
    await harness.until(async () => (await harness.step("a")) === "shutdown");
    await harness.advance(5);
    return machine;
  };

  it("SLP-15 gives a node back at once that is wanted again and was sent nothing", async () => {
    await untilDead();
    await harness.want("a", "on");
    await harness.advance(30);
    expect(await harness.isTainted("a")).toBe(false);
    expect(await harness.power("a")).toBe("on");
  });

  it("SLP-13 never cuts the power of a machine that was not asked to shut down", async () => {
    const machine = await untilDead();
    await harness.advance(300);
    machine.failure = undefined;
    expect(await harness.isTainted("a")).toBe(false);
    await harness.advance(60);
    expect(machine.calls).not.toContain("forceOff");
    await harness.untilPower("a", "off");
    expect(machine.calls.filter((call) => call !== "state")).toEqual(["shutdown"]);
  });
});
