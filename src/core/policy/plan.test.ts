import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Profile } from "../api/index.ts";
import { densityOf, hardwareView } from "../inventory/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { type Plan, planProfiles } from "./plan.ts";
import type { PlanNode, PolicySettings } from "./plan-node.ts";

const settings: PolicySettings = {
  type: "static_partition",
  staticHpFrac: 0.5,
  queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 1_000_000, perfPerHpNode: 10 },
  fitReserve: 0.9,
  reconcileInterval: milliseconds(60_000),
};
const quiet = { performancePods: 0, now: instant(0) };

const density = (total: number) => ({ cpu: total, gpu: 0, total });
const node = (name: string, total: number, family = "epyc", pin?: Profile): PlanNode => ({
  name,
  density: density(total),
  family,
  pin,
});
const keeping = (hpCount: number, nodes: readonly PlanNode[]) =>
  planProfiles(nodes, { ...settings, staticHpFrac: hpCount / nodes.length }, quiet);
const performanceNodes = ({ nodes }: Plan) =>
  nodes.filter(({ profile }) => profile === "performance").map(({ name }) => name);

describe("plan", () => {
  it("POL-05 OPR-12 the policy sets the count, density selects the nodes, and every node gets a reason", () => {
    const nodes = [node("b", 0.2), node("d", 1.5), node("a", 0.2), node("c", 0.9), node("e", 0.1)];
    expect(keeping(3, nodes)).toEqual({
      hpCount: 3,
      nodes: [
        { name: "d", profile: "performance", reason: "densest of family epyc" },
        { name: "c", profile: "performance", reason: "density rank 2 of 5" },
        { name: "a", profile: "performance", reason: "density rank 3 of 5" },
        { name: "b", profile: "eco", reason: "after the 3 performance nodes" },
        { name: "e", profile: "eco", reason: "after the 3 performance nodes" },
      ],
    });
    expect(keeping(1, nodes).nodes[4]?.reason).toBe("after the performance node");
    expect(keeping(0, nodes).nodes[0]).toEqual({
      name: "d",
      profile: "eco",
      reason: "the policy asks for no performance node",
    });
  });

  it("OPR-13 runs the configured policy", () => {
    const nodes = Array.from({ length: 10 }, (_, index) => node(`n${index}`, 1 - index / 10));
    const count = (type: PolicySettings["type"]) =>
      performanceNodes(planProfiles(nodes, { ...settings, type }, { performancePods: 65, now: instant(0) })).length;
    expect(count("static_partition")).toBe(5);
    expect(count("queue_aware_v1")).toBe(7);
    expect(count("rule_swap_v1")).toBe(9);
  });

  it("POL-06 POL-10 keeps a node of each family, then fills by density", () => {
    const nodes = [
      node("h1", 1.9, "h100"),
      node("h2", 1.8, "h100"),
      node("h3", 1.7, "h100"),
      node("c1", 0.2, "epyc"),
      node("x1", 0.1, "xeon"),
    ];
    const plan = keeping(4, nodes);
    expect(performanceNodes(plan)).toEqual(["h1", "h2", "c1", "x1"]);
    expect(plan.nodes.map(({ reason }) => reason)).toEqual([
      "densest of family h100",
      "density rank 2 of 5",
      "after the 4 performance nodes",
      "densest of family epyc",
      "densest of family xeon",
    ]);
  });

  it("POL-07 a family is the GPU model on GPU nodes, the CPU model on others", () => {
    const from = (name: string, labels: Record<string, string>): PlanNode => {
      const view = hardwareView({ metadata: { name, labels } }, undefined);
      return { name, density: densityOf(view), family: view.family };
    };
    const cpu = (model: string) => ({ "joulie.io/hw.cpu-model": model, "joulie.io/hw.cpu-sockets": "2" });
    const h100 = { "joulie.io/hw.gpu-model": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };
    const nodes = [
      from("gpu-genoa", { ...cpu("AMD EPYC 9654"), ...h100 }),
      from("gpu-milan", { ...cpu("AMD EPYC 7763"), ...h100 }),
      from("genoa", cpu("AMD EPYC 9654")),
      from("milan", cpu("AMD EPYC 7763")),
    ];
    expect(performanceNodes(keeping(3, nodes))).toEqual(["gpu-genoa", "genoa", "milan"]);
  });

  it("X-29 never exceeds hp_count to keep families, and keeps the densest families first", () => {
    const nodes = [node("a1", 1.9, "a"), node("a2", 1.8, "a"), node("b1", 0.5, "b"), node("c1", 0.4, "c")];
    expect(performanceNodes(keeping(2, nodes))).toEqual(["a1", "b1"]);
    expect(performanceNodes(keeping(1, nodes))).toEqual(["a1"]);
    expect(performanceNodes(keeping(0, nodes))).toEqual([]);
  });

  it("POL-17 queue_aware_v1 keeps families and fills by density in the same way", () => {
    const nodes = [
      node("h1", 1.9, "h100"),
      node("h2", 1.8, "h100"),
      node("h3", 1.7, "h100"),
      node("h4", 1.6, "h100"),
      node("c1", 0.2, "epyc"),
    ];
    const plan = planProfiles(nodes, { ...settings, type: "queue_aware_v1" }, quiet);
    expect(plan.hpCount).toBe(3);
    expect(performanceNodes(plan)).toEqual(["h1", "h2", "c1"]);
  });

  it("POL-18 POL-19 reads P from the state, and gives the same plan for the same state", () => {
    const nodes = Array.from({ length: 10 }, (_, index) => node(`n${index}`, 1 - index / 10));
    const plan = (performancePods: number) =>
      planProfiles(nodes, { ...settings, type: "queue_aware_v1" }, { performancePods, now: instant(0) });
    expect([plan(0).hpCount, plan(61).hpCount, plan(1000).hpCount]).toEqual([6, 7, 10]);
    expect(plan(61)).toEqual(plan(61));
  });

  it("X-89 pinned performance nodes fill hp_count first, and pinned nodes still count as nodes", () => {
    const nodes = [node("a", 1.9), node("b", 1.8), node("c", 1.7), node("d", 0.1, "epyc", "performance")];
    const plan = planProfiles(nodes, settings, quiet);
    expect(plan.hpCount).toBe(2);
    expect(performanceNodes(plan)).toEqual(["a", "d"]);
    expect(plan.nodes[3]?.reason).toBe("pinned to performance by its NodePowerProfile");
    // The pinned node already represents its family, so density decides the other place.
    expect(plan.nodes[0]?.reason).toBe("density rank 1 of 4");
  });

  it("X-89 a pin to eco excludes the node, and pins to performance may exceed hp_count", () => {
    const eco = [node("a", 1.9, "epyc", "eco"), node("b", 1.8), node("c", 1.7), node("d", 0.1, "xeon", "eco")];
    const plan = planProfiles(eco, settings, quiet);
    expect(performanceNodes(plan)).toEqual(["b", "c"]);
    expect(plan.nodes[0]).toEqual({ name: "a", profile: "eco", reason: "pinned to eco by its NodePowerProfile" });
    const all = ["a", "b", "c", "d"].map((name) => node(name, 1, "epyc", "performance"));
    expect(planProfiles(all, settings, quiet).hpCount).toBe(2);
    expect(performanceNodes(planProfiles(all, settings, quiet))).toHaveLength(4);
    expect(performanceNodes(planProfiles([...all.slice(0, 3), node("e", 2, "new")], settings, quiet))).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it("X-96 does not depend on the time", () => {
    const nodes = [node("a", 1), node("b", 0.5), node("c", 0.4)];
    for (const type of ["static_partition", "queue_aware_v1"] as const) {
      const at = (now: number) => planProfiles(nodes, { ...settings, type }, { performancePods: 3, now: instant(now) });
      expect(at(0)).toEqual(at(1e13));
    }
  });

  it("handles an empty cluster, one node, duplicate names and invalid densities", () => {
    expect(planProfiles([], settings, quiet)).toEqual({ hpCount: 0, nodes: [] });
    expect(performanceNodes(planProfiles([node("a", 1)], settings, quiet))).toEqual(["a"]);
    const twice = planProfiles([node("a", 0.1), node("a", 1.5), node("b", 1), node("a", 1.5)], settings, quiet);
    expect(twice).toMatchObject({ hpCount: 1, nodes: [{ name: "a" }, { name: "b" }] });
    const odd = [node("n", Number.NaN), node("i", Infinity), node("z", 0), node("a", Number.NaN), node("p", 1)];
    expect(planProfiles(odd, settings, quiet).nodes.map(({ name }) => name)).toEqual(["i", "p", "a", "n", "z"]);
  });

  it("keeps the densest of 10,000 families", () => {
    const nodes = Array.from({ length: 10_000 }, (_, index) => node(`n${index}`, index / 10_000, `f${index}`));
    const plan = planProfiles(nodes, settings, quiet);
    expect(performanceNodes(plan)).toHaveLength(5000);
    expect(plan.nodes[4999]).toEqual({ name: "n5000", profile: "performance", reason: "densest of family f5000" });
    expect(plan.nodes[5000]?.profile).toBe("eco");
  });
});

const anyNode = fc.record({
  name: fc.string({ minLength: 1, maxLength: 3 }),
  density: fc.constantFrom(0, 0.1, 0.5, 1, 1.9).map(density),
  family: fc.constantFrom("a", "b", "c", "d"),
  pin: fc.option(fc.constantFrom<Profile>("performance", "eco"), { nil: undefined, freq: 4 }),
});
const anyNodes = fc.uniqueArray(anyNode, { selector: ({ name }) => name, maxLength: 25 });
const anyInput = fc.record({
  performancePods: fc.nat(300),
  now: fc.nat(1e9).map(instant),
});
const anyPolicy = fc.constantFrom<PolicySettings["type"]>("static_partition", "queue_aware_v1", "rule_swap_v1");

describe("plan, any cluster", () => {
  it("POL-11 POL-19 does not depend on the order of the nodes", () => {
    const shuffled = anyNodes.chain((nodes) =>
      fc.tuple(fc.constant(nodes), fc.shuffledSubarray(nodes, { minLength: nodes.length })),
    );
    fc.assert(
      fc.property(shuffled, anyPolicy, anyInput, ([nodes, again], type, input) => {
        expect(planProfiles(again, { ...settings, type }, input)).toEqual(
          planProfiles(nodes, { ...settings, type }, input),
        );
      }),
    );
  });

  it("POL-06 X-29 X-89 fills exactly hp_count, keeps families as far as hp_count allows, and honours pins", () => {
    fc.assert(
      fc.property(anyNodes, fc.double({ min: 0, max: 1, noNaN: true }), (nodes, staticHpFrac) => {
        const plan = planProfiles(nodes, { ...settings, staticHpFrac }, quiet);
        const chosen = new Set(performanceNodes(plan));
        const pinnedUp = nodes.filter(({ pin }) => pin === "performance");
        const pinnedDown = nodes.filter(({ pin }) => pin === "eco");
        const wanted = Math.min(Math.max(plan.hpCount, pinnedUp.length), nodes.length - pinnedDown.length);
        expect(chosen.size).toBe(wanted);
        expect(pinnedUp.every(({ name }) => chosen.has(name))).toBe(true);
        expect(pinnedDown.some(({ name }) => chosen.has(name))).toBe(false);

        const kept = new Set(nodes.filter(({ name }) => chosen.has(name)).map(({ family }) => family));
        const possible = new Set(nodes.filter(({ pin }) => pin !== "eco").map(({ family }) => family));
        const pinnedFamilies = new Set(pinnedUp.map(({ family }) => family));
        const places = Math.max(0, plan.hpCount - pinnedUp.length);
        expect(kept.size).toBe(Math.min(possible.size, pinnedFamilies.size + places));
      }),
    );
  });
});
