import { describe, expect, it } from "vitest";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

/** Runs a cycle of sleep and wake, and kills the program before its n-th action; another one takes over. */
async function cycleWithKillAt(
  at: number,
): Promise<{ readonly actions: readonly string[]; readonly violations: readonly string[] }> {
  const harness = await PowerTestHarness.begin();
  const actions: string[] = [];
  try {
    const machine = await harness.createNode("a");
    const first = harness.start();
    first.onAction = (action) => {
      if (actions.length === at) first.kill();
      actions.push(action);
    };
    const replace = () => {
      if (first.isDead && harness.programs.length === 1) harness.start();
    };
    const untilPower = async (state: string) =>
      harness.until(async () => {
        replace();
        return (await harness.power("a")) === state;
      }, state);
    await harness.want("a", "off");
    await untilPower("off");
    expect(machine.power).toBe("off");
    expect(await harness.isTainted("a")).toBe(true);
    await harness.want("a", "on");
    await untilPower("on");
    expect(machine.power).toBe("on");
    expect(await harness.isTainted("a")).toBe(false);
    const { status } = await harness.endpoint("a");
    expect(status).toMatchObject({ wakeProven: true, lastWake: { result: "succeeded" }, cyclesToday: 1 });
    expect(status?.operation).toBeUndefined();
    return { actions, violations: harness.violations };
  } finally {
    for (const program of harness.programs) program.onAction = () => undefined;
    await harness.end();
  }
}

describe("joulie power, killed", () => {
  it("SLP-22 resumes after a kill before every write and every call of a switch, of a sleep and of a wake", async () => {
    const undisturbed = await cycleWithKillAt(Infinity);
    expect(undisturbed.violations).toEqual([]);
    expect(undisturbed.actions.length).toBeGreaterThan(15);
    expect(undisturbed.actions.filter((action) => action.startsWith("switch")).length).toBeGreaterThan(4);
    for (let at = 0; at < undisturbed.actions.length; at++) {
      const { violations } = await cycleWithKillAt(at);
      expect([at, undisturbed.actions[at], violations]).toEqual([at, undisturbed.actions[at], []]);
    }
  });
});
