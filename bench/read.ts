import { nodeTwinKind, readObject } from "../src/core/api/index.ts";
import type { Scenario } from "./scenario.ts";

const NODES = 5000;

const twin = (index: number) => ({
  apiVersion: "joulie.io/v1alpha1",
  kind: "NodeTwin",
  metadata: {
    name: `node-${index}.rack-${index % 40}.example.com`,
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    resourceVersion: String(100_000 + index),
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
  spec: {
    nodeName: `node-${index}.rack-${index % 40}.example.com`,
    profile: index % 3 === 0 ? "performance" : "eco",
    cpu: { packagePowerCapPctOfMax: 60 },
    gpu: { powerCap: { scope: "perGpu", capPctOfMax: 60, capWattsPerGpu: 420 } },
    policy: { name: "queue_aware_v1" },
    scheduling: { draining: false },
  },
  status: {
    schedulableClass: "eco",
    predictedPowerHeadroomScore: 41.22,
    predictedCoolingStressScore: 31.3,
    predictedPsuStressScore: 60,
    effectiveCapState: { cpuPct: 60, gpuPct: 60 },
    hardwareDensityScore: 1.25,
    estimatedPUE: 1.2,
    powerMeasurement: {
      source: "agent",
      measuredAt: "2026-01-01T00:00:00Z",
      measuredNodePowerW: 1000 + (index % 100),
      cpuCappedPowerW: 480,
      gpuCappedPowerW: 960,
      nodeCappedPowerW: 1440,
      cpuTdpW: 800,
      gpuTdpW: 1600,
      nodeTdpW: 2400,
      powerTrendWPerMin: -5.2,
    },
    lastUpdated: "2026-01-01T00:00:00Z",
  },
});

const twins = Array.from({ length: NODES }, (_, index) => twin(index));
const texts = twins.map((object) => JSON.stringify(object));

export const scenario: Scenario = {
  about: `Reading ${NODES} NodeTwins through the schema, against JSON.parse of the same objects, which every client pays anyway`,
  repeats: 9,
  measure: () => ({
    "JSON.parse alone": perObject(() => {
      for (const text of texts) JSON.parse(text);
    }),
    "read, all good": perObject(() => {
      for (const object of twins) if (!readObject(nodeTwinKind, object).ok) throw new Error("a good twin was refused");
    }),
  }),
  goals: [
    {
      says: "read / JSON.parse",
      of: ({ "read, all good": ours = Number.NaN, "JSON.parse alone": parse = Number.NaN }) => ours / parse,
      atMost: 3,
    },
  ],
};

function perObject(work: () => void) {
  const start = performance.now();
  work();
  return { unit: "µs per twin", value: ((performance.now() - start) * 1000) / NODES };
}
