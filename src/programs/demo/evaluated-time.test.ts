import { describe, expect, it } from "vitest";
import { seconds } from "../../core/units/index.ts";
import { EvaluatedTime } from "./evaluated-time.ts";

const [passed, asked] = [seconds(1000), seconds(3000)];

describe("EvaluatedTime", () => {
  it.each([
    ["the elapsed time if a busy machine lowered the speed", [0.2, 0.9, 0.2], true, passed],
    ["the requested time if an idle machine lowered the speed", [0.2, 0.4, 0.2], true, asked],
    ["the requested time if the machine was busy only long before", [0.9, 0.2, 0.2, 0.2], true, asked],
    ["the requested time if a busy machine kept its speed", [0.9, 0.9, 0.9], false, asked],
  ])("is %s", (_, loads, lowered, judged) => {
    const time = new EvaluatedTime();
    for (const load of loads.slice(0, -1)) time.observe(load, false);
    time.observe(loads.at(-1) ?? 0, lowered);
    expect(time.of(passed, asked)).toBe(judged);
  });

  it("remains the elapsed time after a busy machine has lowered the speed", () => {
    const time = new EvaluatedTime();
    time.observe(0.9, true);
    for (let second = 0; second < 20; second++) time.observe(0.1, second === 10);
    expect(time.of(passed, asked)).toBe(passed);
  });
});
