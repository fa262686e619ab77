import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("joulie power with a late watch of Nodes", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it("SLP-10 removes the taint of a sleep that was given up before the watch showed the taint", async () => {
    await harness.createNode("a");
    harness.hidesNodeChanges = true;
    harness.start();
    await harness.want("a", "off");
    await harness.until(async () => harness.isTainted("a"));
    await harness.want("a", "on");
    await harness.untilPower("a", "on");
    expect(await harness.isTainted("a")).toBe(false);
  });

  it("SLP-10 does not take the taint of a former sleep, which the watch still shows, for that of the next one", async () => {
    await harness.createNode("a");
    const program = harness.start({}, { times: { settle: milliseconds(60_000) } });
    await harness.want("a", "off");
    await harness.until(async () => (await harness.step("a")) === "count");
    program.onAction = (action) => {
      if (action === "PATCH /api/v1/nodes/a") harness.delaysNodeChanges = true;
    };
    await harness.want("a", "on");
    await harness.until(async () => !(await harness.isTainted("a")));
    await harness.want("a", "off");
    await harness.until(async () => harness.isTainted("a"));
    await harness.advance(30);
    expect([harness.delaysNodeChanges, await harness.step("a")]).toEqual([true, "taint"]);
    program.onAction = () => undefined;
    harness.delaysNodeChanges = false;
    await harness.until(async () => (await harness.step("a")) === "count");
  });

  it("SLP-10 does not wake a node again while the watch still shows the taint that the wake removed", async () => {
    await harness.createNode("a");
    const program = harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    await harness.want("a", "on");
    await harness.untilPower("a", "waking");
    program.onAction = (action) => {
      if (action === "PATCH /api/v1/nodes/a") harness.delaysNodeChanges = true;
    };
    await harness.untilPower("a", "on");
    expect(harness.delaysNodeChanges).toBe(true);
    await harness.advance(5);
    harness.delaysNodeChanges = false;
    await harness.advance(20);
    expect(await harness.power("a")).toBe("on");
    const wakes = (await harness.events()).filter(({ reason }) => reason === "NodeWaking");
    expect(wakes).toHaveLength(2);
  });
});
