import { describe, expect, it } from "vitest";
import { suiteOrder } from "./suite-order.ts";

const names = ["check", "unit", "browser", "cluster", "node"];

describe("the order of the suites", () => {
  it("runs every suite, and node beside those after the checks", () => {
    const beside = { suite: "node", from: "unit" };
    expect(suiteOrder(names, undefined)).toEqual({ inTurn: ["check", "unit", "browser", "cluster"], beside });
  });

  it.each(names)("runs %s alone if it is named", (name) => {
    expect(suiteOrder(names, name)).toEqual({ inTurn: [name], beside: undefined });
  });
});
