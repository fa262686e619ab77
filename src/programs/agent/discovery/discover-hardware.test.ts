import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Node, nfdCpuLabels, nodeHardwareKind, validateForWrite } from "../../../core/api/index.ts";
import { kilohertz } from "../../../core/control/index.ts";
import { builtinCatalogue, hardwareView } from "../../../core/inventory/index.ts";
import { watts } from "../../../core/units/index.ts";
import {
  CpufreqBackend,
  type GpuCapBoard,
  HostFactsReader,
  HsmpBackend,
  type PowerCapBackend,
  RaplBackend,
  RaplEnergy,
} from "../../../platform/hardware/index.ts";
import {
  acpiCpufreq,
  amdPstate,
  armCppc,
  armCpuinfo,
  clientWithMmio,
  emptyPowercap,
  emulateRapl,
  epyc,
  epycCpuinfo,
  FakeHost,
  type HostTree,
  hastyClock,
  hsmpTree,
  hybrid,
  hybridCpuinfo,
  intelPstate,
  joinTrees,
  lockedByBios,
  maskedPowercap,
  procTree,
  refuseReads,
  sapphireRapids,
  virtualCpuinfo,
  virtualCpus,
  xeonCpuinfo,
  zonePath,
} from "../../../platform/hardware/testing/index.ts";
import { catalogueLimits, discoverHardware } from "./discover-hardware.ts";

const BARE: Node = { metadata: { name: "node-1" } };

function machine(sysTree: HostTree, cpuinfo: string, gpus: readonly PowerCapBackend[] = []) {
  const sys = new FakeHost(sysTree);
  const clock = hastyClock();
  emulateRapl(sys);
  const facts = new HostFactsReader({ sys, proc: new FakeHost(procTree(cpuinfo), "/proc") });
  const mostPower = () => catalogueLimits(facts.read().cpu.model, builtinCatalogue).most;
  const sources = {
    facts,
    cpuCaps: [
      new RaplBackend({ files: sys, clock, maxPower: mostPower }),
      new HsmpBackend({ files: sys, clock, maxPower: mostPower }),
    ],
    throttle: new CpufreqBackend({ files: sys, clock, lowest: kilohertz(1_500_000) }),
    energy: new RaplEnergy({ files: sys, clock }),
    gpuCaps: gpus,
  };
  const discover = async (node: Node = BARE, mayWrite = false) =>
    discoverHardware(sources, node, builtinCatalogue, { mayWrite });
  return { sys, sources, discover };
}

/** Boards as a backend shows them, without one. */
function gpuBackend(
  boards: readonly GpuCapBoard[] | string,
  powers: readonly number[] = [],
  limits: Readonly<Record<string, number>> = {},
): PowerCapBackend {
  return {
    name: "nvml",
    kind: "gpu",
    discover: async () => (typeof boards === "string" ? { absent: boards } : { boards }),
    limit: async (id) => {
      const limit = limits[id];
      return limit === undefined ? { unreadable: "not said" } : { limit: watts(limit) };
    },
    cap: async () => ({ result: "error", message: "not in this test" }),
    restore: async () => ({ result: "error", message: "not in this test" }),
    original: async () => ({ unreadable: "not in this test" }),
    power: async () => powers.map((power, index) => ({ id: String(index), power: watts(power) })),
  };
}

const board = (id: string, more: Partial<GpuCapBoard> = {}): GpuCapBoard => ({
  id,
  vendor: "nvidia",
  model: "NVIDIA H100 80GB HBM3",
  device: { min: watts(200), max: watts(700) },
  defaultLimit: watts(700),
  slicing: ["mig"],
  ...more,
});

describe("what a node is made of", () => {
  it("AGT-02 AGT-03 X-50 a Xeon with RAPL, without a label, a GPU tool or NFD", async () => {
    const { sys, discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
    const status = await discover();
    expect(status).toEqual({
      cpu: {
        rawModel: "Intel(R) Xeon(R) Platinum 8480+",
        model: "intel-xeon-platinum-8480plus",
        vendor: "intel",
        sockets: 2,
        coresPerSocket: 2,
        totalCores: 4,
        driverFamily: "intel_rapl",
        capRange: { type: "package", minWattsPerSocket: 87.5, maxWattsPerSocket: 350 },
        landmarks: { minFreqMHz: 800, nominalFreqMHz: 2000, maxBoostMHz: 3800 },
        controlAvailable: true,
        telemetryAvailable: true,
        quality: "exact",
        warnings: [],
      },
      gpu: { present: false, controlAvailable: false, telemetryAvailable: false, quality: "unavailable", warnings: [] },
      memory: { totalBytes: 540_625_117_184 },
      inventoryResolution: {
        hardwareCatalogKey: { cpu: "intel-xeon-platinum-8480plus" },
        exactness: { cpu: "exact" },
      },
      capabilities: { cpuControl: true, gpuControl: false, cpuTelemetry: true, gpuTelemetry: false },
      quality: { overall: "exact", warnings: [] },
    });
    expect(sys.writes).toEqual([]);
  });

  it("AGT-02 an EPYC is capped through HSMP where the kernel has it, and throttled where it has not", async () => {
    const capped = await machine(joinTrees(epyc, amdPstate, hsmpTree()), epycCpuinfo).discover();
    expect(capped.cpu).toMatchObject({
      model: "amd-epyc-9654",
      driverFamily: "amd_hsmp",
      capRange: { maxWattsPerSocket: 400 },
      landmarks: { lowestNonlinearFreqMHz: 1701 },
      controlAvailable: true,
      telemetryAvailable: true,
      warnings: [],
    });
    const throttled = await machine(joinTrees(epyc, amdPstate), epycCpuinfo).discover();
    expect(throttled.cpu).toMatchObject({
      driverFamily: "amd_pstate",
      controlAvailable: true,
      telemetryAvailable: true,
    });
    expect(throttled.cpu?.capRange).toBeUndefined();
    expect(throttled.cpu?.warnings?.join()).toMatch(/energy only.*kernel 6\.16.*throttled instead/);
  });

  it("a virtual machine has a model and no power: said in words, never as 0 W", async () => {
    const { cpu, capabilities, quality } = await machine(
      joinTrees(emptyPowercap, virtualCpus),
      virtualCpuinfo,
    ).discover();
    expect(cpu).toMatchObject({ sockets: 1, totalCores: 2, controlAvailable: false, telemetryAvailable: false });
    expect(cpu?.warnings?.join()).toMatch(/virtual machine/);
    expect(capabilities).toEqual({ cpuControl: false, gpuControl: false, cpuTelemetry: false, gpuTelemetry: false });
    expect(quality?.overall).toBe("heuristic");
    expect(cpu?.capRange).toBeUndefined();
  });

  it("an ARM server is known by its core, and the catalogue says what stands in for it", async () => {
    const { cpu, inventoryResolution } = await machine(armCppc, armCpuinfo("0x41", "0xd4f")).discover();
    expect(cpu).toMatchObject({ rawModel: "Neoverse V2", vendor: "arm", model: "nvidia-grace", quality: "heuristic" });
    expect(cpu).toMatchObject({ driverFamily: "cppc_cpufreq", controlAvailable: true, telemetryAvailable: false });
    expect(inventoryResolution).toMatchObject({ exactness: { cpu: "proxy" } });
    expect(cpu?.warnings?.join()).toMatch(/Neoverse V2/);
  });

  it("a hybrid client, CPUs that are offline, and a second limit that wins are told", async () => {
    const client = await machine(joinTrees(clientWithMmio, hybrid), hybridCpuinfo).discover();
    expect(client.cpu?.warnings?.join()).toMatch(/several kinds.*memory-mapped limit of 45 W is lower/);
    const shared = await machine(acpiCpufreq, xeonCpuinfo).discover();
    expect(shared.cpu?.warnings?.join()).toMatch(/1 CPUs are offline/);
  });

  it("what only root may read, and what a container hides, is not available, with what to do", async () => {
    const hidden = await machine(joinTrees(maskedPowercap, intelPstate), xeonCpuinfo).discover();
    expect(hidden.cpu).toMatchObject({ controlAvailable: true, telemetryAvailable: false });
    expect(hidden.cpu?.warnings?.join()).toMatch(/HOST_SYS_ROOT/);
    const { sys, discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
    refuseReads(sys, /energy_uj$/, "EACCES");
    const status = await discover();
    expect(status.capabilities).toMatchObject({ cpuControl: true, cpuTelemetry: false });
    expect(status.cpu?.warnings?.join()).toMatch(/only root may read/);
  });

  it("a limit that is switched off, and a lock, are told, and DVFS is what is left", async () => {
    const off = (await machine(joinTrees(lockedByBios, intelPstate), xeonCpuinfo).discover()).cpu;
    expect(off).toMatchObject({ driverFamily: "intel_pstate", controlAvailable: true });
    expect(off?.warnings?.join()).toMatch(/package-0: its long-term limit is switched off/);
    const { sys, discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
    emulateRapl(sys, { locked: true });
    expect((await discover()).cpu).toMatchObject({ driverFamily: "intel_rapl" });
    expect(sys.writes).toEqual([]);
    const { cpu } = await discover(BARE, true);
    expect(cpu).toMatchObject({ driverFamily: "intel_pstate", controlAvailable: true });
    expect(cpu?.warnings?.join()).toMatch(/package-0: locked by firmware/);
  });

  it("AGT-06 labels name what the machine does not, and are not published as if they had been found", async () => {
    const node: Node = {
      metadata: {
        name: "node-1",
        labels: { [nfdCpuLabels.model]: "AMD EPYC 9654 96-Core Processor", [nfdCpuLabels.sockets]: "2" },
      },
    };
    const { cpu, inventoryResolution } = await machine({ files: {} }, "").discover(node);
    expect(inventoryResolution?.hardwareCatalogKey?.cpu).toBe("amd-epyc-9654");
    expect(cpu).toMatchObject({ model: "amd-epyc-9654", quality: "unavailable" });
    expect(cpu?.rawModel).toBeUndefined();
    expect(cpu?.sockets).toBeUndefined();
    expect(cpu?.warnings?.join()).toMatch(/only known from the node's labels/);
  });

  it("AGT-06 X-65 labels that speak of GPUs nobody sees: present, not controllable, and what to install", async () => {
    const node: Node = { metadata: { name: "node-1", labels: { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" } } };
    const missing = gpuBackend("libnvidia-ml.so.1 is not there: install the NVIDIA container toolkit");
    const { gpu, capabilities, inventoryResolution } = await machine(intelPstate, xeonCpuinfo, [missing]).discover(
      node,
    );
    expect(gpu).toMatchObject({
      present: true,
      controlAvailable: false,
      telemetryAvailable: false,
      quality: "unavailable",
    });
    expect(gpu?.count).toBeUndefined();
    expect(gpu?.warnings?.join()).toMatch(/none answers here.*container toolkit/);
    expect(capabilities).toMatchObject({ gpuControl: false });
    expect(inventoryResolution?.hardwareCatalogKey?.gpu).toBeDefined();
  });

  it("GPUs: what all of them accept, the cap in force, and how they can be sliced", async () => {
    const boards = [board("0"), board("1", { device: { min: watts(250), max: watts(650) } })];
    const backend = gpuBackend(boards, [310, 300], { "0": 700, "1": 500 });
    const { gpu, inventoryResolution, capabilities } = await machine(intelPstate, xeonCpuinfo, [backend]).discover();
    expect(gpu).toMatchObject({
      present: true,
      rawModel: "NVIDIA H100 80GB HBM3",
      vendor: "nvidia",
      count: 2,
      capRangePerGpu: { minWatts: 250, maxWatts: 650, defaultWatts: 700 },
      currentCapWatts: 500,
      slicing: { supported: true, modes: ["mig"] },
      controlAvailable: true,
      telemetryAvailable: true,
      quality: "exact",
    });
    expect(inventoryResolution?.exactness?.gpu).toBe("exact");
    expect(capabilities).toMatchObject({ gpuControl: true, gpuTelemetry: true });
  });

  it("a lost board counts and is told; a locked one can be read; a mixture is named", async () => {
    const boards = [
      board("0", { lost: "fell off the bus" }),
      board("1", { locked: "a virtual function", model: "NVIDIA A100-SXM4-80GB" }),
      board("2"),
    ];
    const { gpu } = await machine(intelPstate, xeonCpuinfo, [gpuBackend(boards, [100])]).discover();
    expect(gpu).toMatchObject({ count: 3, rawModel: "NVIDIA H100 80GB HBM3", controlAvailable: true });
    expect(gpu?.warnings?.join()).toMatch(
      /2 × NVIDIA H100.*1 × NVIDIA A100.*GPU 0: fell off the bus.*GPU 1: a virtual function/,
    );
  });

  it("X-11 what is published reads back as what was found, and the API takes it", async () => {
    const { discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo, [
      gpuBackend([board("0")], [310]),
    ]);
    const status = await discover();
    expect(() =>
      validateForWrite(nodeHardwareKind, { metadata: { name: "node-1" }, spec: { nodeName: "node-1" }, status }),
    ).not.toThrow();
    const view = hardwareView(BARE, status);
    expect(view.cpu).toMatchObject({
      key: "intel-xeon-platinum-8480plus",
      match: "exact",
      sockets: 2,
      maxWattsPerSocket: 350,
    });
    expect(view.cpu.from).toMatchObject({ model: "discovered", sockets: "discovered", maxWatts: "discovered" });
    expect(view.gpu).toMatchObject({ count: 1, maxWatts: 700 });
  });

  it("X-04 whatever a machine says, what is published is what the API takes", async () => {
    const texts = fc.string({ maxLength: 2000 });
    await fc.assert(
      fc.asyncProperty(texts, texts, fc.double(), fc.double(), async (model, warning, min, max) => {
        const odd = board("0", {
          model,
          device: { min: watts(min), max: watts(max) },
          warnings: [warning, warning, ""],
        });
        const cpuinfo = xeonCpuinfo.replaceAll("Intel(R) Xeon(R) Platinum 8480+", () =>
          model.replaceAll(/[\n:]/g, " "),
        );
        const { discover } = machine(joinTrees(sapphireRapids, intelPstate), cpuinfo, [
          gpuBackend([odd], [max], { "0": max }),
        ]);
        const status = await discover();
        expect(() =>
          validateForWrite(nodeHardwareKind, { metadata: { name: "n" }, spec: { nodeName: "n" }, status }),
        ).not.toThrow();
      }),
      { numRuns: 50 },
    );
  });

  it("X-11 SCH-19 publishes a maximum no such CPU can take as the highest that is believed, with a warning", async () => {
    const zones = ["intel-rapl:0", "intel-rapl:2"];
    const ceiling = {
      files: Object.fromEntries(zones.map((zone) => [`${zonePath(zone)}/constraint_0_max_power_uw`, "4090000000"])),
    };
    const { cpu } = await machine(joinTrees(sapphireRapids, intelPstate, ceiling), xeonCpuinfo).discover();
    expect(cpu?.capRange).toEqual({ type: "package", minWattsPerSocket: 87.5, maxWattsPerSocket: 525 });
    expect(cpu?.warnings).toEqual([
      "the firmware says up to 4090 W a socket, which intel-xeon-platinum-8480plus cannot take: published as 525 W",
    ]);
    expect(hardwareView(BARE, { cpu }).cpu.maxWatts).toBe(2 * 525);
  });

  it("X-11 SCH-19 does the same for a GPU, and keeps its range in order", async () => {
    const device = { min: watts(2000), max: watts(65_535) };
    const gpus = gpuBackend([board("0", { device, defaultLimit: watts(700) })]);
    const { gpu } = await machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo, [gpus]).discover();
    expect(gpu?.capRangePerGpu).toEqual({ minWatts: 1050, maxWatts: 1050, defaultWatts: 700 });
    expect(gpu?.warnings).toEqual([
      "the firmware says up to 65535 W a board, which nvidia-h100-sxm cannot take: published as 1050 W",
    ]);
  });

  it("says what the catalogue lets a package be set to, for parts that do not", () => {
    expect(catalogueLimits("AMD EPYC 9654 96-Core Processor", builtinCatalogue)).toEqual({
      rated: 360,
      least: 320,
      most: 400,
    });
    expect(catalogueLimits("Intel(R) Xeon(R) Platinum 8480+", builtinCatalogue)).toEqual({ rated: 350, most: 350 });
    expect(catalogueLimits("Neoverse V2", builtinCatalogue)).toEqual({ rated: 250, most: 375 });
    expect(catalogueLimits(undefined, builtinCatalogue)).toEqual({});
  });
});
