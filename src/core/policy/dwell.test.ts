import { describe, expect, it } from "vitest";
import type { NodeTwin, SchedulableClass } from "../api/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { lastTransitionTime, performanceHeldUntil } from "./dwell.ts";
import { planProfiles } from "./plan.ts";
import type { PlanNode, PolicyType } from "./plan-node.ts";

const NOW = instant(Date.UTC(2030, 0, 1));
const DWELL = milliseconds(300_000);
const iso = (offset: number) => new Date(NOW + offset).toISOString();
const twin = (
  status: NonNullable<NodeTwin["status"]>,
  profile: "performance" | "eco" = "performance",
): Pick<NodeTwin, "spec" | "status"> => ({ spec: { nodeName: "n", profile }, status });
const promoted = (offset: number) => twin({ schedulableClass: "performance", lastTransitionTime: iso(offset) });

describe("X-96 the minimum dwell of a promoted node", () => {
  it("ends PROFILE_MIN_DWELL after the promotion, to the millisecond", () => {
    expect(performanceHeldUntil(promoted(0), DWELL, NOW)).toBe(NOW + DWELL);
    expect(performanceHeldUntil(promoted(1 - DWELL), DWELL, NOW)).toBe(NOW + 1);
    expect(performanceHeldUntil(promoted(0 - DWELL), DWELL, NOW)).toBeUndefined();
  });

  it("tolerates a clock that is ahead by less than the dwell time", () => {
    expect(performanceHeldUntil(promoted(DWELL - 1), DWELL, NOW)).toBe(NOW + 2 * DWELL - 1);
    expect(performanceHeldUntil(promoted(DWELL), DWELL, NOW)).toBeUndefined();
    expect(performanceHeldUntil(promoted(86_400_000), DWELL, NOW)).toBeUndefined();
  });

  it("is disabled with a dwell time of 0", () => {
    expect(performanceHeldUntil(promoted(0), milliseconds(0), NOW)).toBeUndefined();
  });

  it("requires a transition time, the class performance and the profile performance", () => {
    expect(performanceHeldUntil(undefined, DWELL, NOW)).toBeUndefined();
    expect(performanceHeldUntil(twin({ schedulableClass: "performance" }), DWELL, NOW)).toBeUndefined();
    expect(
      performanceHeldUntil(twin({ schedulableClass: "performance", lastTransitionTime: "soon" }), DWELL, NOW),
    ).toBeUndefined();
    expect(
      performanceHeldUntil(twin({ schedulableClass: "eco", lastTransitionTime: iso(0) }), DWELL, NOW),
    ).toBeUndefined();
    expect(
      performanceHeldUntil(twin({ schedulableClass: "draining", lastTransitionTime: iso(0) }), DWELL, NOW),
    ).toBeUndefined();
    const half = twin({ schedulableClass: "performance", lastTransitionTime: iso(0) }, "eco");
    expect(performanceHeldUntil(half, DWELL, NOW)).toBeUndefined();
  });
});

describe("X-96 the time of the last transition", () => {
  it.each<[SchedulableClass, SchedulableClass]>([
    ["eco", "performance"],
    ["draining", "performance"],
    ["performance", "draining"],
    ["draining", "eco"],
  ])("is set to now when the class changes from %s to %s", (from, to) => {
    expect(lastTransitionTime({ schedulableClass: from, lastTransitionTime: iso(-1) }, to, NOW)).toBe(iso(0));
  });

  it("is unchanged while the class is unchanged, and is absent for the first class", () => {
    const there = { schedulableClass: "eco", lastTransitionTime: iso(-9) } as const;
    expect(lastTransitionTime(there, "eco", NOW)).toBe(iso(-9));
    expect(lastTransitionTime({ schedulableClass: "eco" }, "eco", NOW)).toBeUndefined();
    expect(lastTransitionTime(undefined, "performance", NOW)).toBeUndefined();
    expect(lastTransitionTime({}, "performance", NOW)).toBeUndefined();
  });
});

describe("X-96 a plan with held nodes", () => {
  const until = instant(NOW + 1000);
  const node = (name: string, own: Partial<PlanNode> = {}): PlanNode => ({
    name,
    density: { cpu: 1, gpu: 0, total: 1 },
    family: "f",
    ...own,
  });
  const profilesOf = (nodes: readonly PlanNode[], type: PolicyType = "static_partition") =>
    planProfiles(
      nodes,
      {
        type,
        staticHpFrac: 0.5,
        queue: { hpBaseFrac: 0.5, hpMin: 0, hpMax: 99, perfPerHpNode: 1 },
        fitReserve: 0.9,
        reconcileInterval: milliseconds(60_000),
      },
      { performancePods: 0, now: instant(0) },
    ).nodes.map(({ name, profile }) => `${name} ${profile}`);

  it.each<PolicyType>(["static_partition", "queue_aware_v1"])(
    "keeps them on performance beyond hp_count under %s",
    (type) => {
      expect(profilesOf([node("a"), node("b", { heldUntil: until })], type)).toEqual([
        "a performance",
        "b performance",
      ]);
    },
  );

  it("fills hp_count without counting held nodes", () => {
    const nodes = [node("a"), node("b"), node("c", { heldUntil: until }), node("d")];
    expect(profilesOf(nodes)).toEqual(["a performance", "b performance", "c performance", "d eco"]);
  });

  it("lets a pin override the hold", () => {
    expect(profilesOf([node("a"), node("b", { heldUntil: until, pin: "eco" })])).toEqual(["a performance", "b eco"]);
  });

  it("holds nothing under rule_swap_v1", () => {
    expect(profilesOf([node("a", { heldUntil: until }), node("b")], "rule_swap_v1")).toEqual([
      "a eco",
      "b performance",
    ]);
  });
});
