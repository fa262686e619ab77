import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { endAfter, phaseOf } from "./steps/endpoint-status.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power under adverse conditions", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it("SLP-14 uses a node that woke after the clock was set back, and lets it sleep again", async () => {
    const machine = await harness.createNode("a");
    harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    const ahead = new Date(harness.clock.now() + 3_600_000).toISOString();
    await harness.endpointStatus("a", { lastSleep: { at: ahead, result: "succeeded" } });
    await harness.want("a", "on");
    await harness.untilPower("a", "on");
    await harness.advance(60);
    expect(await harness.power("a")).toBe("on");
    expect((await harness.events()).filter(({ reason }) => reason === "NodeWaking")).toHaveLength(2);
    await harness.want("a", "off");
    await harness.until(() => machine.power === "off");
    await harness.untilPower("a", "off");
    expect(phaseOf((await harness.endpoint("a")).status, false)).toBe("off");
  });

  it("SLP-10 lets a node sleep in time although the clock is set back", async () => {
    await harness.createNode("a");
    harness.start({}, { times: { settle: milliseconds(60_000) } });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    harness.clock.step(milliseconds(-7_200_000));
    await harness.advance(150);
    expect(await harness.power("a")).toBe("off");
  });

  it("SLP-14 retries a wake in time although the clock is set back", async () => {
    const machine = await harness.createNode("a");
    harness.start({ WAKE_TIMEOUT: "5m" });
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    machine.neverBoots = true;
    await harness.want("a", "on");
    await harness.until(async () => (await harness.step("a")) === "ready");
    harness.clock.step(milliseconds(-7_200_000));
    await harness.advance(320);
    expect((await harness.endpoint("a")).status?.operation?.attempt).toBe(2);
  });

  it("SLP-13 leaves a machine its time to shut down although the clock is set forward", async () => {
    const machine = await harness.createNode("a");
    machine.shutdownTakes = milliseconds(200_000);
    harness.start({ SHUTDOWN_TIMEOUT: "5m" });
    await harness.want("a", "off");
    await harness.until(() => machine.calls.includes("shutdown"));
    harness.clock.step(milliseconds(7_200_000));
    await harness.untilPower("a", "off");
    expect(machine.calls).not.toContain("forceOff");
  });

  it("orders the ends of a sleep and of the wake after it, whatever the clock says", () => {
    const before = { at: "2030-01-01T01:00:00.000Z", result: "succeeded" } as const;
    expect(endAfter(before, instant(Date.UTC(2030, 0, 1)))).toBe("2030-01-01T01:00:00.001Z");
    expect(endAfter(before, instant(Date.UTC(2030, 0, 2)))).toBe("2030-01-02T00:00:00.000Z");
    expect(endAfter(undefined, instant(Date.UTC(2030, 0, 2)))).toBe("2030-01-02T00:00:00.000Z");
  });

  it("SLP-11 reaches the switch before the last count of pods, so that a slow login does not come between", async () => {
    const machine = await harness.createNode("a");
    const program = harness.start();
    const seen: string[] = [];
    machine.onPowerLoss = async () => void seen.push("request");
    program.onAction = (action) => void (action.startsWith("switch") && seen.push(action));
    program.onRequest = ({ path }) => void (path.includes("/pods?") && seen.push("pods"));
    await harness.want("a", "off");
    await harness.until(() => seen.includes("request"));
    const end = seen.indexOf("request");
    expect(seen.slice(end - 4, end)).toEqual(["switch state", "switch shutdown", "pods", "pods"]);
  });

  it.each(["on", "off"] as const)(
    "SLP-15 wakes a node at once while the switches of many nodes that are %s are slow",
    async (state) => {
      const machine = await harness.createNode("a");
      harness.start({}, { times: { concurrency: 2, refreshInterval: milliseconds(1000) } });
      await harness.want("a", "off");
      await harness.untilPower("a", "off");
      for (let index = 0; index < 6; index++) {
        const name = `slow-${index}`;
        const slow = await harness.createNode(name);
        await harness.want(name, state);
        if (state === "off") await harness.untilPower(name, "off");
        slow.state = async () => {
          await harness.clock.sleep(milliseconds(20_000));
          return state;
        };
      }
      await harness.advance(60);
      await harness.want("a", "on");
      await harness.advance(5);
      expect(machine.calls).toContain("on");
    },
  );
});
