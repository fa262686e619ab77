import { describe, expect, it } from "vitest";
import type { Scenario } from "../bench/scenario.ts";
import { renderReport, spread, summarise } from "./benchmark.ts";

const machine = { cpu: "a CPU", cores: 2, memoryGiB: 24, node: "v24.0.0" };
const scenario: Scenario = {
  about: "ours against the plain way",
  repeats: 3,
  measure: () => ({}),
  goals: [
    { says: "plain / ours", of: ({ plain = 0, ours = 1 }) => plain / ours, atLeast: 4 },
    { says: "ours", of: ({ ours = 0 }) => ours, atMost: 1 },
  ],
};
const sample = (plain: number, ours: number) => ({
  plain: { unit: "ms", value: plain },
  ours: { unit: "ms", value: ours },
});

describe("benchmark reports", () => {
  it("compute the median of odd and even counts", () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  });

  it("evaluate a goal in each repeat and report whether it is met", () => {
    const report = summarise("demo", scenario, [sample(10, 2), sample(100, 10), sample(12, 3)], machine);
    expect(report.figures["plain"]).toEqual({ unit: "ms", median: 12, min: 10, max: 100 });
    expect(report.goals.map(({ median, met }) => [median, met])).toEqual([
      [5, true],
      [3, false],
    ]);
  });

  it("name machine, Node version and spread", () => {
    const text = renderReport("about", summarise("demo", scenario, [sample(10, 2)], machine));
    expect(text).toContain("a CPU, 2 cores, 24 GiB, Node v24.0.0, 1 repeats");
    expect(text).toMatch(/met {4}plain \/ ours: 5\.00 \(5\.00 – 5\.00\), asked at least 4/);
    expect(text).toMatch(/missed ours: 2\.00/);
  });
});
