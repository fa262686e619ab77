import { describe, expect, it } from "vitest";
import type { NodeTwinStatus } from "../api/index.ts";
import { hardwareView } from "../inventory/index.ts";
import { instant } from "../units/index.ts";
import { type DebugRow, debugReport } from "./debug.ts";
import { defaultScoringSettings as settings } from "./formula.ts";

const now = instant(Date.UTC(2026, 2, 1, 12));

const twin = {
  schedulableClass: "performance",
  lastUpdated: "2026-03-01T11:59:00Z",
  predictedPowerHeadroomScore: 10,
  predictedCoolingStressScore: 20,
  powerMeasurement: { measuredNodePowerW: 450, nodeCappedPowerW: 1200, nodeTdpW: 2000, powerTrendWPerMin: -5.2 },
} as NodeTwinStatus;

const gpuNode = hardwareView({ metadata: { name: "node-0" } }, {
  cpu: { sockets: 2, totalCores: 128, capRange: { maxWattsPerSocket: 350 } },
  gpu: { present: true, count: 8, capRangePerGpu: { maxWatts: 400 } },
} as Parameters<typeof hardwareView>[1]);

function row(
  ...[node, changed]: [
    Parameters<typeof debugReport>[0] extends Iterable<infer Node> ? Node : never,
    Partial<typeof settings>?,
  ]
) {
  return debugReport([node], now, { ...settings, ...changed }).nodes[0] as DebugRow;
}

describe("debugReport", () => {
  it("SCH-47 lists the coefficients", () => {
    const coefficients = { cpu: 0.8, gpuStandard: 0.6, gpuPerformance: 0.9 };
    expect(debugReport([], now, { ...settings, coefficients })).toEqual({
      coefficients: { cpuUtilCoeff: 0.8, gpuUtilCoeffStandard: 0.6, gpuUtilCoeffPerformance: 0.9 },
      nodes: [],
    });
  });

  it("SCH-48 SCH-49 shows the scoring inputs of a node", () => {
    expect(row({ name: "node-0", twin, hardware: gpuNode })).toEqual({
      nodeName: "node-0",
      schedulableClass: "performance",
      headroom: 62.5,
      coolingStress: 20,
      measuredPowerW: 450,
      cappedPowerW: 1200,
      nodeTdpW: 2000,
      powerTrendWPerMin: -5.2,
      baseScore: 55.75,
      cpuTotalCores: 128,
      cpuMaxWattsTotal: 700,
      gpuCount: 8,
      gpuMaxWattsPerGpu: 400,
      hasGpu: true,
      stale: false,
    });
  });

  it("X-94 uses the predicted headroom without a measurement; baseScore = 0.7·headroom + 0.15·(100 − stress)", () => {
    const { powerMeasurement: _, ...unmeasured } = twin;
    expect(
      row({ name: "n", twin: { ...unmeasured, predictedPowerHeadroomScore: 72.5 } as NodeTwinStatus }),
    ).toMatchObject({
      headroom: 72.5,
      baseScore: 72.5 * 0.7 + 80 * 0.15,
      measuredPowerW: null,
    });
  });

  it("SCH-49 marks a twin older than the threshold as stale", () => {
    expect(row({ name: "n", twin }, { stalenessThreshold: 59_999 as typeof settings.stalenessThreshold }).stale).toBe(
      true,
    );
    expect(row({ name: "n", twin }, { stalenessThreshold: 60_000 as typeof settings.stalenessThreshold }).stale).toBe(
      false,
    );
  });

  it("SCH-48 SCH-49 has every field, null where it is unknown; a node without a twin is unknown and stale", () => {
    expect(JSON.parse(JSON.stringify(row({ name: "n" })))).toEqual({
      nodeName: "n",
      schedulableClass: "unknown",
      headroom: null,
      coolingStress: null,
      measuredPowerW: null,
      cappedPowerW: null,
      nodeTdpW: null,
      powerTrendWPerMin: null,
      baseScore: null,
      cpuTotalCores: null,
      cpuMaxWattsTotal: null,
      gpuCount: null,
      gpuMaxWattsPerGpu: null,
      hasGpu: null,
      stale: true,
    });
  });

  it("shows a CPU-only node without GPUs", () => {
    const hardware = hardwareView({ metadata: { name: "n" }, status: { allocatable: { cpu: "64" } } }, undefined);
    expect(row({ name: "n", hardware })).toMatchObject({ gpuCount: 0, gpuMaxWattsPerGpu: null, hasGpu: false });
  });

  it("lists every given node in order", () => {
    const { nodes } = debugReport([{ name: "b" }, { name: "a", twin }], now, settings);
    expect(nodes.map(({ nodeName }) => nodeName)).toEqual(["b", "a"]);
  });
});
