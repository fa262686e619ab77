import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { demandViewOf } from "./demand-view.ts";

let serial = 0;
function pod(needs: "performance" | "eco" | "annotation" | "nothing", nodeName?: string, phase = "Running"): Pod {
  const selected = needs === "performance" || needs === "eco";
  return {
    metadata: {
      name: `p${serial++}`,
      ...(needs === "annotation" && { annotations: { "joulie.io/workload-class": "performance" } }),
    },
    spec: {
      ...(selected && { nodeSelector: { "joulie.io/power-profile": needs } }),
      ...(nodeName !== undefined && { nodeName }),
    },
    status: { phase },
  };
}

describe("demand view", () => {
  it("OPR-10 counts active pods as performance-constrained, eco-constrained or unconstrained", () => {
    const view = demandViewOf([
      pod("performance", "n1"),
      pod("performance"),
      pod("performance", "n1", "Succeeded"),
      pod("eco", "n2"),
      pod("eco", "n2", "Failed"),
      pod("nothing", "n2"),
      pod("nothing", "n1"),
      pod("annotation", "n1"),
    ]);
    expect(view.constraints).toEqual({ "performance-only": 2, "eco-only": 1, general: 3 });
  });

  it("POL-18 X-27 P spans the cluster and includes the pods still waiting for a node", () => {
    const pods = [
      pod("performance", "n1"),
      pod("annotation", "n2"),
      pod("annotation", undefined, "Pending"),
      pod("performance", undefined, "Pending"),
      pod("nothing", undefined, "Pending"),
      pod("annotation", "n1", "Succeeded"),
    ];
    expect(demandViewOf(pods).performancePods).toBe(4);
  });

  it("POL-25 X-25 counts performance-sensitive pods per node, bound ones that do not run yet included", () => {
    const { performancePodsByNode } = demandViewOf([
      pod("performance", "n1"),
      pod("annotation", "n1", "Pending"),
      pod("annotation", "n1", "Failed"),
      pod("nothing", "n1"),
      pod("annotation", "n2"),
      pod("eco", "n3"),
      pod("annotation", undefined, "Pending"),
    ]);
    expect([...performancePodsByNode]).toEqual([
      ["n1", 2],
      ["n2", 1],
    ]);
  });

  it("OPR-10 goes by the configured profile label", () => {
    const view = demandViewOf([pod("performance", "n1")], "example.com/power");
    expect(view.constraints).toEqual({ "performance-only": 0, "eco-only": 0, general: 1 });
    expect(view.performancePods).toBe(0);
  });

  it("OPR-10 is all zero in an empty cluster", () => {
    expect(demandViewOf([])).toEqual({
      constraints: { "performance-only": 0, "eco-only": 0, general: 0 },
      performancePods: 0,
      performancePodsByNode: new Map(),
    });
  });
});
