import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Node, nfdCpuLabels, nodeHardwareKind, validateForWrite } from "../../../core/api/index.ts";
import { kilohertz } from "../../../core/control/index.ts";
import { builtinCatalogue, hardwareView } from "../../../core/inventory/index.ts";
import { capIntents } from "../../../core/policy/index.ts";
import { effectiveCaps, predictTwin } from "../../../core/twin/index.ts";
import { celsius, percent, watts } from "../../../core/units/index.ts";
import {
  CpufreqBackend,
  type GpuCapBoard,
  HsmpBackend,
  hostFacts,
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
  const proc = new FakeHost(procTree(cpuinfo), "/proc");
  const facts = () => hostFacts({ sys, proc });
  const mostPower = () => catalogueLimits(facts().cpu.model, builtinCatalogue).max;
  const sources = {
    facts,
    cpuCaps: [new RaplBackend({ files: sys, clock }), new HsmpBackend({ files: sys, clock, maxPower: mostPower })],
    throttle: new CpufreqBackend({ files: sys, clock, lowest: kilohertz(1_500_000) }),
    energy: new RaplEnergy({ files: sys, clock }),
    gpuCaps: gpus,
  };
  const discover = async (node: Node = BARE, mayWrite = false) =>
    discoverHardware(sources, node, builtinCatalogue, { mayWrite });
  return { sys, sources, discover };
}

/** A GPU backend with fixed boards. */
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

describe("hardware discovery", () => {
  it("AGT-02 AGT-03 X-50 discovers a Xeon with RAPL without labels, GPU tools or NFD", async () => {
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
        capRange: { type: "package", maxWattsPerSocket: 350 },
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

  it("TWN-18 TWN-24 two EPYC 9654 and four H100 NVL, found as such, have a stress of 31.3 at 60 % and 25 °C", async () => {
    const nvl = { model: "NVIDIA H100 NVL", device: { min: watts(200), max: watts(400) }, defaultLimit: watts(400) };
    const boards = ["0", "1", "2", "3"].map((id) => board(id, nvl));
    const labels = { "joulie.io/hw.cpu-model": "AMD-EPYC-9654", "joulie.io/hw.gpu-model": "NVIDIA-H100-NVL" };
    const node: Node = { metadata: { name: "node-1", labels } };
    const host = machine(joinTrees(epyc, amdPstate, hsmpTree()), epycCpuinfo, [gpuBackend(boards)]);
    const hardware = hardwareView(node, await host.discover(node));
    expect([hardware.cpu.key, hardware.gpu?.key]).toEqual(["amd-epyc-9654", "nvidia-h100-nvl"]);
    const percentages = { performance: percent(100), eco: percent(60) };
    const { eco } = capIntents({
      cpu: {
        absolute: false,
        watts: { performance: watts(5000), eco: watts(120) },
        percent: percentages,
        onGpuNodes: true,
      },
      gpu: { absolute: false, percent: percentages, modelCaps: {} },
    })(hardware);
    const twin = predictTwin({ hardware, caps: effectiveCaps(eco, hardware), ambient: celsius(25) });
    expect(twin).toMatchObject({
      effectiveCapState: { cpuPct: 60, gpuPct: 60 },
      predictedCoolingStressScore: 31.3,
      predictedPowerHeadroomScore: 41.22,
      powerMeasurement: { cpuCappedPowerW: 480, gpuCappedPowerW: 960, nodeCappedPowerW: 1440 },
    });
  });

  it("AGT-02 caps an EPYC through HSMP if the kernel has it, else throttles it", async () => {
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
    expect(throttled.cpu?.warnings?.join()).toMatch(/energy counters but no limits.*kernel 6\.16.*throttled instead/);
  });

  it("reports a virtual machine without power readings by a warning, not as 0 W", async () => {
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

  it("identifies an ARM server by its core and finds a similar model in the catalogue", async () => {
    const { cpu, inventoryResolution } = await machine(armCppc, armCpuinfo("0x41", "0xd4f")).discover();
    expect(cpu).toMatchObject({ rawModel: "Neoverse V2", vendor: "arm", model: "nvidia-grace", quality: "heuristic" });
    expect(cpu).toMatchObject({ driverFamily: "cppc_cpufreq", controlAvailable: true, telemetryAvailable: false });
    expect(inventoryResolution).toMatchObject({ exactness: { cpu: "proxy" } });
    expect(cpu?.warnings?.join()).toMatch(/Neoverse V2/);
  });

  it("warns about hybrid CPUs, offline CPUs and a second limit that takes precedence", async () => {
    const client = await machine(joinTrees(clientWithMmio, hybrid), hybridCpuinfo).discover();
    expect(client.cpu?.warnings?.join()).toMatch(/hybrid CPU.*memory-mapped limit of 45 W is lower/);
    const shared = await machine(acpiCpufreq, xeonCpuinfo).discover();
    expect(shared.cpu?.warnings?.join()).toMatch(/1 CPUs are offline/);
  });

  it("reports what only root can read or a container hides as unavailable, with a remedy", async () => {
    const hidden = await machine(joinTrees(maskedPowercap, intelPstate), xeonCpuinfo).discover();
    expect(hidden.cpu).toMatchObject({ controlAvailable: true, telemetryAvailable: false });
    expect(hidden.cpu?.warnings?.join()).toMatch(/HOST_SYS_ROOT/);
    const { sys, discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
    refuseReads(sys, /energy_uj$/, "EACCES");
    const status = await discover();
    expect(status.capabilities).toMatchObject({ cpuControl: true, cpuTelemetry: false });
    expect(status.cpu?.warnings?.join()).toMatch(/only root may read/);
  });

  it("warns about disabled and locked limits and falls back to DVFS", async () => {
    const off = (await machine(joinTrees(lockedByBios, intelPstate), xeonCpuinfo).discover()).cpu;
    expect(off).toMatchObject({ driverFamily: "intel_pstate", controlAvailable: true });
    expect(off?.warnings?.join()).toMatch(/package-0: its long-term limit is disabled/);
    const { sys, discover } = machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo);
    emulateRapl(sys, { locked: true });
    expect((await discover()).cpu).toMatchObject({ driverFamily: "intel_rapl" });
    expect(sys.writes).toEqual([]);
    const { cpu } = await discover(BARE, true);
    expect(cpu).toMatchObject({ driverFamily: "intel_pstate", controlAvailable: true });
    expect(cpu?.warnings?.join()).toMatch(/package-0: locked by firmware/);
  });

  it("AGT-06 uses labels for what the machine does not report, but does not publish them as discovered", async () => {
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

  it("AGT-06 X-65 reports GPUs known only from labels as present, not controllable, with what to install", async () => {
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
    expect(gpu?.warnings?.join()).toMatch(/no GPU driver answers.*container toolkit/);
    expect(capabilities).toMatchObject({ gpuControl: false });
    expect(inventoryResolution?.hardwareCatalogKey?.gpu).toBeDefined();
  });

  it("publishes the range that all GPUs accept, the cap in force and the slicing modes", async () => {
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

  it("counts a lost GPU with a warning, reads a locked one, and warns about mixed models", async () => {
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

  it("X-11 publishes a status that the API accepts and that reads back unchanged", async () => {
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
    expect(view.cpu.from).toEqual({ maxWatts: "discovered" });
    expect(view.gpu).toMatchObject({ count: 1, maxWatts: 700 });
  });

  it("X-04 publishes only what the API accepts, for arbitrary machine values", async () => {
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

  it("X-11 SCH-19 publishes an implausible CPU maximum as the highest plausible one, with a warning", async () => {
    const zones = ["intel-rapl:0", "intel-rapl:2"];
    const ceiling = {
      files: Object.fromEntries(zones.map((zone) => [`${zonePath(zone)}/constraint_0_max_power_uw`, "4090000000"])),
    };
    const { cpu } = await machine(joinTrees(sapphireRapids, intelPstate, ceiling), xeonCpuinfo).discover();
    expect(cpu?.capRange).toEqual({ type: "package", maxWattsPerSocket: 525 });
    expect(cpu?.warnings).toEqual([
      "the firmware reports up to 4090 W per socket, which intel-xeon-platinum-8480plus cannot draw: published as 525 W",
    ]);
    expect(hardwareView(BARE, { cpu }).cpu.maxWatts).toBe(2 * 525);
  });

  it("X-11 SCH-19 does the same for a GPU and keeps its range consistent", async () => {
    const device = { min: watts(2000), max: watts(65_535) };
    const gpus = gpuBackend([board("0", { device, defaultLimit: watts(700) })]);
    const { gpu } = await machine(joinTrees(sapphireRapids, intelPstate), xeonCpuinfo, [gpus]).discover();
    expect(gpu?.capRangePerGpu).toEqual({ minWatts: 1050, maxWatts: 1050, defaultWatts: 700 });
    expect(gpu?.warnings).toEqual([
      "the firmware reports up to 65535 W per board, which nvidia-h100-sxm cannot draw: published as 1050 W",
    ]);
  });

  it("takes a package's limits from the catalogue if the hardware reports none", () => {
    expect(catalogueLimits("AMD EPYC 9654 96-Core Processor", builtinCatalogue)).toEqual({ rated: 360, max: 400 });
    expect(catalogueLimits("Intel(R) Xeon(R) Platinum 8480+", builtinCatalogue)).toEqual({ rated: 350, max: 350 });
    expect(catalogueLimits("Neoverse V2", builtinCatalogue)).toEqual({ rated: 250, max: 375 });
    expect(catalogueLimits(undefined, builtinCatalogue)).toEqual({});
  });
});
