import { describe, expect, it } from "vitest";
import { gpuProductLabels, labels, type NodePowerProfile, type NodeTwin, type NodeTwinStatus } from "../api/index.ts";
import { builtinCatalogue } from "../inventory/index.ts";
import type { NodePlan, PlanningSettings } from "../planning/index.ts";
import { capLimits } from "../policy/index.ts";
import type { SleepDecision } from "../sleep/index.ts";
import { linearCoolingModel } from "../twin/index.ts";
import { milliseconds, percent, watts } from "../units/index.ts";
import type { ClusterObjectsWithPods } from "./cluster-objects.ts";
import { planReport, replan } from "./plan-report.ts";
import { clusterOf, nodeObject, podObject, twinObject } from "./testing/objects.ts";

const settings: PlanningSettings = {
  eligibility: {
    selector: [{ key: labels.managed, operator: "In", values: ["true"] }],
    reservedLabel: labels.reserved,
  },
  policy: {
    type: "static_partition",
    staticHpFrac: 1,
    queue: { hpBaseFrac: 0.6, hpMin: 1, hpMax: 10, perfPerHpNode: 10 },
    fitReserve: 0.9,
    reconcileInterval: milliseconds(60_000),
  },
  minDwell: milliseconds(0),
  guard: { drainingCaps: "performance" },
  limitsOf: capLimits({
    cpu: {
      absolute: false,
      watts: { performance: watts(5000), eco: watts(120) },
      percent: { performance: percent(100), eco: percent(60) },
      onGpuNodes: true,
    },
    gpu: { absolute: false, percent: { performance: percent(100), eco: percent(60) }, modelCaps: {} },
  }),
  labels: { powerProfile: labels.powerProfile, draining: labels.draining },
  gpuProductLabels,
  catalogue: builtinCatalogue,
  twin: { cooling: linearCoolingModel() },
  powerSource: "auto",
  readingsFreshFor: milliseconds(300_000),
};

const full = { cpu: { packagePowerCapPctOfMax: percent(100) } };
const eco = { profile: "eco", cpu: { packagePowerCapPctOfMax: percent(60) } } as const;
const pinToEco: NodePowerProfile = { metadata: { name: "a" }, spec: { nodeName: "a", profile: "eco" } };

const reportOf = (twins: readonly NodeTwin[], more: Partial<ClusterObjectsWithPods> = {}, nodes = [nodeObject("a")]) =>
  planReport(replan(clusterOf(nodes, twins, more), settings));
const changeOf = (
  status: NodeTwinStatus,
  spec: Partial<NodeTwin["spec"]>,
  more: Partial<ClusterObjectsWithPods> = {},
) => reportOf([twinObject("a", status, spec)], more).changes[0];

describe("what changes next", () => {
  it("CLI-04 nothing, if every node has what the policy wants", () => {
    expect(reportOf([twinObject("a", {}, full)])).toMatchObject({ changes: [], unchanged: 1, performanceNodes: 1 });
  });

  it("CLI-04 a promotion, a demotion and a new node, with the policy's reason", () => {
    expect(changeOf({ schedulableClass: "eco" }, eco)).toMatchObject({
      kind: "promote",
      change: "eco → performance",
      waitsFor: undefined,
      reason: expect.stringMatching(/./) as string,
    });
    const profiles = new Map([["a", pinToEco]]);
    expect(changeOf({}, full, { profiles })).toMatchObject({ kind: "demote", change: "performance → eco" });
    expect(reportOf([]).changes).toMatchObject([{ node: "a", kind: "promote", change: "new → performance" }]);
  });

  it("CLI-04 a drain waits for performance pods and evicts nothing", () => {
    const profiles = new Map([["a", pinToEco]]);
    const pods = [podObject("p", { node: "a", workloadClass: "performance" })];
    const waitsFor = "1 performance pod to end; nothing is evicted";
    expect(changeOf({}, full, { profiles, pods })).toMatchObject({
      kind: "drain",
      change: "performance → draining",
      waitsFor,
    });
    const draining = { profile: "eco", scheduling: { draining: true }, ...full } as const;
    expect(changeOf({ schedulableClass: "draining" }, draining, { profiles, pods })).toMatchObject({
      change: "draining → eco",
      waitsFor,
    });
  });

  it("CLI-04 caps that follow, and caps of other settings", () => {
    const profiles = new Map([["a", pinToEco]]);
    const published = { profile: "eco", ...full } as const;
    expect(changeOf({ schedulableClass: "eco" }, published, { profiles })).toMatchObject({
      kind: "caps",
      change: "eco caps follow",
    });
    expect(changeOf({}, { cpu: { packagePowerCapPctOfMax: percent(90) } })).toMatchObject({
      kind: "caps",
      change: "caps change",
    });
  });

  it("CLI-04 a node that falls asleep or wakes, by what its NodeTwin asks for", () => {
    const wanted = (state: "on" | "off") => ({ ...full, power: { state, reason: "empty for 10m and not needed" } });
    const reason = "empty for 10m and not needed";
    expect(changeOf({}, wanted("off"))).toMatchObject({ kind: "sleep", reason, waitsFor: "the power program" });
    expect(changeOf({ power: { state: "stopping" } }, wanted("off"))?.waitsFor).toBe("the machine to shut down");
    expect(changeOf({ power: { state: "off" } }, wanted("on"))).toMatchObject({
      kind: "wake",
      waitsFor: "the power program",
    });
    expect(changeOf({ power: { state: "waking" } }, wanted("on"))?.waitsFor).toBe("the machine to boot");
  });

  it("CLI-04 a node that the operator decided to wake or put to sleep and has not published yet, and one it recommends", () => {
    const decided = (
      decision: Partial<SleepDecision>,
      twin: NodeTwin,
      mode: "on" | "recommend" = "on",
      blocked?: string,
    ) => {
      const plan = replan(clusterOf([nodeObject("a")], [twin]), settings);
      const node = plan.nodes.get("a") as NodePlan;
      const made = { name: "a", verdict: "needed", wanted: "on", reason: "because", ...decision } as const;
      const isWish = mode === "on" && (made.wanted === "off" || made.verdict === "wake");
      const power = isWish ? { power: { state: made.wanted, reason: made.reason } } : {};
      const nodes = new Map([["a", { ...node, spec: { ...node.spec, ...power } }]]);
      return planReport({ ...plan, nodes, sleep: { nodes: new Map([["a", made]]), waits: [], blocked } });
    };
    const awake = twinObject("a", {}, full);
    const off = { state: "off", reason: "empty" } as const;
    const asleep = twinObject("a", { power: { state: "off" } }, { ...full, power: off });
    expect(decided({ verdict: "sleep", wanted: "off" }, awake).changes).toMatchObject([
      { kind: "sleep", change: "falls asleep", reason: "because", waitsFor: undefined },
    ]);
    expect(decided({ verdict: "wake" }, asleep).changes).toMatchObject([
      { kind: "wake", reason: "because", waitsFor: undefined },
    ]);
    expect(decided({ verdict: "asleep", wanted: "off" }, asleep)).toMatchObject({ changes: [], unchanged: 1 });
    expect(decided({}, awake, "on", "pods cannot be read")).toMatchObject({
      changes: [],
      sleepBlocked: "pods cannot be read",
    });
    for (const verdict of ["sleep", "asleep"] as const)
      expect(decided({ verdict, wanted: "off" }, awake, "recommend").changes).toMatchObject([
        { kind: "sleep", change: "could sleep", waitsFor: "SLEEP_MODE=on; it only recommends now" },
      ]);
  });

  it("CLI-04 a node that Joulie does not manage any more", () => {
    const gone = { metadata: { name: "x", uid: "u" }, spec: { nodeName: "x", profile: "eco" } } as const;
    expect(reportOf([twinObject("a", {}, full), gone])).toMatchObject({
      changes: [{ node: "x", kind: "remove" }],
      unchanged: 1,
    });
  });
});
