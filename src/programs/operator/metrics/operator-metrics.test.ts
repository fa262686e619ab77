import { describe, expect, it } from "vitest";
import type { PowerMeasurement } from "../../../core/api/index.ts";
import { hardwareView } from "../../../core/inventory/index.ts";
import type { NodePlan } from "../../../core/planning/index.ts";
import { nodePowerModelOf, powerStateModelOf, restOfServerOf, wallPower } from "../../../core/power/index.ts";
import { instant, watts } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { ProgramMetrics } from "../../../platform/metrics/index.ts";
import { OperatorMetrics } from "./operator-metrics.ts";

const model = nodePowerModelOf(hardwareView({ metadata: { name: "a", uid: "u" } }, undefined));
const planOf = (name: string, powerMeasurement: PowerMeasurement, state = "on"): NodePlan =>
  ({
    name,
    managed: { shape: { density: {}, power: model } },
    status: { powerMeasurement },
    twin: { status: { power: { state } } },
  }) as unknown as NodePlan;

describe("the operator's energy counter", () => {
  it("DSH-17 X-153 counts power times time in joules, and neither a missing reading nor a long gap", async () => {
    const program = new ProgramMetrics(new VirtualClock());
    const metrics = new OperatorMetrics(program, {
      leading: () => true,
      podsReadable: () => true,
      stopped: () => false,
    });
    const record = (plan: NodePlan, at: number): void => {
      metrics.recordPlan(plan, 0);
      metrics.recordEnergy([plan], instant(at));
    };
    const counted = async () => {
      let text = "";
      for await (const piece of program.text()) text += piece;
      return Number(/joulie_operator_node_energy_joules_total\{node="a"\} (\S+)/.exec(text)?.[1]);
    };
    const metered = planOf("a", { measuredNodePowerW: watts(230), serverPowerW: watts(300) });
    record(metered, 0);
    record(metered, 60_000);
    expect(await counted()).toBe(18_000);
    record(planOf("a", { serverPowerW: watts(100) }), 90_000);
    expect(await counted()).toBe(21_000);
    record(planOf("a", {}), 120_000);
    expect(await counted()).toBe(21_000);
    record(metered, 120_000 + 11 * 60_000);
    expect(await counted()).toBe(21_000);
    const later = 13 * 60_000;
    record(metered, later);
    const before = await counted();
    // Packages and boards: at the wall the node draws more. Off it draws its standby power.
    record(planOf("a", { measuredNodePowerW: watts(300) }), later + 60_000);
    const wall = wallPower(watts(300), model.idle, restOfServerOf(model));
    expect((await counted()) - before).toBeCloseTo(60 * wall, 6);
    record(planOf("a", { measuredNodePowerW: watts(0) }, "off"), later + 120_000);
    expect((await counted()) - before).toBeCloseTo(60 * (wall + powerStateModelOf(model).off), 6);
  });
});
