import { describe, expect, it } from "vitest";
import { demandViewOf, podsByNode } from "./demand-view.ts";
import { type PodSummary, podSummaryOf } from "./pod-summary.ts";

type Needs = "performance" | "eco" | "annotation" | "nothing";

let serial = 0;
function pod(needs: Needs, nodeName?: string, phase = "Running", label?: string): PodSummary {
  const selected = needs === "performance" || needs === "eco";
  const asked = {
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
  return podSummaryOf(asked, label);
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

  it("POL-18 counts P over the whole cluster, including pending pods", () => {
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

  it("POL-25 counts performance-sensitive pods per node, including bound pods that do not run yet", () => {
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

  it("OPR-10 uses the configured profile label", () => {
    const view = demandViewOf([pod("performance", "n1", "Running", "example.com/power")]);
    expect(view.constraints).toEqual({ "performance-only": 0, "eco-only": 0, general: 1 });
    expect(view.performancePods).toBe(0);
  });

  it("OPR-10 is all zero in an empty cluster", () => {
    expect(demandViewOf([])).toEqual({
      constraints: { "performance-only": 0, "eco-only": 0, general: 0 },
      performancePods: 0,
      performancePodsByNode: new Map(),
      waits: { cpu: {}, gpu: {} },
    });
  });
});

describe("pods by node", () => {
  it("contain the active pods bound to each node", () => {
    const [a, b, c] = [pod("nothing", "n1"), pod("performance", "n2", "Pending"), pod("eco", "n1", "Unknown")];
    const all = [a, b, c, pod("nothing"), pod("nothing", "n1", "Succeeded"), pod("nothing", "n3", "Failed")];
    expect([...podsByNode(all)]).toEqual([
      ["n1", [a, c]],
      ["n2", [b]],
    ]);
    expect(podsByNode([]).size).toBe(0);
  });
});
