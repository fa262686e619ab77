import { describe, expect, it } from "vitest";
import { type Node, type NodeTwinSpec, type Profile, parseLabelSelector } from "../api/index.ts";
import { eligibilityOf, keptProfile } from "./eligibility.ts";

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
  const spec = (profile: Profile, draining: boolean): NodeTwinSpec => ({
    nodeName: "n",
    profile,
    scheduling: { draining },
  });

  it("keeps the profile it was last given, draining or not, and gets none if it had none", () => {
    expect(keptProfile(undefined)).toBeUndefined();
    expect(keptProfile(spec("performance", false))).toBe("performance");
    expect(keptProfile(spec("eco", false))).toBe("eco");
    expect(keptProfile(spec("eco", true))).toBe("eco");
  });
});
