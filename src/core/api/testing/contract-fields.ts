/**
 * The fields of every kind, for tests only. Written by hand from docs/reference/contract.md, section 1. The schemas follow
 * this file and not the reverse, so that the tests hold them to the contract. `!` marks a required field.
 */
const watts = "number >= 0";
const count = "integer >= 0";
const score = "number >= 0 <= 100";
const percentOfMax = "number > 0 <= 100";
const warnings = ["text"];
const quality = "exact|heuristic|unavailable";
const exactness = "exact|proxy|generic";
const result = "applied|blocked|error|none";

const conditions = [
  {
    "type!": "text",
    "status!": "True|False|Unknown",
    observedGeneration: count,
    "lastTransitionTime!": "timestamp",
    "reason!": "text",
    "message!": "text",
  },
];

const powerTarget = {
  "nodeName!": "text",
  "profile!": "performance|eco",
  cpu: { packagePowerCapWatts: "number >= 1", packagePowerCapPctOfMax: percentOfMax },
  gpu: { powerCap: { scope: "perGpu", capWattsPerGpu: "number >= 1", capPctOfMax: percentOfMax } },
  policy: { name: "text" },
  scheduling: { draining: "boolean" },
};

const device = {
  rawModel: "text",
  model: "text",
  vendor: "text",
  controlAvailable: "boolean",
  telemetryAvailable: "boolean",
  quality,
  warnings,
};

export const nodeHardware = {
  "spec!": { "nodeName!": "text" },
  status: {
    cpu: {
      ...device,
      sockets: count,
      coresPerSocket: count,
      totalCores: count,
      driverFamily: "text",
      capRange: { type: "text", minWattsPerSocket: watts, maxWattsPerSocket: watts },
      landmarks: {
        minFreqMHz: "number >= 0",
        nominalFreqMHz: "number >= 0",
        maxBoostMHz: "number >= 0",
        lowestNonlinearFreqMHz: "number >= 0",
      },
    },
    gpu: {
      ...device,
      present: "boolean",
      count,
      capRangePerGpu: { minWatts: watts, maxWatts: watts, defaultWatts: watts },
      currentCapWatts: watts,
      slicing: { supported: "boolean", modes: ["text"] },
    },
    memory: { totalBytes: count },
    inventoryResolution: {
      hardwareCatalogKey: { cpu: "text", gpu: "text" },
      exactness: { cpu: exactness, gpu: exactness },
    },
    capabilities: { cpuControl: "boolean", gpuControl: "boolean", cpuTelemetry: "boolean", gpuTelemetry: "boolean" },
    quality: { overall: quality, warnings },
    updatedAt: "timestamp",
  },
};

const twinReport = { backend: "text", result, message: "text", observedPowerWatts: watts, updatedAt: "timestamp" };

export const nodeTwin = {
  "spec!": {
    ...powerTarget,
    caps: { "profile!": "performance|eco", cpu: "text", gpu: "text" },
    power: { "state!": "on|off", reason: "text" },
  },
  status: {
    schedulableClass: "performance|eco|draining|asleep|unknown",
    predictedPowerHeadroomScore: score,
    predictedCoolingStressScore: score,
    coolingStressNow: score,
    predictedPsuStressScore: score,
    effectiveCapState: { cpuPct: score, gpuPct: score },
    expectedSlowdownPct: "number >= 0",
    hardwareDensityScore: "number >= 0 <= 2",
    estimatedPUE: "number >= 1",
    powerMeasurement: {
      source: "kepler|utilization|static|agent|http|prometheus",
      measuredAt: "timestamp",
      measuredNodePowerW: watts,
      estimatedGpuPowerW: watts,
      serverPowerW: watts,
      cpuCappedPowerW: watts,
      gpuCappedPowerW: watts,
      nodeCappedPowerW: watts,
      cpuTdpW: watts,
      gpuTdpW: watts,
      nodeTdpW: watts,
      powerTrendWPerMin: "number",
    },
    controlStatus: { observedGeneration: "integer >= 0", cpu: twinReport, gpu: twinReport },
    power: { "state!": "on|stopping|off|waking|failed", since: "timestamp" },
    awaitedBy: {
      "pod!": "text",
      "uid!": "text",
      priority: "integer >= -2147483648 <= 2147483647",
      "since!": "timestamp",
      "until!": "timestamp",
      spare: { "cpu!": "number >= 0", "memory!": "number >= 0" },
    },
    conditions,
    lastTransitionTime: "timestamp",
    lastUpdated: "timestamp",
  },
};

export const nodePowerProfile = { "spec!": powerTarget };

const timeoutSeconds = "integer >= 1 <= 300";
const source = {
  "type!": "none|host|http|prometheus",
  http: { "endpoint!": "text", timeoutSeconds },
  prometheus: { "endpoint!": "text", "query!": "text" },
};
const control = (mode: string) => ({
  "type!": "none|host|http",
  http: { "endpoint!": "text", timeoutSeconds, mode },
});
const profileReport = {
  backend: "text",
  result,
  message: "text",
  observed: { powerWatts: watts, capWatts: watts, throttlePct: score },
  updatedAt: "timestamp",
};

export const telemetryProfile = {
  "spec!": {
    "target!": { "scope!": "node|cluster", nodeName: "text" },
    sources: { cpu: source, gpu: source, thermal: source, context: source },
    controls: { cpu: control("auto|rapl|dvfs"), gpu: control("auto|powercap") },
  },
  status: { control: { cpu: profileReport, gpu: profileReport }, conditions },
};

const secretRef = { "name!": "text" };
const outcome = { "at!": "timestamp", seconds: "number >= 0", "result!": "succeeded|failed" };

export const powerEndpoint = {
  "spec!": {
    "nodeName!": "text",
    redfish: {
      "address!": "text",
      systemId: "text",
      credentialsSecretRef: secretRef,
      caSecretRef: secretRef,
      insecureSkipVerify: "boolean",
    },
    metal3: { "namespace!": "text", "name!": "text" },
    webhook: { "url!": "text", credentialsSecretRef: secretRef },
  },
  status: {
    powerState: "on|off|unknown",
    observedAt: "timestamp",
    wakeProven: "boolean",
    provenGeneration: "integer >= 1",
    lastWake: outcome,
    lastSleep: outcome,
    failures: count,
    cyclesToday: count,
    operation: {
      "type!": "sleep|wake",
      "step!": "taint|count|shutdown|force|on|ready|untaint",
      startedAt: "timestamp",
      stepAt: "timestamp",
      attempt: "integer >= 1",
      test: "boolean",
      proves: "boolean",
      generation: "integer >= 1",
      bootBefore: "text",
      heartbeatBefore: "text",
      reportBefore: "text",
    },
    conditions,
  },
};
