import { describe, expect, it } from "vitest";
import type { NodeTwin } from "../api/index.ts";
import { instant, isoTime } from "../units/index.ts";
import { defaultReportSettings } from "./cluster-objects.ts";
import { summarizeNodes, totalsOver } from "./node-summary.ts";
import { findProblems } from "./problems.ts";
import { clusterOf, NOW, nodeObject, podObject, twinObject } from "./testing/objects.ts";

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

describe("power of a node", () => {
  const minutesAgo = (minutes: number) => isoTime(instant(NOW - minutes * 60_000));
  const stale = { lastUpdated: minutesAgo(6) };
  const totalsOf = (...twins: NodeTwin[]) => {
    const nodes = twins.map(({ metadata }) => nodeObject(metadata.name));
    return totalsOver(summarizeNodes(clusterOf(nodes, twins), defaultReportSettings));
  };

  it("CLI-10 is unknown once the operator no longer refreshes the twin, but its cap is known", () => {
    const trend = { source: "agent", measuredNodePowerW: 200, nodeCappedPowerW: 400, powerTrendWPerMin: 5 } as never;
    const twin = twinObject("a", { ...stale, powerMeasurement: trend });
    const [summary] = summarizeNodes(clusterOf([nodeObject("a")], [twin]), defaultReportSettings);
    expect(summary).toMatchObject({ drawn: undefined, trend: undefined, budget: 400, stale: true });
    expect(totalsOf(twin)).toMatchObject({ drawn: undefined, withPower: 0, measured: 0, budget: 400 });
  });

  it("CLI-10 is compared with the caps of the nodes that have a reading", () => {
    expect(totalsOf(twinObject("a"), twinObject("b", stale))).toMatchObject({
      drawn: 200,
      budgetWithPower: 400,
      budget: 800,
      withPower: 1,
      measured: 1,
    });
  });

  it("CLI-10 is unknown in total if no node that is awake has a reading, although others are off", () => {
    const off = twinObject("a", { ...stale, power: { state: "off" } });
    expect(totalsOf(off, twinObject("b", stale))).toMatchObject({ drawn: undefined, withPower: 1, managed: 2 });
    expect(totalsOf(off, twinObject("b"))).toMatchObject({ drawn: 200, withPower: 2 });
  });

  it("CLI-10 of a machine that is off is 0 W, however old its twin is", () => {
    expect(totalsOf(twinObject("a", { ...stale, power: { state: "off" } }))).toMatchObject({ drawn: 0, withPower: 1 });
  });
});

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
