import { describe, expect, it } from "vitest";
import { readCpuAddition, readGpuAddition } from "./additions.ts";
import { BUILTIN_CPUS, BUILTIN_GPUS, CPU_FAMILIES, CPU_PROXIES, GPU_PROXIES } from "./builtin.ts";
import models from "./builtin-models.json" with { type: "json" };
import type { CpuEntry } from "./catalogue-entry.ts";
import { NameHolders } from "./name-index.ts";
import { cpuNameParts, gpuNameParts } from "./normalise.ts";

const KEY = /^[a-z0-9]+(-[a-z0-9]+)*$/;

function expectFigure(figure: number | undefined, least: number, most: number): void {
  expect(figure).toBeGreaterThanOrEqual(least);
  expect(figure).toBeLessThanOrEqual(most);
}

/** "amdEpyc9004; boostGHz assumed: amdEpyc9004Sheet". */
function expectSources({ provenance, source = "" }: Pick<CpuEntry, "provenance" | "source">): void {
  expect(["measured", "vendor", "assumed"]).toContain(provenance);
  const named = source.split("; ").map((part) => part.split(": ").at(-1));
  for (const name of named) expect(Object.keys(models.sources)).toContain(name);
}

describe("the embedded CPUs", () => {
  it.each(BUILTIN_CPUS.map((entry) => [entry.key, entry] as const))(
    "%s has plausible, sourced figures",
    (key, entry) => {
      expect(key).toMatch(KEY);
      expectSources(entry);
      expectFigure(entry.coresPerSocket, 1, 512);
      expectFigure(entry.tdpWatts, 20, 600);
      expectFigure(entry.baseGHz, 1, 5);
      expectFigure(entry.boostGHz, entry.baseGHz, 6);
      expect([1, 2]).toContain(entry.threadsPerCore);
      if (entry.maxWatts !== undefined) {
        expectFigure(entry.minWatts, 20, entry.tdpWatts);
        expectFigure(entry.maxWatts, entry.tdpWatts, 600);
      }
      const loads = entry.curve?.map(([load]) => load) ?? [];
      expect(loads).toEqual(loads.toSorted((a, b) => a - b));
      for (const [, power] of entry.curve ?? []) expect(power > 0 && power <= 1).toBe(true);
      // Every server CPU is within these watts per core and GHz; a typo would not be.
      const wattsPerCoreGHz = entry.tdpWatts / (entry.coresPerSocket * entry.baseGHz);
      expect(wattsPerCoreGHz > 0.4 && wattsPerCoreGHz < 9).toBe(true);
    },
  );

  it("cover the documented families", () => {
    const families = Map.groupBy(BUILTIN_CPUS, (entry) => entry.family);
    const counts = Object.fromEntries([...families].map(([family, entries]) => [family, entries.length]));
    expect(counts).toMatchObject({
      "EPYC 7003": expect.toSatisfy((count: number) => count >= 19),
      "EPYC 9004": expect.toSatisfy((count: number) => count >= 19),
      "EPYC 9005": expect.toSatisfy((count: number) => count >= 23),
      "Xeon Ice Lake": expect.toSatisfy((count: number) => count >= 35),
      "Xeon Sapphire Rapids": expect.toSatisfy((count: number) => count >= 45),
      "Xeon Emerald Rapids": expect.toSatisfy((count: number) => count >= 25),
      "Xeon Granite Rapids": expect.toSatisfy((count: number) => count >= 25),
      "Ampere Altra": expect.any(Number),
      "Ampere Altra Max": expect.any(Number),
      Grace: 1,
      Graviton: 3,
    });
  });

  it("refer to representatives and proxies by existing keys", () => {
    const keys = new Set(BUILTIN_CPUS.map((entry) => entry.key));
    for (const { representative } of CPU_FAMILIES) expect(keys).toContain(representative);
    for (const { standsFor } of CPU_PROXIES) expect(keys).toContain(standsFor);
  });

  it("match only the pattern of their own family", () => {
    for (const entry of BUILTIN_CPUS) {
      const number = cpuNameParts(entry.key).id;
      const families = CPU_FAMILIES.filter(({ model }) => model.test(number)).map(({ family }) => family);
      expect(families.every((family) => family === entry.family)).toBe(true);
    }
  });
});

describe("the embedded GPUs", () => {
  it.each(BUILTIN_GPUS.map((entry) => [entry.key, entry] as const))(
    "%s has plausible, sourced figures",
    (key, entry) => {
      expect(key).toMatch(KEY);
      expectSources(entry);
      expectFigure(entry.maxWatts, 40, 2000);
      expectFigure(entry.defaultWatts, 40, entry.maxWatts);
      expectFigure(entry.minWatts, 0, entry.defaultWatts);
      expectFigure(entry.idleWatts, 5, entry.maxWatts / 2);
      expectFigure(entry.perf, 50, 5000);
      // Dense FP16, not sparse: no board computes beyond this per watt.
      expect(entry.perf / entry.defaultWatts).toBeLessThan(2.6);
    },
  );

  it("refer to proxies by existing keys", () => {
    const keys = new Set(BUILTIN_GPUS.map((entry) => entry.key));
    for (const { standsFor } of GPU_PROXIES) expect(keys).toContain(standsFor);
  });
});

describe("the built-in file", () => {
  it("has the format of a site's catalogue", () => {
    const none = (): undefined => undefined;
    for (const cpu of models.cpus) expect(readCpuAddition(cpu, none)).toEqual({ entry: cpu });
    for (const gpu of models.gpus) expect(readGpuAddition(gpu, none)).toEqual({ entry: gpu });
  });
});

describe("names", () => {
  it("are unique across the catalogue after normalisation, keys and aliases alike", () => {
    for (const [entries, partsOf] of [
      [BUILTIN_CPUS, cpuNameParts],
      [BUILTIN_GPUS, gpuNameParts],
    ] as const) {
      const names = new NameHolders(partsOf);
      expect(entries.flatMap((entry) => names.admit(entry) ?? [])).toEqual([]);
      expect(new Set(entries.map(({ key }) => key)).size).toBe(entries.length);
    }
  });

  it("of proxies are unique and differ from those of models", () => {
    for (const [entries, proxies, partsOf] of [
      [BUILTIN_CPUS, CPU_PROXIES, cpuNameParts],
      [BUILTIN_GPUS, GPU_PROXIES, gpuNameParts],
    ] as const) {
      const models = new Set(entries.flatMap(({ key, aliases }) => [key, ...aliases].map((name) => partsOf(name).id)));
      const names = proxies.flatMap((proxy) => proxy.names.map((name) => partsOf(name).id));
      expect(names.filter((name) => models.has(name))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});
