import { describe, expect, it } from "vitest";
import type { NodeTwin } from "../api/index.ts";
import { percent } from "../units/index.ts";
import { hasConfirmedCaps } from "./confirmed-caps.ts";

const caps = { cpu: { packagePowerCapPctOfMax: percent(100) } };
const eco = { cpu: { packagePowerCapPctOfMax: percent(60) } };

const twin = (
  status: NonNullable<NodeTwin["status"]>,
  spec: Partial<NodeTwin["spec"]> = { profile: "performance", ...caps },
): NodeTwin => ({
  metadata: { name: "a", generation: 7 },
  spec: { nodeName: "a", profile: "performance", ...spec },
  status: { schedulableClass: "eco", ...status },
});
const receipt = (observedGeneration: number, cpu: "applied" | "blocked" | "error" | "none" = "applied") => ({
  controlStatus: { observedGeneration, cpu: { result: cpu } },
});

describe("hasConfirmedCaps", () => {
  it.each([
    ["no twin", undefined, true],
    ["no agent has ever reported", twin({}), true],
    ["an agent without receipts", twin({ controlStatus: { cpu: { result: "applied" } } }), true],
    ["published as performance already", twin({ schedulableClass: "performance", ...receipt(3) }), true],
    ["a receipt of this target", twin(receipt(7)), true],
    ["a receipt of a node that has nothing to cap", twin(receipt(7, "none")), true],
    ["a receipt of an earlier target", twin(receipt(6)), false],
    ["a failed write", twin(receipt(7, "error")), false],
    ["a refused write", twin(receipt(7, "blocked")), false],
    ["a receipt of the eco target", twin(receipt(7), { profile: "eco", ...eco }), false],
    ["a receipt of other performance caps", twin(receipt(7), { profile: "performance", ...eco }), false],
    ["a node that comes back from sleep", twin({ schedulableClass: "asleep", ...receipt(6) }), false],
  ])("X-120 %s", (_, published, confirmed) => {
    expect(hasConfirmedCaps(published, caps)).toBe(confirmed);
  });
});
