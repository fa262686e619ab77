import { describe, expect, it } from "vitest";
import type { Pod, PodSpec } from "../api/index.ts";
import { countsOnNode, isActive, isPerformanceSensitive } from "./performance-sensitive.ts";

interface PodShape {
  readonly annotated?: string;
  readonly spec?: PodSpec;
  readonly phase?: string;
  readonly deleted?: boolean;
}

const podOf = ({ annotated, spec = {}, phase, deleted = false }: PodShape): Pod => ({
  metadata: {
    name: "p",
    ...(annotated !== undefined && { annotations: { "joulie.io/workload-class": annotated } }),
    ...(deleted && { deletionTimestamp: "2025-01-01T00:00:00Z" }),
  },
  spec,
  ...(phase !== undefined && { status: { phase } }),
});
const needsPerformance: PodSpec = { nodeSelector: { "joulie.io/power-profile": "performance" } };

describe("performance-sensitive pods", () => {
  it("X-28 are those with the annotation or a constraint that excludes eco", () => {
    expect(isPerformanceSensitive(podOf({ annotated: "performance" }))).toBe(true);
    expect(isPerformanceSensitive(podOf({ spec: needsPerformance }))).toBe(true);
    expect(isPerformanceSensitive(podOf({ annotated: "standard", spec: needsPerformance }))).toBe(true);
    expect(isPerformanceSensitive(podOf({ annotated: "standard" }))).toBe(false);
    expect(isPerformanceSensitive(podOf({}))).toBe(false);
    expect(isPerformanceSensitive(podOf({ spec: { nodeSelector: { "joulie.io/power-profile": "eco" } } }))).toBe(false);
  });

  it("X-28 reads the configured profile label", () => {
    expect(isPerformanceSensitive(podOf({ spec: needsPerformance }), "example.com/power")).toBe(false);
    const own = podOf({ spec: { nodeSelector: { "example.com/power": "performance" } } });
    expect(isPerformanceSensitive(own, "example.com/power")).toBe(true);
  });
});

describe("active pods", () => {
  it.each([
    ["Pending", true],
    ["Running", true],
    ["Unknown", true],
    [undefined, true],
    ["Succeeded", false],
    ["Failed", false],
  ])("X-27 phase %s is active: %s", (phase, active) => {
    expect(isActive(podOf(phase === undefined ? {} : { phase }))).toBe(active);
  });

  it("X-25 count on their node from binding to the end, terminating ones included", () => {
    const bound: PodSpec = { nodeName: "n1" };
    expect(countsOnNode(podOf({ spec: bound, phase: "Pending" }))).toBe(true);
    expect(countsOnNode(podOf({ spec: bound, phase: "Running" }))).toBe(true);
    expect(countsOnNode(podOf({ spec: bound, phase: "Running", deleted: true }))).toBe(true);
    expect(countsOnNode(podOf({ spec: bound, phase: "Succeeded" }))).toBe(false);
    expect(countsOnNode(podOf({ spec: bound, phase: "Failed", deleted: true }))).toBe(false);
    expect(countsOnNode(podOf({ phase: "Pending" }))).toBe(false);
    expect(countsOnNode(podOf({ spec: { nodeName: "" }, phase: "Running" }))).toBe(false);
  });
});
