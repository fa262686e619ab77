import { describe, expect, it } from "vitest";
import type { NodeTwin } from "../api/index.ts";
import { instant, isoTime, watts } from "../units/index.ts";
import { defaultReportSettings } from "./cluster-objects.ts";
import { sourceText, summarizeNodes, totalsOver } from "./node-summary.ts";
import { findProblems } from "./problems.ts";
import { clusterOf, nodeObject, podObject, REPORT_TIME, twinObject } from "./testing/objects.ts";

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
  const minutesAgo = (minutes: number) => isoTime(instant(REPORT_TIME - minutes * 60_000));
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

describe("the source of a node's power", () => {
  it("X-156 says that the GPUs are estimated, and such a node does not count as measured", () => {
    const twinWith = (more: object) =>
      clusterOf(
        [nodeObject("a")],
        [twinObject("a", { powerMeasurement: { source: "kepler", measuredNodePowerW: watts(900), ...more } })],
      );
    const [partial, whole] = [{ estimatedGpuPowerW: 690 }, {}].map((more) =>
      summarizeNodes(twinWith(more), defaultReportSettings),
    );
    expect([partial, whole].map((nodes = []) => totalsOver(nodes).measured)).toEqual([0, 1]);
    expect([partial, whole].map((nodes) => nodes?.map(sourceText))).toEqual([["kepler, GPUs estimated"], ["kepler"]]);
    expect(sourceText({})).toBe("no source");
  });
});

describe("cooling and room of a node", () => {
  const figures = { coolingStressNow: 12, predictedCoolingStressScore: 89, predictedPowerHeadroomScore: 81 } as never;
  const summaryOf = (status: object) => {
    const twin = twinObject("a", { ...(figures as object), ...status });
    return summarizeNodes(clusterOf([nodeObject("a")], [twin]), defaultReportSettings)[0];
  };

  it("X-143 shows the power drawn against the power allowed, and the stress now beside the forecast at the cap", () => {
    const full = { source: "agent", measuredNodePowerW: 640, nodeCappedPowerW: 640 } as never;
    const expected = { used: 100, cooling: 12, coolingAtCap: 89, headroomAtCap: 81 };
    expect(summaryOf({ powerMeasurement: full })).toMatchObject(expected);
  });

  it("X-143 has no cooling stress, forecast or headroom while the node is asleep", () => {
    const nothing = { cooling: undefined, coolingAtCap: undefined, headroomAtCap: undefined };
    expect(summaryOf({ power: { state: "off" } })).toMatchObject(nothing);
  });

  it("X-143 shows no stress of now once the operator no longer refreshes the twin", () => {
    const lastUpdated = isoTime(instant(REPORT_TIME - 6 * 60_000));
    expect(summaryOf({ lastUpdated })).toMatchObject({ cooling: undefined, coolingAtCap: 89, used: undefined });
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
