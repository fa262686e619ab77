import { describe, expect, it } from "vitest";
import { type Node, parseLabelSelector } from "../api/index.ts";
import { eligibilityOf, keptProfile } from "./eligibility.ts";
import { type GuardMemory, guard } from "./guard.ts";

const parsed = parseLabelSelector("joulie.io/managed=true");
const settings = { selector: parsed.ok ? parsed.value : [], reservedLabel: "joulie.io/reserved" };
const node = (labels?: Record<string, string>, unschedulable?: boolean): Node => ({
  metadata: { name: "n", ...(labels && { labels }) },
  ...(unschedulable !== undefined && { spec: { unschedulable } }),
});
const managed = { "joulie.io/managed": "true" };

describe("eligibility", () => {
  it("OPR-02 takes the nodes the selector matches and no others", () => {
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

describe("a reserved or cordoned node", () => {
  const kept = (memory: GuardMemory, performancePods: number | undefined) =>
    guard(memory, { planned: keptProfile(memory) ?? "performance", performancePods }, { drainingCaps: "performance" });

  it("X-46 keeps its last target", () => {
    expect(keptProfile(undefined)).toBeUndefined();
    const performance: GuardMemory = { state: "ActivePerformance", caps: "performance" };
    const eco: GuardMemory = { state: "ActiveEco", caps: "eco" };
    expect(kept(performance, 0)).toEqual({ memory: performance });
    expect(kept(eco, 0)).toEqual({ memory: eco });
  });

  it("X-90 is still re-checked and released when it was draining", () => {
    const draining: GuardMemory = { state: "DrainingPerformance", caps: "performance" };
    expect(kept(draining, 1)).toEqual({ memory: draining });
    expect(kept(draining, undefined)).toEqual({ memory: draining });
    expect(kept(draining, 0)).toMatchObject({
      memory: { state: "ActiveEco", caps: "performance" },
      transition: { name: "unblocked", result: "applied" },
    });
  });
});
