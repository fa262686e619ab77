import { describe, expect, it } from "vitest";
import { type Node, type NodeTwinSpec, type Profile, parseLabelSelector } from "../api/index.ts";
import { instant, milliseconds } from "../units/index.ts";
import { blockingTaintOf, eligibilityOf, lastTargetProfile } from "./eligibility.ts";
import { planProfiles } from "./plan.ts";

const parsed = parseLabelSelector("joulie.io/managed=true");
const settings = { selector: parsed.ok ? parsed.value : [], reservedLabel: "joulie.io/reserved" };
const node = (labels?: Record<string, string>, unschedulable?: boolean): Node => ({
  metadata: { name: "n", ...(labels && { labels }) },
  ...(unschedulable !== undefined && { spec: { unschedulable } }),
});
const managed = { "joulie.io/managed": "true" };

describe("eligibility", () => {
  it("OPR-02 accepts only the nodes that the selector matches", () => {
    expect(eligibilityOf(node(managed), settings)).toBe("eligible");
    expect(eligibilityOf(node({ "joulie.io/managed": "false" }), settings)).toBe("unmanaged");
    expect(eligibilityOf(node(), settings)).toBe("unmanaged");
    expect(
      eligibilityOf(node({ ...managed, "joulie.io/reserved": "true" }), {
        ...settings,
        selector: [{ key: "pool", operator: "Exists", values: [] }],
      }),
    ).toBe("unmanaged");
    expect(eligibilityOf(node(), { ...settings, selector: [] })).toBe("eligible");
  });

  it("OPR-03 skips reserved nodes, by the configured label", () => {
    expect(eligibilityOf(node({ ...managed, "joulie.io/reserved": "true" }), settings)).toBe("reserved");
    expect(eligibilityOf(node({ ...managed, "joulie.io/reserved": "true" }, true), settings)).toBe("reserved");
    expect(eligibilityOf(node({ ...managed, "joulie.io/reserved": "false" }), settings)).toBe("eligible");
    expect(eligibilityOf(node({ ...managed, held: "true" }), { ...settings, reservedLabel: "held" })).toBe("reserved");
  });

  it("OPR-04 skips unschedulable nodes", () => {
    expect(eligibilityOf(node(managed, true), settings)).toBe("cordoned");
    expect(eligibilityOf(node(managed, false), settings)).toBe("eligible");
    expect(eligibilityOf(node(undefined, true), settings)).toBe("unmanaged");
  });
});

describe("X-46 a node that cannot accept pods now", () => {
  const withTaint = (key: string, effect = "NoSchedule"): Node => ({
    metadata: { name: "n", labels: managed },
    spec: { taints: [{ key, effect }] },
  });
  const withReady = (status: string): Node => ({
    metadata: { name: "n", labels: managed },
    status: { conditions: [{ type: "Ready", status }] },
  });

  it.each(["False", "Unknown"])("is not eligible while its Ready condition is %s", (status) => {
    expect(eligibilityOf(withReady(status), settings)).toBe("not ready");
  });

  it("is eligible again when Ready is True or the condition is missing", () => {
    expect(eligibilityOf(withReady("True"), settings)).toBe("eligible");
    expect(eligibilityOf({ ...withReady("True"), status: { conditions: [] } }, settings)).toBe("eligible");
    const other = { type: "MemoryPressure", status: "False" };
    expect(eligibilityOf({ ...withReady("True"), status: { conditions: [other] } }, settings)).toBe("eligible");
  });

  it.each([
    ["node.kubernetes.io/not-ready", "NoSchedule"],
    ["node.kubernetes.io/unreachable", "NoExecute"],
    ["node.kubernetes.io/disk-pressure", "NoSchedule"],
    ["node-role.kubernetes.io/control-plane", "NoSchedule"],
    ["dedicated", "NoSchedule"],
    ["nvidia.com/gpu-driver-upgrade", "NoSchedule"],
    ["notjoulie.io/simulated", "NoSchedule"],
    ["joulie.io/asleep", "NoSchedule"],
  ])("is not eligible with the taint %s:%s", (key, effect) => {
    expect(eligibilityOf(withTaint(key, effect), settings)).toBe("tainted");
    expect(blockingTaintOf(withTaint(key, effect))).toEqual({ key, effect });
  });

  it.each([
    ["nvidia.com/gpu", "NoSchedule"],
    ["amd.com/gpu", "NoExecute"],
    ["gpu.intel.com/i915", "NoSchedule"],
    ["joulie.io/simulated", "NoSchedule"],
    ["dedicated", "PreferNoSchedule"],
  ])("stays eligible with the taint %s:%s", (key, effect) => {
    expect(eligibilityOf(withTaint(key, effect), settings)).toBe("eligible");
    expect(blockingTaintOf(withTaint(key, effect))).toBeUndefined();
  });

  it("reports the first reason of: unmanaged, reserved, cordoned, not ready, tainted", () => {
    const worst = { ...withReady("False"), spec: { unschedulable: true, taints: [{ key: "k", effect: "NoExecute" }] } };
    expect(eligibilityOf(worst, settings)).toBe("cordoned");
    expect(eligibilityOf({ ...worst, spec: { taints: worst.spec.taints } }, settings)).toBe("not ready");
  });

  it("is not planned: with the five densest of ten nodes NotReady, ready nodes get performance", () => {
    const nodes = Array.from({ length: 10 }, (_, index): Node => {
      const dense = index < 5;
      return {
        metadata: { name: `n${index}`, labels: managed },
        ...(dense && {
          spec: { taints: [{ key: "node.kubernetes.io/unreachable", effect: "NoSchedule" }] },
          status: { conditions: [{ type: "Ready", status: "Unknown" }] },
        }),
      };
    });
    const eligible = nodes.filter((each) => eligibilityOf(each, settings) === "eligible");
    const plan = planProfiles(
      eligible.map(({ metadata: { name } }) => ({ name, density: { cpu: 1, gpu: 0, total: 1 }, family: "f" })),
      {
        type: "static_partition",
        staticHpFrac: 0.5,
        queue: { hpBaseFrac: 0, hpMin: 0, hpMax: 0, perfPerHpNode: 1 },
        fitReserve: 0.9,
        reconcileInterval: milliseconds(60_000),
      },
      { performancePods: 0, now: instant(0) },
    );
    expect(plan.hpCount).toBe(3);
    expect(plan.nodes.filter(({ profile }) => profile === "performance").map(({ name }) => name)).toEqual([
      "n5",
      "n6",
      "n7",
    ]);
  });
});

describe("a reserved or cordoned node", () => {
  const spec = (profile: Profile, draining: boolean): NodeTwinSpec => ({
    nodeName: "n",
    profile,
    scheduling: { draining },
  });

  it("keeps its last profile, draining or not, and gets none if it had none", () => {
    expect(lastTargetProfile(undefined)).toBeUndefined();
    expect(lastTargetProfile(spec("performance", false))).toBe("performance");
    expect(lastTargetProfile(spec("eco", false))).toBe("eco");
    expect(lastTargetProfile(spec("eco", true))).toBe("eco");
  });
});
