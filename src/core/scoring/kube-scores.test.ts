import { describe, expect, it } from "vitest";
import { allocationScore, balancedAllocationScore, kubeScore, nodesToScore } from "./kube-scores.ts";

const node = { milliCpu: 10_000, memory: 1000 };
const none = { milliCpu: 0, memory: 0 };

describe("kube-scheduler's resource scores", () => {
  it("LeastAllocated truncates the share of each resource, then their mean", () => {
    // 66.6… % of the CPU and 50.5 % of the memory are left: (66 + 50) / 2.
    expect(allocationScore({ milliCpu: 3000, memory: 1000 }, none, { milliCpu: 1000, memory: 495 })).toBe(58);
    expect(allocationScore(node, { milliCpu: 9000, memory: 0 }, { milliCpu: 2000, memory: 0 })).toBe(50);
    expect(allocationScore(none, none, none)).toBe(0);
  });

  it("MostAllocated truncates as LeastAllocated does, and counts at most the whole node", () => {
    expect(
      allocationScore({ milliCpu: 3000, memory: 1000 }, none, { milliCpu: 1000, memory: 495 }, "MostAllocated"),
    ).toBe(41);
    expect(allocationScore(node, { milliCpu: 9000, memory: 0 }, { milliCpu: 2000, memory: 0 }, "MostAllocated")).toBe(
      50,
    );
    expect(allocationScore(none, none, none, "MostAllocated")).toBe(0);
  });

  it("BalancedAllocation is 75 if the balance stays, more if it improves, less if it suffers", () => {
    expect(balancedAllocationScore(node, none, { milliCpu: 1000, memory: 100 })).toBe(75);
    expect(balancedAllocationScore(node, { milliCpu: 5000, memory: 0 }, { milliCpu: 0, memory: 500 })).toBe(87);
    expect(balancedAllocationScore(node, none, { milliCpu: 5000, memory: 0 })).toBe(62);
  });

  it("a pod without requests is scored by LeastAllocated alone", () => {
    expect(kubeScore(node, none, none)).toBe(100);
    expect(kubeScore(node, none, { milliCpu: 1000, memory: 100 })).toBe(90 + 75);
  });

  it("looks for all nodes of a small cluster and for a falling share of a large one", () => {
    expect([50, 100, 250, 1000, 5000, 10_000].map((nodes) => nodesToScore(nodes))).toEqual([
      50, 100, 120, 420, 500, 500,
    ]);
    expect([99, 2000, 5000].map((nodes) => nodesToScore(nodes, 5))).toEqual([99, 100, 250]);
  });
});
