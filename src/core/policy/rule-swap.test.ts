import { describe, expect, it } from "vitest";
import type { Profile } from "../api/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { swapPhase } from "./hp-count.ts";
import { planProfiles } from "./plan.ts";

const node = (name: string, total: number, family = "epyc", pin?: Profile) => ({
  name,
  density: { cpu: total, gpu: 0, total },
  family,
  pin,
});
const plan = (nodes: Parameters<typeof planProfiles>[0], now: number) =>
  planProfiles(
    nodes,
    {
      type: "rule_swap_v1",
      staticHpFrac: 0,
      queue: { hpBaseFrac: 0, hpMin: 0, hpMax: 0, perfPerHpNode: 1 },
      fitReserve: 0.9,
      reconcileInterval: milliseconds(60_000),
    },
    { performancePods: 0, now: instant(now) },
  );
const eco = (nodes: Parameters<typeof planProfiles>[0], now: number) =>
  plan(nodes, now).nodes.flatMap(({ name, profile }) => (profile === "eco" ? [name] : []));

describe("rule_swap_v1", () => {
  it("POL-21 X-78 changes phase every interval of the clock", () => {
    const at = (seconds: number) => swapPhase(instant(seconds * 1000), milliseconds(60_000));
    expect([0, 59.9, 60, 119.9, 120, 180].map(at)).toEqual([0, 0, 1, 1, 0, 1]);
    expect([-1, -60, -61, -120].map(at)).toEqual([1, 1, 0, 0]);
  });

  it.each([0, Number.NaN, Infinity])("X-78 stays in phase 0 for an interval of %d", (interval) => {
    expect(swapPhase(instant(61_000), milliseconds(interval))).toBe(0);
  });

  it("POL-22 X-78 makes the first node eco, then the second, and leaves the others at performance", () => {
    const nodes = [node("c", 0.1), node("a", 0.9), node("b", 0.5)];
    expect(eco(nodes, 0)).toEqual(["a"]);
    expect(eco(nodes, 60_000)).toEqual(["b"]);
    expect(eco(nodes, 120_000)).toEqual(["a"]);
    expect(plan(nodes, 60_000)).toEqual({
      hpCount: 2,
      nodes: [
        { name: "a", profile: "performance", reason: "not its turn in phase 1 of rule_swap_v1" },
        { name: "b", profile: "eco", reason: "its turn in phase 1 of rule_swap_v1" },
        { name: "c", profile: "performance", reason: "not its turn in phase 1 of rule_swap_v1" },
      ],
    });
  });

  it("X-78 does not reserve a node per family", () => {
    expect(eco([node("only", 0.9, "h100"), node("b", 0.5)], 0)).toEqual(["only"]);
  });

  it("X-78 handles a cluster of one node or none", () => {
    expect(eco([node("a", 1)], 0)).toEqual(["a"]);
    expect(eco([node("a", 1)], 60_000)).toEqual([]);
    expect(plan([], 0)).toEqual({ hpCount: 0, nodes: [] });
  });

  it("X-89 skips pinned nodes", () => {
    const nodes = [
      node("a", 0.9, "epyc", "performance"),
      node("b", 0.5),
      node("c", 0.4, "epyc", "eco"),
      node("d", 0.3),
    ];
    expect(eco(nodes, 0)).toEqual(["b", "c"]);
    expect(eco(nodes, 60_000)).toEqual(["c", "d"]);
  });
});
