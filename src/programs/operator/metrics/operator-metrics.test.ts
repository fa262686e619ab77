import { describe, expect, it } from "vitest";
import type { NodePlan } from "../../../core/planning/index.ts";
import { instant } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { ProgramMetrics } from "../../../platform/metrics/index.ts";
import { OperatorMetrics } from "./operator-metrics.ts";

const planOf = (name: string, power: number | undefined): NodePlan =>
  ({
    name,
    managed: { shape: { density: {} } },
    status: { powerMeasurement: { measuredNodePowerW: power } },
  }) as unknown as NodePlan;

describe("the operator's energy counter", () => {
  it("DSH-17 counts power times time in joules, and neither a missing reading nor a long gap", async () => {
    const program = new ProgramMetrics(new VirtualClock());
    const metrics = new OperatorMetrics(program, {
      leading: () => true,
      podsReadable: () => true,
      stopped: () => false,
    });
    const record = (power: number | undefined, at: number): void => {
      metrics.recordPlan(planOf("a", power), 0);
      metrics.recordEnergy([planOf("a", power)], instant(at));
    };
    const counted = async () => {
      let text = "";
      for await (const piece of program.text()) text += piece;
      return Number(/joulie_operator_node_energy_joules_total\{node="a"\} (\S+)/.exec(text)?.[1]);
    };
    record(300, 0);
    record(300, 60_000);
    expect(await counted()).toBe(18_000);
    record(100, 90_000);
    expect(await counted()).toBe(21_000);
    record(undefined, 120_000);
    expect(await counted()).toBe(21_000);
    record(100, 120_000 + 11 * 60_000);
    expect(await counted()).toBe(21_000);
  });
});
