import { describe, expect, it } from "vitest";
import { gpuProductLabels, labels, type NodePowerProfile, type NodeTwin, type NodeTwinStatus } from "../api/index.ts";
import { builtinCatalogue } from "../inventory/index.ts";
import type { PlanningSettings } from "../planning/index.ts";
import { capIntents } from "../policy/index.ts";
import { agentHeartbeat, linearCoolingModel } from "../twin/index.ts";
import { milliseconds, percent, watts } from "../units/index.ts";
import type { ClusterObjects } from "./cluster-objects.ts";
import { planReport } from "./plan-changes.ts";
import { replan } from "./plan-snapshot.ts";
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
  capsOf: capIntents({
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
  agentHeartbeat,
  readingsFreshFor: milliseconds(300_000),
};

const full = { cpu: { packagePowerCapPctOfMax: percent(100) } };
const eco = { profile: "eco", cpu: { packagePowerCapPctOfMax: percent(60) } } as const;
const pinToEco: NodePowerProfile = { metadata: { name: "a" }, spec: { nodeName: "a", profile: "eco" } };

const reportOf = (twins: readonly NodeTwin[], more: Partial<ClusterObjects> = {}, nodes = [nodeObject("a")]) =>
  planReport(replan(clusterOf(nodes, twins, more), settings));
const changeOf = (status: NodeTwinStatus, spec: Partial<NodeTwin["spec"]>, more: Partial<ClusterObjects> = {}) =>
  reportOf([twinObject("a", status, spec)], more).changes[0];

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
    expect(changeOf({}, wanted("off"))).toMatchObject({ kind: "sleep", reason: "empty for 10m and not needed" });
    expect(changeOf({ power: { state: "off" } }, wanted("on"))).toMatchObject({ kind: "wake" });
  });

  it("CLI-04 a node that Joulie does not manage any more", () => {
    const gone = { metadata: { name: "x", uid: "u" }, spec: { nodeName: "x", profile: "eco" } } as const;
    expect(reportOf([twinObject("a", {}, full), gone])).toMatchObject({
      changes: [{ node: "x", kind: "remove" }],
      unchanged: 1,
    });
  });
});
