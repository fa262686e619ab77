import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../platform/config/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { energySettingsOf, extenderConfig, scoringSettingsOf } from "../config.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass } from "../testing/extender-harness.ts";

let harness: ExtenderHarness;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

const hardware = {
  cpu: { totalCores: 128, sockets: 2, capRange: { type: "watts", maxWattsPerSocket: 350 } },
  gpu: { present: true, count: 8, vendor: "nvidia", capRangePerGpu: { minWatts: 100, maxWatts: 400 } },
};

interface Explained {
  readonly verb: string;
  readonly pod: { readonly name: string };
  readonly [field: string]: unknown;
}
const decisions = { path: "/debug/decisions", of: (body: unknown) => (body as { decisions: Explained[] }).decisions };

describe("/debug/scoring", () => {
  it("SCH-47 SCH-48 SCH-49 SCH-50 X-94 lists every node with the documented fields, for no pod", async () => {
    await harness.createNode("node-0");
    await harness.createNode("bare", {}, {});
    await harness.hardware("node-0", hardware);
    await harness.twin("node-0", {
      ...calmTwinStatus,
      powerMeasurement: {
        measuredNodePowerW: 450,
        nodeCappedPowerW: 1200,
        nodeTdpW: 2000,
        powerTrendWPerMin: -5.2,
      },
    });
    const extender = await harness.start({ MARGINAL_CPU_UTIL_COEFF: "0.8" });
    const { body } = await extender.get("/debug/scoring");
    expect(body).toEqual({
      coefficients: { cpuUtilCoeff: 0.8, gpuUtilCoeffStandard: 0.65, gpuUtilCoeffPerformance: 0.85 },
      nodes: [
        {
          nodeName: "bare",
          schedulableClass: "unknown",
          headroom: null,
          coolingStress: null,
          measuredPowerW: null,
          cappedPowerW: null,
          nodeTdpW: null,
          powerTrendWPerMin: null,
          baseScore: null,
          cpuTotalCores: null,
          cpuMaxWattsTotal: 150,
          gpuCount: 0,
          gpuMaxWattsPerGpu: null,
          hasGpu: false,
          stale: true,
        },
        {
          nodeName: "node-0",
          schedulableClass: "performance",
          headroom: 62.5,
          coolingStress: 20,
          measuredPowerW: 450,
          cappedPowerW: 1200,
          nodeTdpW: 2000,
          powerTrendWPerMin: -5.2,
          baseScore: 0.7 * 62.5 + 0.15 * 80,
          cpuTotalCores: 128,
          cpuMaxWattsTotal: 700,
          gpuCount: 8,
          gpuMaxWattsPerGpu: 400,
          hasGpu: true,
          stale: false,
        },
      ],
    });
  });

  it("returns thousands of nodes as one document", async () => {
    await Promise.all(Array.from({ length: 350 }, async (_, i) => harness.createNode(`n${i}`)));
    const extender = await harness.start();
    const { body } = await extender.get("/debug/scoring");
    expect(new Set((body as { nodes: { nodeName: string }[] }).nodes.map(({ nodeName }) => nodeName)).size).toBe(350);
  });
});

describe("/debug/decisions", () => {
  it("X-145 says with which variables the extender scores, as the extender itself reads them", async () => {
    const set = { SCORING: "energy", SLEEP_MODE: "on", SCORE_MAX: "10", TWIN_STALENESS_THRESHOLD: "7m" };
    const extender = await harness.start(set);
    const { variables } = (await extender.get<{ variables: Record<string, string> }>(decisions.path)).body;
    const valuesOf = (env: Record<string, string>) => {
      const parsed = parseConfig(extenderConfig, {
        env,
        flags: {},
        machine: { isTerminal: false, exists: () => false },
      });
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
      return parsed.value.values;
    };
    for (const settings of [scoringSettingsOf, energySettingsOf])
      expect(settings(valuesOf(variables))).toEqual(settings(valuesOf(set)));
  });

  it("explains the last answers, newest first, with the state at that time", async () => {
    for (const name of ["fast", "eco"]) await harness.createNode(name);
    await harness.twin("fast", calmTwinStatus);
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    await extender.filter(podOfClass("performance", { name: "first", cpu: "2" }), ["fast", "eco", "absent"]);
    const scores = await extender.scores(podOfClass("standard", { name: "second", gpu: "1" }), [
      "fast",
      "eco",
      "absent",
    ]);
    // Later changes do not affect the explanation.
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "draining" });
    await harness.until(async () => (await extender.scores(podOfClass("standard"), ["eco"]))["eco"] !== scores["eco"]);
    await harness.client.delete(resources.nodes, { name: "fast" });
    await harness.createNode("heir");
    await harness.until(async () => (await extender.scoredNode("heir")) !== undefined);

    // Another node uses the slot by now.
    const [first] = decisions.of((await extender.get(`${decisions.path}?pod=first`)).body);
    expect(first?.["nodes"]).toMatchObject([{ node: "fast" }, { node: "eco" }, { node: null }]);
    const all = decisions.of((await extender.get(decisions.path)).body);
    expect(all.at(-1)).toMatchObject({
      verb: "filter",
      pod: { namespace: "default", name: "first" },
      workloadClass: "performance",
      cpuCores: 2,
      candidates: 3,
      unknownNodes: 1,
      rejected: [{ reason: expect.stringContaining("class eco") as string, count: 1, nodes: ["eco"] }],
    });
    expect(all.at(-2)).toMatchObject({
      verb: "prioritize",
      gpus: { "nvidia.com/gpu": 1 },
      cluster: { clusterTrendWPerMin: 0, perfPressure: 50 },
      best: [
        { node: "eco", score: 57, breakdown: { profileBonus: 10, score: 57 } },
        { node: "fast", score: 32, breakdown: { pressureRelief: -15, score: 32 } },
      ],
    });
    expect(scores).toEqual({ eco: 57, fast: 32, absent: 50 });
  });

  it("?pod= shows the decisions for one pod with every node", async () => {
    for (const name of ["fast", "eco"]) await harness.createNode(name);
    await harness.twin("eco", { ...calmTwinStatus, schedulableClass: "eco" });
    const extender = await harness.start();
    await extender.filter(podOfClass("performance", { name: "a" }), ["fast", "eco", "absent"]);
    await extender.scores(podOfClass("performance", { name: "a" }), ["fast"]);
    await extender.scores(podOfClass("standard", { name: "b" }), ["fast"]);
    const byName = decisions.of((await extender.get(`${decisions.path}?pod=a`)).body);
    expect(byName).toMatchObject([
      { verb: "prioritize", nodes: [{ node: "fast", score: 50 }] },
      {
        verb: "filter",
        nodes: [
          { node: "fast", rejection: null },
          { node: "eco", rejection: expect.stringContaining("eco") as string },
          { node: null, rejection: null },
        ],
      },
    ]);
    expect(decisions.of((await extender.get(`${decisions.path}?pod=default/a`)).body)).toEqual(byName);
    expect(decisions.of((await extender.get(`${decisions.path}?pod=other/a`)).body)).toEqual([]);
  });

  it("keeps the last hundred decisions, and only the count of oversized ones", async () => {
    const extender = await harness.start();
    for (let i = 0; i < 105; i++) await extender.scores(podOfClass("standard", { name: `p${i}` }), []);
    const names = Array.from({ length: 20_000 }, (_, i) => `n${i}`);
    await extender.scores(podOfClass("standard", { name: "huge" }), names);
    const retained = decisions.of((await extender.get(decisions.path)).body);
    expect(retained).toHaveLength(100);
    expect([retained[0], retained[1], retained[99]]).toMatchObject([
      { pod: { name: "huge" }, candidates: 20_000, unknownNodes: 0 },
      { pod: { name: "p104" } },
      { pod: { name: "p6" } },
    ]);
  });
});
