import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node, NodeHardwareStatus } from "../api/index.ts";
import { watts } from "../units/index.ts";
import { buildCatalogue, builtinCatalogue } from "./catalogue.ts";
import { type HardwareView, hardwareView } from "./hardware-view.ts";

type Resources = Record<string, string | number>;
const node = (labels: Record<string, string> = {}, allocatable: Resources = {}, capacity: Resources = {}): Node => ({
  metadata: { name: "n1", labels },
  status: { allocatable, capacity },
});
const NFD = "feature.node.kubernetes.io/";

const declared = {
  "joulie.io/hw.cpu-model": "Intel Xeon Gold 6430",
  "joulie.io/hw.cpu-sockets": "4",
  "joulie.io/hw.cpu-cores": "100",
  "joulie.io/hw.gpu-model": "NVIDIA L40S",
  "joulie.io/hw.gpu-count": "2",
};
const nfd = {
  [`${NFD}cpu-model.name`]: "AMD EPYC 7763 64-Core Processor",
  [`${NFD}cpu-vendor`]: "AMD",
  [`${NFD}cpu-sockets`]: "1",
  [`${NFD}pci-0302_10de.present`]: "true",
  "nvidia.com/gpu.product": "Tesla-T4",
  "nvidia.com/gpu.count": "4",
};
const discovered: NodeHardwareStatus = {
  cpu: {
    rawModel: "AMD EPYC 9654 96-Core Processor",
    vendor: "AuthenticAMD",
    sockets: 2,
    coresPerSocket: 96,
    totalCores: 192,
    capRange: { type: "package", minWattsPerSocket: watts(150), maxWattsPerSocket: watts(390) },
    landmarks: { nominalFreqMHz: 2450 },
  },
  gpu: {
    present: true,
    rawModel: "NVIDIA H100 80GB HBM3",
    vendor: "nvidia",
    count: 8,
    capRangePerGpu: { minWatts: watts(210), maxWatts: watts(690), defaultWatts: watts(680) },
  },
};

describe("precedence", () => {
  it("OPR-05 X-11 prefers the hardware that the agent discovered, field by field", () => {
    const view = hardwareView(node({ ...declared, ...nfd }, { "nvidia.com/gpu": "7", cpu: "384" }), discovered);
    expect(view.cpu).toMatchObject({
      model: "AMD EPYC 9654 96-Core Processor",
      key: "amd-epyc-9654",
      match: "exact",
      vendor: "amd",
      sockets: 2,
      coresPerSocket: 96,
      totalCores: 192,
      baseGHz: 2.45,
      maxWattsPerSocket: 390,
      minWattsPerSocket: 150,
      maxWatts: 780,
      defaultWatts: 720,
    });
    expect(view.cpu.idleWatts).toBeCloseTo(720 * 0.157, 9);
    expect(view.gpu).toMatchObject({
      key: "nvidia-h100-sxm",
      match: "exact",
      vendor: "nvidia",
      count: 8,
      maxWatts: 690,
      minWatts: 210,
      defaultWatts: 680,
      idleWatts: 79,
      perf: 989,
    });
    expect(view.cpu.from.maxWatts).toBe("discovered");
    expect(view.gpu?.from.maxWatts).toBe("discovered");
  });

  it("OPR-06 X-11 uses declared labels if the agent reported nothing", () => {
    const view = hardwareView(node({ ...declared, ...nfd }, { "nvidia.com/gpu": "7", cpu: "384" }), undefined);
    expect(view.cpu).toMatchObject({
      key: "intel-xeon-gold-6430",
      sockets: 4,
      totalCores: 100,
      coresPerSocket: 25,
      vendor: "intel",
    });
    expect(view.gpu).toMatchObject({ key: "nvidia-l40s", count: 2, maxWatts: 350 });
    expect(view.cpu.from.maxWatts).toBe("catalogue");
  });

  it("X-11 uses NFD and product labels next", () => {
    const view = hardwareView(node(nfd, { "nvidia.com/gpu": "28", cpu: "384" }), undefined);
    expect(view.cpu).toMatchObject({ key: "amd-epyc-7763", sockets: 1, vendor: "amd", totalCores: 64 });
    expect(view.gpu).toMatchObject({ key: "nvidia-t4", count: 4, vendor: "nvidia" });
  });

  it("X-11 takes the vendors from the labels that NFD publishes by default: vendor_id, and PCI class and vendor", () => {
    const labels = { [`${NFD}cpu-model.vendor_id`]: "AMD", [`${NFD}pci-1200_1002.present`]: "true" };
    const view = hardwareView(node(labels, { "amd.com/gpu": "8", cpu: "384" }), undefined);
    expect(view.cpu.vendor).toBe("amd");
    expect(view.gpu).toMatchObject({ vendor: "amd", count: 8 });
  });

  it("OPR-07 X-11 uses allocatable resources last", () => {
    for (const [resource, vendor] of [
      ["nvidia.com/gpu", "nvidia"],
      ["amd.com/gpu", "amd"],
      ["gpu.intel.com/i915", "intel"],
    ] as const) {
      const view = hardwareView(node({}, { [resource]: "4", cpu: "63500m" }), undefined);
      expect(view.gpu).toMatchObject({
        count: 4,
        vendor,
        match: "generic",
      });
      expect(view.cpu).toMatchObject({
        totalCores: 32,
        sockets: 1,
      });
    }
  });

  it("X-11 takes each field from the best origin that has it", () => {
    const view = hardwareView(node({ "joulie.io/hw.cpu-sockets": "2", ...nfd, "joulie.io/hw.gpu-count": "6" }), {
      cpu: { coresPerSocket: 48 },
      gpu: { rawModel: "NVIDIA L4" },
    });
    expect(view.cpu).toMatchObject({
      key: "amd-epyc-7763",
      sockets: 2,
      coresPerSocket: 48,
      totalCores: 96,
    });
    expect(view.gpu).toMatchObject({ key: "nvidia-l4", count: 6 });
  });

  it.each<[string, NodeHardwareStatus | undefined]>([
    ["none", undefined],
    ["an empty one", {}],
    ["empty blocks", { cpu: {}, gpu: {}, inventoryResolution: {}, quality: { overall: "unavailable" } }],
    [
      "blanks and zeros",
      {
        cpu: {
          rawModel: "",
          model: " ",
          vendor: "",
          sockets: 0,
          coresPerSocket: 0,
          totalCores: 0,
          capRange: { maxWattsPerSocket: watts(0) },
          landmarks: { nominalFreqMHz: 0 },
        },
        gpu: { present: false, rawModel: "", count: 0, capRangePerGpu: { maxWatts: watts(0), minWatts: watts(0) } },
      },
    ],
  ])("X-11 an empty NodeHardware does not override other origins: %s", (_, status) => {
    const labelled = node({ ...declared, ...nfd }, { "nvidia.com/gpu": "7", cpu: "384" });
    expect(hardwareView(labelled, status)).toEqual(hardwareView(labelled, undefined));
  });

  it("X-11 trims numbers and limits them to 65536", () => {
    const cores = (text: string) => hardwareView(node({ "joulie.io/hw.cpu-cores": text }), undefined).cpu.totalCores;
    expect([cores(" 12 "), cores("65536"), cores("65537")]).toEqual([12, 65_536, undefined]);
  });

  it("X-11 ignores a label that is not a number", () => {
    for (const text of ["", " ", "two", "-1", "0", "1.5", "1e308", "NaN", "0x10", "99999999"]) {
      const view = hardwareView(node({ "joulie.io/hw.cpu-sockets": text, [`${NFD}cpu-sockets`]: "2" }), undefined);
      expect(view.cpu.sockets).toBe(2);
    }
    expect(hardwareView(node({ "joulie.io/hw.gpu-count": "many" }, { "amd.com/gpu": "3" }), undefined).gpu?.count).toBe(
      3,
    );
    expect(hardwareView(node({}, { "amd.com/gpu": "lots", cpu: "?" }), undefined)).not.toHaveProperty("gpu");
  });
});

describe("origins", () => {
  it("X-11 records where the limits come from", () => {
    const origins = ({ cpu, gpu }: HardwareView) => [cpu.from.maxWatts, gpu?.from.maxWatts, gpu?.from.minWatts];
    const found = hardwareView(node({}, { cpu: "384" }), discovered);
    expect(origins(found)).toEqual(["discovered", "discovered", "discovered"]);
    const labels = { "joulie.io/hw.cpu-model": "EPYC 9654", "joulie.io/hw.gpu-model": "L4" };
    const listed = hardwareView(node(labels), undefined);
    expect(origins(listed)).toEqual(["catalogue", "catalogue", "catalogue"]);
    const unknown = hardwareView(
      node({ [`${NFD}cpu-vendor`]: "Hygon", [`${NFD}pci-1002.present`]: "true" }, { "amd.com/gpu": 2 }),
      undefined,
    );
    expect(origins(unknown)).toEqual(["fallback", "fallback", "fallback"]);
    expect([unknown.cpu.vendor, unknown.gpu?.vendor]).toEqual(["hygon", "amd"]);
    expect(unknown.gpu).not.toHaveProperty("model");
  });

  it("X-11 prefers the vendor that the agent discovered to the vendor of the model", () => {
    const view = hardwareView(node(), {
      cpu: { rawModel: "AMD EPYC 9654", vendor: "HygonGenuine" },
      gpu: { rawModel: "NVIDIA L4", vendor: "amd", count: 1 },
    });
    expect([view.cpu.vendor, view.gpu?.vendor]).toEqual(["hygongenuine", "amd"]);
    expect(hardwareView(node(), { cpu: { vendor: "Amazon" } }).cpu.vendor).toBe("aws");
  });
});

describe("before any NodeHardware exists", () => {
  it("OPR-08 a bare node has a full view", () => {
    const view = hardwareView({ metadata: { name: "n1" } }, undefined);
    expect(view).toEqual({
      cpu: {
        key: "generic",
        match: "generic",
        reason: "no model name",
        sockets: 1,
        areSocketsAssumed: true,
        baseGHz: 1.7,
        maxWattsPerSocket: 150,
        maxWatts: 150,
        defaultWatts: 150,
        idleWatts: 31.5,
        from: { maxWatts: "fallback" },
      },
      family: "unknown-cpu",
    });
  });

  it("OPR-08 OPR-09 labels alone give the catalogue's figures, with sockets from the threads Kubernetes sees", () => {
    const epyc = (cpu: string) =>
      hardwareView(node({ "joulie.io/hw.cpu-model": "AMD-EPYC-9654" }, {}, { cpu }), undefined).cpu;
    expect(epyc("384")).toMatchObject({ sockets: 2, totalCores: 192, maxWatts: 800, baseGHz: 2.4 });
    // What its BIOS can configure is no lower bound of a cap.
    expect(epyc("384")).not.toHaveProperty("minWattsPerSocket");
    expect(epyc("192")).toMatchObject({
      sockets: 1,
      totalCores: 96,
    });
    expect(epyc("8")).toMatchObject({
      sockets: 1,
      totalCores: 4,
      coresPerSocket: 4,
    });
    const altra = hardwareView(node({ "joulie.io/hw.cpu-model": "Altra-Q80-30" }, {}, { cpu: 160 }), undefined).cpu;
    expect(altra).toMatchObject({ sockets: 2, totalCores: 160 });
  });

  it("OPR-08 uses capacity if allocatable is lower", () => {
    expect(hardwareView(node({}, { cpu: "62" }, { cpu: "64" }), undefined).cpu.totalCores).toBe(32);
    expect(hardwareView(node({}, {}, { "nvidia.com/gpu": "2" }), undefined).gpu?.count).toBe(2);
  });
});

describe("maxima", () => {
  it("X-84 unknown CPUs: max(150, 3.5 W a core) per node, shared by its sockets", () => {
    const unknown = (labels: Record<string, string>) =>
      hardwareView(node({ "joulie.io/hw.cpu-model": "Elbrus", ...labels }), undefined).cpu;
    expect(unknown({ "joulie.io/hw.cpu-cores": "16" }).maxWatts).toBe(150);
    expect(unknown({ "joulie.io/hw.cpu-cores": "128" }).maxWatts).toBe(448);
    expect(unknown({ "joulie.io/hw.cpu-cores": "128", "joulie.io/hw.cpu-sockets": "2" })).toMatchObject({
      maxWatts: 448,
      maxWattsPerSocket: 224,
      from: { maxWatts: "fallback" },
    });
  });

  it("X-84 unknown GPUs: 350 W a board, 400 W if AMD's", () => {
    const board = (resource: string) => hardwareView(node({}, { [resource]: 1 }), undefined).gpu;
    expect(board("nvidia.com/gpu")).toMatchObject({
      maxWatts: 350,
      defaultWatts: 350,
      minWatts: 0,
      idleWatts: 42,
      from: { maxWatts: "fallback" },
    });
    expect(board("amd.com/gpu")?.maxWatts).toBe(400);
    expect(board("gpu.intel.com/i915")?.maxWatts).toBe(350);
    expect(hardwareView(node({ "joulie.io/hw.gpu-count": "1" }), undefined).gpu?.maxWatts).toBe(350);
  });

  it("assumes the throughput of the slowest known board for an unknown board", () => {
    expect(hardwareView(node({}, { "nvidia.com/gpu": 1 }), undefined).gpu?.perf).toBe(65);
  });

  it("takes idle power from the curve of the catalogue", () => {
    const { curve } = builtinCatalogue.cpu("EPYC 7763").entry ?? {};
    const { idleWatts, maxWatts } = hardwareView(node({ "joulie.io/hw.cpu-model": "EPYC 7763" }), undefined).cpu;
    expect(idleWatts / maxWatts).toBeCloseTo(curve?.[0]?.[1] ?? Number.NaN, 12);
  });

  it("ignores an implausible discovered maximum", () => {
    const unknown = (most: number) =>
      hardwareView(node(), { cpu: { capRange: { maxWattsPerSocket: watts(most) } } }).cpu.maxWatts;
    expect([unknown(100_000), unknown(100_001)]).toEqual([100_000, 150]);
    const { cpu } = hardwareView(node(), {
      cpu: { rawModel: "EPYC 9654", sockets: 2, capRange: { maxWattsPerSocket: watts(1e308) } },
    });
    expect(cpu.maxWatts).toBe(800);
  });

  it("X-225 takes the configurable maximum of a model for its highest cap, and its TDP for its full load", () => {
    const discovered = (rawModel: string, most?: number) =>
      hardwareView(node(), {
        cpu: { rawModel, sockets: 2, ...(most && { capRange: { maxWattsPerSocket: watts(most) } }) },
      }).cpu;
    expect(discovered("AMD EPYC 9654")).toMatchObject({ maxWatts: 800, defaultWatts: 720 });
    expect(discovered("AMD EPYC 9654", 400)).toMatchObject({ maxWatts: 800, defaultWatts: 720 });
    expect(discovered("AMD EPYC 9654", 300)).toMatchObject({ maxWatts: 600, defaultWatts: 600 });
    expect(discovered("Intel Xeon Platinum 8480+", 400)).toMatchObject({ maxWatts: 800, defaultWatts: 800 });
    // A similar model may have another range.
    expect(discovered("AMD EPYC 9R14")).toMatchObject({ match: "proxy", maxWatts: 720, defaultWatts: 720 });
  });

  it("X-11 takes NodeHardware's maxima as published, however far they are above the catalogue's", () => {
    const view = hardwareView(node(), {
      cpu: { rawModel: "AMD EPYC 9654", sockets: 2, capRange: { maxWattsPerSocket: watts(2000) } },
      gpu: { rawModel: "NVIDIA H100 80GB HBM3", count: 2, capRangePerGpu: { maxWatts: watts(1500) } },
    });
    expect(view.cpu).toMatchObject({ maxWattsPerSocket: 2000, maxWatts: 4000, from: { maxWatts: "discovered" } });
    expect(view.gpu).toMatchObject({ maxWatts: 1500, from: { maxWatts: "discovered" } });
  });

  it.each([
    ["the configurable maximum", "AMD EPYC 9654", 400],
    ["1.5 times the TDP where none is published", "Intel Xeon Gold 6430", 405],
    ["1.5 times its TDP where the model only stands in", "AMD EPYC 9R14", 540],
    ["the TDP where a site says it is more than that", "site-cpu", 450],
    ["nothing where the model is unknown", "Elbrus", undefined],
  ])("gives the agent the highest plausible maximum: %s", (_, rawModel, most) => {
    const site = { key: "site-cpu", coresPerSocket: 8, baseGHz: 2, tdpWatts: 450, minWatts: 100, maxWatts: 400 };
    const { catalogue } = buildCatalogue({ cpus: [site] });
    expect(hardwareView(node(), { cpu: { rawModel } }, { catalogue }).cpu.plausibleWattsPerSocket).toBe(most);
  });

  it("limits the other catalogue values to a discovered maximum", () => {
    const view = hardwareView(node(), {
      cpu: { rawModel: "AMD EPYC 9654", sockets: 1, capRange: { maxWattsPerSocket: watts(240) } },
      gpu: { rawModel: "NVIDIA H100 80GB HBM3", count: 1, capRangePerGpu: { maxWatts: watts(60) } },
    });
    expect(view.cpu).toMatchObject({ maxWattsPerSocket: 240 });
    expect(view.gpu).toMatchObject({ maxWatts: 60, defaultWatts: 60, minWatts: 60, idleWatts: 60 });
  });
});

describe("GPUs", () => {
  it("a declared count of 0 overrides allocatable GPUs, but not discovered ones", () => {
    const none = node({ "joulie.io/hw.gpu-count": "0" }, { "nvidia.com/gpu": "8" });
    expect(hardwareView(none, undefined)).not.toHaveProperty("gpu");
    expect(hardwareView(none, discovered).gpu?.count).toBe(8);
  });

  it("counts at least one GPU if a label names a model or declares a GPU present", () => {
    expect(hardwareView(node({ "joulie.io/hw.gpu-model": "L4" }), undefined).gpu).toMatchObject({
      count: 1,
    });
    expect(hardwareView(node({ "nvidia.com/gpu.product": "NVIDIA-L4" }), undefined).gpu?.count).toBe(1);
    expect(hardwareView(node(), { gpu: { present: true } }).gpu).toMatchObject({
      count: 1,
    });
  });

  it("does not count a PCI device label as a GPU, but reads the vendor from it", () => {
    const pci = { [`${NFD}pci-1002.present`]: "true", [`${NFD}pci-0300_8086.present`]: "true" };
    expect(hardwareView(node(pci), undefined)).not.toHaveProperty("gpu");
    expect(hardwareView(node({ ...pci, "joulie.io/hw.gpu-count": "2" }), undefined).gpu).toMatchObject({
      vendor: "amd",
      maxWatts: 400,
    });
    expect(hardwareView(node(pci, { "gpu.intel.com/i915": 1 }), undefined).gpu?.vendor).toBe("intel");
    expect(hardwareView(node({ ...pci, "joulie.io/hw.gpu-model": "L4" }), undefined).gpu?.vendor).toBe("nvidia");
  });

  it("OPR-36 reads product labels in the configured order and prefers the most specific match", () => {
    const labels = {
      "amd.com/gpu.family": "AI",
      "amd.com/gpu.product": "AMD_Instinct_MI300X_OAM",
      "site/gpu": "NVIDIA-L4",
    };
    expect(hardwareView(node(labels), undefined).gpu).toMatchObject({ key: "amd-mi300x", vendor: "amd" });
    expect(hardwareView(node(labels), undefined, { productLabelKeys: ["site/gpu"] }).gpu?.key).toBe("nvidia-l4");
    expect(hardwareView(node(labels), undefined, { productLabelKeys: ["amd.com/gpu.family"] }).gpu).toMatchObject({
      match: "generic",
      model: "AI",
      vendor: "amd",
      maxWatts: 400,
    });
    expect(hardwareView(node(labels), undefined, { productLabelKeys: [] })).not.toHaveProperty("gpu");
  });

  it("uses the resource with the most devices", () => {
    expect(
      hardwareView(node({}, { "nvidia.com/gpu": 1, "amd.com/gpu": 4, "gpu.intel.com/i915": 4 }), undefined).gpu,
    ).toMatchObject({
      vendor: "amd",
      count: 4,
    });
  });
});

describe("resolution", () => {
  it("uses the better match of two discovered names", () => {
    const view = hardwareView(node(), { cpu: { rawModel: "Genuine CPU 0000%@", model: "amd-epyc-9654" } });
    expect(view.cpu).toMatchObject({ key: "amd-epyc-9654", model: "amd-epyc-9654", match: "exact" });
    const even = hardwareView(node(), { cpu: { rawModel: "EPYC 9654", model: "EPYC 7763" } });
    expect(even.cpu).toMatchObject({ key: "amd-epyc-9654", model: "EPYC 9654" });
  });

  it("prefers a match of the name to the model that the agent resolved", () => {
    const inventoryResolution = { hardwareCatalogKey: { cpu: "amd-epyc-7763" }, exactness: { cpu: "exact" as const } };
    const { cpu } = hardwareView(node(), { cpu: { rawModel: "EPYC 9R14" }, inventoryResolution });
    expect(cpu).toMatchObject({ key: "amd-epyc-9654", match: "proxy" });
  });

  it("keeps the model that the agent resolved, with its match quality, if the name is unknown", () => {
    const status = (exactness?: "exact" | "proxy" | "generic"): NodeHardwareStatus => ({
      cpu: { rawModel: "Engineering Sample" },
      gpu: { present: true, count: 2 },
      inventoryResolution: {
        hardwareCatalogKey: { cpu: "amd-epyc-9654", gpu: "nvidia-l4" },
        ...(exactness ? { exactness: { cpu: exactness, gpu: exactness } } : {}),
      },
    });
    expect(hardwareView(node(), status("exact")).cpu).toMatchObject({ key: "amd-epyc-9654", match: "exact" });
    expect(hardwareView(node(), status("proxy")).gpu).toMatchObject({ key: "nvidia-l4", match: "proxy" });
    expect(hardwareView(node(), status()).cpu).toMatchObject({
      match: "proxy",
      reason: "the agent resolved it to amd-epyc-9654",
    });
    expect(hardwareView(node(), status("generic")).cpu).toMatchObject({ match: "generic", key: "generic" });
    expect(
      hardwareView(node(), { inventoryResolution: { hardwareCatalogKey: { cpu: "removed-since" } } }).cpu.key,
    ).toBe("generic");
  });
});

describe("family", () => {
  it("POL-07 is the GPU model on GPU nodes and the CPU model on CPU-only nodes", () => {
    expect(hardwareView(node(declared), undefined).family).toBe("nvidia-l40s");
    expect(hardwareView(node({ "joulie.io/hw.cpu-model": "EPYC 9654P" }), undefined).family).toBe("amd-epyc-9654");
  });

  it("is the normalised name of an unknown model, or the vendor without a name", () => {
    const cpu = (model: string) => hardwareView(node({ "joulie.io/hw.cpu-model": model }), undefined).family;
    expect(cpu("AMD EPYC 7742 64-Core Processor")).toBe("7742");
    expect(cpu("AMD-EPYC-7742")).toBe("7742");
    expect(hardwareView(node({ "joulie.io/hw.gpu-model": "NVIDIA RTX A6000" }), undefined).family).toBe("rtx-a6000");
    expect(hardwareView(node({}, { "amd.com/gpu": 1 }), undefined).family).toBe("amd-gpu");
    expect(hardwareView(node({ [`${NFD}cpu-model.vendor_id`]: "GenuineIntel" }), undefined).family).toBe("intel-cpu");
  });
});

describe("any node", () => {
  it("has finite, ordered values", () => {
    const amount = fc.oneof(fc.double(), fc.constantFrom(0, -1, 1e308, 5e-324));
    const text = fc.oneof(fc.string(), fc.constantFrom("EPYC 9654", "H100", "8", "1e308", "0"));
    const labels = fc.dictionary(fc.constantFrom(...Object.keys(declared), ...Object.keys(nfd)), text);
    const resources = fc.dictionary(fc.constantFrom("cpu", "nvidia.com/gpu", "amd.com/gpu"), fc.oneof(text, amount));
    const status = fc.record(
      {
        cpu: fc.record({ rawModel: text, sockets: amount, totalCores: amount, max: amount, min: amount }),
        gpu: fc.record({ rawModel: text, count: amount, max: amount, min: amount, normal: amount }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(labels, resources, status, (nodeLabels, allocatable, { cpu, gpu }) => {
        const view = hardwareView(node(nodeLabels, allocatable), {
          ...(cpu
            ? { cpu: { ...cpu, capRange: { maxWattsPerSocket: watts(cpu.max), minWattsPerSocket: watts(cpu.min) } } }
            : {}),
          ...(gpu
            ? {
                gpu: {
                  ...gpu,
                  capRangePerGpu: {
                    maxWatts: watts(gpu.max),
                    minWatts: watts(gpu.min),
                    defaultWatts: watts(gpu.normal),
                  },
                },
              }
            : {}),
        });
        expect(view.cpu.sockets >= 1 && view.cpu.maxWattsPerSocket > 0).toBe(true);
        expect((view.cpu.minWattsPerSocket ?? 0) <= view.cpu.maxWattsPerSocket).toBe(true);
        expect(Number.isFinite(view.cpu.maxWatts) && Number.isFinite(view.cpu.idleWatts)).toBe(true);
        expect(view.family).not.toBe("");
        const boards = view.gpu ? [view.gpu] : [];
        for (const { count, minWatts, defaultWatts, maxWatts, idleWatts } of boards) {
          expect(count >= 1 && maxWatts > 0 && minWatts >= 0).toBe(true);
          expect(minWatts <= defaultWatts && defaultWatts <= maxWatts && idleWatts <= maxWatts).toBe(true);
        }
      }),
    );
  });
});
