import { describe, expect, it } from "vitest";
import { defaultReportSettings } from "./cluster-objects.ts";
import { summarizeNodes, totalsOver } from "./node-summary.ts";
import { findProblems } from "./problems.ts";
import { clusterOf, nodeObject, podObject, twinObject } from "./testing/objects.ts";

const cluster = clusterOf([nodeObject("a"), nodeObject("b")], [twinObject("a", { schedulableClass: "eco" })], {
  pods: [
    podObject("p", { node: "a", workloadClass: "performance", cpu: "3" }),
    podObject("q", { node: "a" }),
    podObject("ended", { node: "a", phase: "Succeeded" }),
    podObject("waiting"),
  ],
});
const unreadable = { ...cluster, pods: undefined };
const podsOf = (objects: typeof cluster | typeof unreadable) =>
  summarizeNodes(objects, defaultReportSettings).map(({ pods, performancePods, allocation: { cpus, gpus } }) => ({
    pods,
    performancePods,
    cpus,
    gpus,
  }));

describe("pods of a node", () => {
  it("CLI-11 are counted while they run, with what they request; a node without pods has 0", () => {
    expect(podsOf(cluster)).toEqual([
      { pods: 2, performancePods: 1, cpus: 4, gpus: 0 },
      { pods: 0, performancePods: 0, cpus: 0, gpus: 0 },
    ]);
    expect(totalsOver(summarizeNodes(cluster, defaultReportSettings))).toMatchObject({
      pods: 2,
      podsByClass: { performance: 1, standard: 1 },
    });
  });

  it("CLI-11 are unknown, never 0, if the pods cannot be read; the capacity of the node is known", () => {
    const unknown = { pods: undefined, performancePods: undefined, cpus: undefined, gpus: undefined };
    expect(podsOf(unreadable)).toEqual([unknown, unknown]);
    const summaries = summarizeNodes(unreadable, defaultReportSettings);
    expect(summaries[0]?.allocation).toMatchObject({ cpuCapacity: 64, gpuCapacity: 0 });
    expect(totalsOver(summaries)).toMatchObject({ managed: 2, pods: undefined, podsByClass: undefined });
  });

  it("CLI-01 that cannot be read are no problem of a node", () => {
    const ids = (objects: typeof cluster | typeof unreadable) =>
      findProblems(objects, defaultReportSettings).map(({ id }) => id);
    expect(ids(cluster)).toContain("performance-pods-on-eco");
    expect(ids(unreadable)).not.toContain("performance-pods-on-eco");
  });
});
