import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildCatalogue, builtinCatalogue } from "./catalogue.ts";
import { byDensity, densityOf, FULL_SCALE_CORE_GHZ, FULL_SCALE_TFLOPS } from "./density.ts";
import { hardwareView } from "./hardware-view.ts";

const node = (labels: Record<string, string>, name = "n1") => ({ metadata: { name, labels } });

describe("density", () => {
  it("X-30 X-95 normalises by two of the best built-in CPU and eight of the best built-in GPU, ignoring additions", () => {
    expect(FULL_SCALE_CORE_GHZ).toBe(2 * 192 * 2.25);
    expect(FULL_SCALE_TFLOPS).toBe(8 * Math.max(...builtinCatalogue.gpus.map((entry) => entry.perf)));
    const { catalogue } = buildCatalogue({
      cpus: [{ key: "huge", coresPerSocket: 4096, tdpWatts: 900, baseGHz: 5 }],
      gpus: [{ key: "giant", vendor: "nvidia", maxWatts: 2000, perf: 1e6 }],
    });
    const labels = { "joulie.io/hw.cpu-model": "EPYC 9965", "joulie.io/hw.cpu-sockets": "2" };
    expect(densityOf(hardwareView(node(labels), undefined, { catalogue })).cpu).toBe(1);
    expect(
      densityOf(hardwareView(node({ ...labels, "joulie.io/hw.cpu-model": "huge" }), undefined, { catalogue })).cpu,
    ).toBe(1);
  });

  it("OPR-11 counts the CPU model with its sockets and cores, and the GPU model with its count", () => {
    const of = (labels: Record<string, string>) => densityOf(hardwareView(node(labels), undefined));
    const one = of({ "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.cpu-sockets": "1" });
    const two = of({ "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.cpu-sockets": "2" });
    expect(one.cpu).toBeCloseTo((96 * 2.4) / 864, 12);
    expect(two.cpu).toBeCloseTo(2 * one.cpu, 12);
    const gpus = of({
      "joulie.io/hw.cpu-model": "EPYC 9654",
      "joulie.io/hw.cpu-sockets": "2",
      "joulie.io/hw.gpu-model": "H100 SXM",
      "joulie.io/hw.gpu-count": "8",
    });
    expect(gpus.gpu).toBeCloseTo((8 * 989) / FULL_SCALE_TFLOPS, 12);
    expect(gpus.total).toBe(gpus.cpu + gpus.gpu);
    expect(of({ "joulie.io/hw.gpu-model": "H100 PCIe", "joulie.io/hw.gpu-count": "8" }).gpu).toBeLessThan(gpus.gpu);
  });

  it("X-30 X-95 keeps each part in [0,1] and the sum in [0,2] for any input", () => {
    const figure = fc.oneof(fc.double(), fc.constantFrom(0, -1, Number.NaN, Infinity, 1e308));
    fc.assert(
      fc.property(figure, figure, figure, figure, (totalCores, baseGHz, count, perf) => {
        const { cpu, gpu, total } = densityOf({ cpu: { totalCores, baseGHz }, gpu: { count, perf } });
        for (const part of [cpu, gpu]) expect(part >= 0 && part <= 1).toBe(true);
        expect(total).toBe(cpu + gpu);
      }),
    );
  });

  it("X-30 an unknown node has density 0", () => {
    expect(densityOf({ cpu: { baseGHz: 2 } })).toEqual({ cpu: 0, gpu: 0, total: 0 });
  });
});

describe("before the agent has reported", () => {
  const ARM = new Set(["ampere", "aws", "nvidia"]);
  const shapes = fc.record({
    entry: fc.constantFrom(...builtinCatalogue.cpus),
    sockets: fc.constantFrom(1, 2, 4),
    model: fc.constantFrom("unnamed", "declared", "nfd"),
    namesSockets: fc.boolean(),
    namesArch: fc.boolean(),
    simultaneousThreads: fc.boolean(),
    keptBack: fc.integer({ min: 0, max: 4 }),
  });

  it("X-30 a node of any catalogue CPU ranks no higher than once its agent has reported", () => {
    fc.assert(
      fc.property(shapes, ({ entry, sockets, model, namesSockets, namesArch, simultaneousThreads, keptBack }) => {
        const totalCores = entry.coresPerSocket * sockets;
        const threads = totalCores * (simultaneousThreads ? entry.threadsPerCore : 1);
        const labels = {
          ...(model === "declared" && { "joulie.io/hw.cpu-model": entry.key }),
          ...(model === "nfd" && { "feature.node.kubernetes.io/cpu-model.name": entry.key }),
          ...(namesSockets && { "feature.node.kubernetes.io/cpu-sockets": String(sockets) }),
          ...(namesArch && { "kubernetes.io/arch": ARM.has(entry.vendor) ? "arm64" : "amd64" }),
        };
        const seen = {
          metadata: { name: "n1", labels },
          status: { capacity: { cpu: String(threads) }, allocatable: { cpu: String(threads - keptBack) } },
        };
        const reported = { cpu: { rawModel: entry.key, sockets, totalCores } };
        const before = densityOf(hardwareView(seen, undefined)).total;
        expect(before).toBeLessThanOrEqual(densityOf(hardwareView(seen, reported)).total);
        expect(before).toBeGreaterThan(0);
      }),
      { numRuns: 2000 },
    );
  });

  it("X-30 treats the CPUs in Kubernetes as threads: two per core, one per core on arm64", () => {
    const cores = (cpu: string, labels: Record<string, string> = {}) =>
      hardwareView({ ...node(labels), status: { capacity: { cpu } } }, undefined).cpu.totalCores;
    expect(cores("384")).toBe(192);
    expect(cores("384", { "kubernetes.io/arch": "amd64" })).toBe(192);
    expect(cores("128", { "kubernetes.io/arch": "arm64" })).toBe(128);
    expect([cores("1"), cores("3")]).toEqual([1, 2]);
  });

  it("X-30 assumes the slowest base clock of the catalogue for an unknown model", () => {
    const slowest = Math.min(...builtinCatalogue.cpus.map(({ baseGHz }) => baseGHz));
    expect(hardwareView(node({}), undefined).cpu.baseGHz).toBe(slowest);
  });
});

describe("sorting by density", () => {
  const at = (name: string, total: number) => ({ name, density: { cpu: total, gpu: 0, total } });

  it("OPR-12 X-30 sorts by density, then by name", () => {
    const sorted = [at("b", 0.2), at("c", 0.9), at("a", 0.2), at("B", 0.2)].toSorted(byDensity);
    expect(sorted.map(({ name }) => name)).toEqual(["c", "B", "a", "b"]);
  });

  it("OPR-12 does not depend on the order of the input", () => {
    const nodes = fc.uniqueArray(
      fc.record({ name: fc.string({ maxLength: 5 }), total: fc.constantFrom(0, 0.25, 0.5, 1, 2) }),
      { selector: ({ name }) => name, maxLength: 30 },
    );
    const shuffled = nodes.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        const order = (of: typeof list) => of.map(({ name, total }) => at(name, total)).toSorted(byDensity);
        expect(order(other)).toEqual(order(list));
      }),
    );
  });

  it("treats a node as equal to itself", () => {
    expect(byDensity(at("a", 1), at("a", 1))).toBe(0);
  });
});
