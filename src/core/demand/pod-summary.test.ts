import { describe, expect, it } from "vitest";
import type { Pod, PodSpec } from "../api/index.ts";
import { podSummaryOf } from "./pod-summary.ts";

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
const needs = (profile: string, label = "joulie.io/power-profile"): PodSpec => ({ nodeSelector: { [label]: profile } });

describe("pod summary", () => {
  it("contains node, class, constraint and demand", () => {
    const spec = { nodeName: "n1", ...needs("eco"), containers: [{ resources: { requests: { cpu: 2 } } }] };
    expect(podSummaryOf(podOf({ spec, annotated: "standard", phase: "Running" }))).toEqual({
      node: "n1",
      active: true,
      constraint: "eco-only",
      workloadClass: "standard",
      performanceSensitive: false,
      demand: { cpuCores: 2, gpus: new Map() },
    });
  });

  it("X-28 marks pods with the annotation or a constraint that excludes eco as performance-sensitive", () => {
    const isSensitive = (shape: PodShape, label?: string) => podSummaryOf(podOf(shape), label).performanceSensitive;
    expect(isSensitive({ annotated: "performance" })).toBe(true);
    expect(isSensitive({ spec: needs("performance") })).toBe(true);
    expect(isSensitive({ annotated: "standard", spec: needs("performance") })).toBe(true);
    expect(isSensitive({ annotated: "standard" })).toBe(false);
    expect(isSensitive({})).toBe(false);
    expect(isSensitive({ spec: needs("eco") })).toBe(false);
    expect(isSensitive({ spec: needs("performance") }, "example.com/power")).toBe(false);
    expect(isSensitive({ spec: needs("performance", "example.com/power") }, "example.com/power")).toBe(true);
  });

  it("returns an invalid class annotation for a warning", () => {
    expect(podSummaryOf(podOf({ annotated: "Performance" }))).toMatchObject({
      workloadClass: "standard",
      unrecognisedClass: "Performance",
    });
    expect(podSummaryOf(podOf({ annotated: "performance" }))).not.toHaveProperty("unrecognisedClass");
  });

  it("X-27 queues a pod with scheduling gates only after its last gate is removed", () => {
    const gated = (gates: readonly { name: string }[], more: PodSpec = {}) =>
      podSummaryOf(podOf({ annotated: "performance", spec: { ...more, schedulingGates: gates }, phase: "Pending" }));
    expect(gated([{ name: "example.com/quota" }])).toMatchObject({ active: false, performanceSensitive: true });
    expect(gated([])).toMatchObject({ active: true });
    // The API rejects such a pod, but a bound pod uses power on its node in any case.
    expect(gated([{ name: "g" }], { nodeName: "n1" })).toMatchObject({ active: true, node: "n1" });
  });

  it.each(["Pending", "Running", "Unknown", undefined])("phase %s is active from binding on", (phase) => {
    const bound = { spec: { nodeName: "n1" }, ...(phase !== undefined && { phase }) };
    expect(podSummaryOf(podOf(bound))).toMatchObject({ node: "n1", active: true });
    expect(podSummaryOf(podOf({ ...bound, deleted: true }))).toMatchObject({ node: "n1", active: true });
    expect(podSummaryOf(podOf({ ...bound, spec: {} }))).toMatchObject({ node: undefined, active: true });
    expect(podSummaryOf(podOf({ ...bound, spec: { nodeName: "" } })).node).toBeUndefined();
  });

  it.each(["Succeeded", "Failed"])("phase %s has no demand, terminating or not", (phase) => {
    const spec = { nodeName: "n1", ...needs("performance"), containers: [{ resources: { requests: { cpu: 2 } } }] };
    for (const deleted of [true, false]) {
      expect(podSummaryOf(podOf({ annotated: "performance", spec, phase, deleted }))).toEqual({
        node: undefined,
        active: false,
        constraint: "general",
        workloadClass: "standard",
        performanceSensitive: false,
        demand: { cpuCores: 0, gpus: new Map() },
      });
    }
  });
});

describe("pod summary of malformed pods", () => {
  const summaryOf = (json: string) => podSummaryOf(JSON.parse(json) as Pod);
  const nothing = {
    active: true,
    constraint: "general",
    workloadClass: "standard",
    performanceSensitive: false,
    demand: { cpuCores: 0, gpus: new Map() },
  };

  it.each([
    "{}",
    '{"metadata":null,"spec":null,"status":null}',
    '{"metadata":{"annotations":null},"spec":{"nodeSelector":null,"affinity":null,"containers":null,"initContainers":null}}',
    '{"metadata":5,"spec":"text","status":"text"}',
    '{"spec":{"affinity":{"nodeAffinity":null},"containers":{"0":{}},"resources":null}}',
    '{"spec":{"containers":[null,{"resources":null},{"resources":{"requests":null,"limits":null}}],"initContainers":[null]}}',
    '{"spec":{"containers":[{"resources":{"requests":"text","limits":7}}]}}',
  ])("treats %s as a pod without requests", (json) => {
    expect(summaryOf(json)).toEqual({ ...nothing, node: undefined });
  });

  it.each([
    "null",
    "[null]",
    '[{"matchExpressions":[null]}]',
    '[{"matchExpressions":[{}]}]',
    '[{"matchExpressions":[{"key":7,"operator":"Exists"}]}]',
    '[{"matchExpressions":[{"key":"zone","operator":"In","values":"a"}]}]',
    '[{"matchExpressions":[{"key":"zone","operator":"In","values":[null]}]}]',
    '[{"matchExpressions":[{"key":"zone","operator":"In","values":[7]}]}]',
    '[{"matchExpressions":[null,{"key":"zone","operator":"Exists"}]}]',
    '[{"matchFields":[null]}]',
    '[{"matchExpressions":5,"matchFields":"text"}]',
    '"text"',
  ])("treats required terms %s as matching nothing", (terms) => {
    const affinity = `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":${terms}}}}`;
    expect(summaryOf(`{"spec":{"nodeName":"n1","affinity":${affinity}}}`)).toEqual({
      ...nothing,
      node: "n1",
      constraint: "performance-only",
      performanceSensitive: true,
    });
  });
});
