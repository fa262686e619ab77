import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acpiCpufreq, amdPstate, armCppc, hybrid, intelPstate, virtualCpus } from "../testing/cpufreq-trees.ts";
import {
  armCpuinfo,
  epycCpuinfo,
  hybridCpuinfo,
  procTree,
  virtualCpuinfo,
  xeonCpuinfo,
} from "../testing/cpuinfo-trees.ts";
import { FakeHost, type HostTree } from "../testing/fake-host.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { parseCpuinfo } from "./cpuinfo.ts";
import { HostDirectory } from "./host-directory.ts";
import { hostFacts } from "./host-facts.ts";
import { cpuList } from "./topology.ts";

const EMPTY: HostTree = { files: {} };
const factsOf = (sys: HostTree, cpuinfo: string) =>
  hostFacts({ sys: new FakeHost(sys), proc: new FakeHost(procTree(cpuinfo), "/proc") });

describe("hostFacts", () => {
  it("reads a Xeon with two sockets", () => {
    expect(factsOf(intelPstate, xeonCpuinfo)).toEqual({
      cpu: {
        model: "Intel(R) Xeon(R) Platinum 8480+",
        vendor: "intel",
        sockets: 2,
        totalCores: 4,
        logicalCpus: 4,
        isVirtual: false,
        driver: "intel_pstate",
        landmarks: { min: 800, nominal: 2000, maxBoost: 3800 },
        warnings: [],
      },
      memoryBytes: 540_625_117_184,
      warnings: [],
    });
  });

  it("reads an EPYC with its lowest nonlinear frequency", () => {
    expect(factsOf(amdPstate, epycCpuinfo).cpu).toMatchObject({
      model: "AMD EPYC 9654 96-Core Processor",
      vendor: "amd",
      driver: "amd-pstate-epp",
      landmarks: { min: 400, maxBoost: 3501, lowestNonlinear: 1701 },
    });
  });

  it("finds the boost maximum while boost is off, and the base frequency from CPPC or the table", () => {
    const host = new FakeHost(amdPstate);
    for (const id of [0, 1, 2, 3]) host.set(`devices/system/cpu/cpufreq/policy${id}/cpuinfo_max_freq`, "2400000");
    host.set("devices/system/cpu/cpu0/acpi_cppc/nominal_freq", "2400");
    const proc = new FakeHost(procTree(epycCpuinfo));
    expect(hostFacts({ sys: host, proc }).cpu.landmarks).toMatchObject({ maxBoost: 3501, nominal: 2400 });
    expect(factsOf(acpiCpufreq, xeonCpuinfo).cpu.landmarks).toEqual({ min: 1500, nominal: 2000, maxBoost: 2000 });
    const turbo = new FakeHost(acpiCpufreq);
    turbo.set("devices/system/cpu/cpufreq/policy0/scaling_available_frequencies", "2101000 2100000 1500000 ");
    expect(hostFacts({ sys: turbo, proc }).cpu.landmarks.nominal).toBe(2100);
  });

  it.each([
    ["0x41", "0xd0c", "Neoverse N1", "arm"],
    ["0x41", "0xd40", "Neoverse V1", "arm"],
    ["0x41", "0xd49", "Neoverse N2", "arm"],
    ["0x41", "0xd4f", "Neoverse V2", "arm"],
    ["0xc0", "0xac3", "AmpereOne", "ampere"],
    ["0x41", "0xfff", "0x41 0xfff", "arm"],
    ["0x99", "0x123", "0x99 0x123", undefined],
  ])("names an ARM core by implementer and part: %s %s is %s", (implementer, part, model, vendor) => {
    const { cpu } = factsOf(armCppc, armCpuinfo(implementer, part));
    expect(cpu).toMatchObject({ model, sockets: 1, totalCores: 4, driver: "cppc_cpufreq" });
    expect(cpu.vendor).toBe(vendor);
  });

  it("warns about a hybrid CPU and uses the fastest core type", () => {
    const { cpu } = factsOf(hybrid, hybridCpuinfo);
    expect(cpu.landmarks).toEqual({ min: 800, nominal: 2500, maxBoost: 5000 });
    expect(cpu.warnings.join()).toMatch(/hybrid CPU/);
  });

  it("reads a virtual machine without cpufreq and package numbers, with a warning", () => {
    const { cpu } = factsOf(virtualCpus, virtualCpuinfo);
    expect(cpu).toMatchObject({ isVirtual: true, sockets: 1, totalCores: 2, logicalCpus: 2, landmarks: {} });
    expect(cpu.driver).toBeUndefined();
    expect(cpu.warnings.join()).toMatch(/virtual machine/);
  });

  it.each([
    ["hypervisor/type", "xen"],
    ["class/dmi/id/product_name", "KVM Virtual Machine"],
    ["class/dmi/id/product_name", "Google Compute Engine"],
  ])("detects a hypervisor on ARM in %s", (file, text) => {
    const files = { ...virtualCpus.files, [file]: text };
    expect(factsOf({ files }, armCpuinfo("0x41", "0xd40")).cpu.isVirtual).toBe(true);
    expect(factsOf(virtualCpus, armCpuinfo("0x41", "0xd40")).cpu.isVirtual).toBe(false);
  });

  it("warns about offline CPUs and does not count them", () => {
    const { cpu } = factsOf(acpiCpufreq, xeonCpuinfo);
    expect(cpu).toMatchObject({ sockets: 1, totalCores: 3, logicalCpus: 3 });
    expect(cpu.warnings.join()).toMatch(/1 CPUs are offline/);
  });

  it("falls back to cpuinfo if sysfs has no topology", () => {
    expect(factsOf(EMPTY, xeonCpuinfo).cpu).toMatchObject({ sockets: 2, totalCores: 4, logicalCpus: 8 });
  });

  it("returns only warnings if nothing can be read", () => {
    const { cpu, memoryBytes, warnings } = hostFacts({ sys: new FakeHost(EMPTY), proc: new FakeHost(EMPTY, "/proc") });
    expect(cpu).toEqual({ isVirtual: false, landmarks: {}, warnings: expect.any(Array) });
    expect(cpu.warnings.join()).toMatch(/\/proc\/cpuinfo cannot be read.*sockets is unknown/);
    expect(memoryBytes).toBeUndefined();
    expect(warnings.join()).toMatch(/meminfo/);
  });

  it("reads the same from real files", () => {
    const sys = scratchTree(intelPstate);
    const proc = scratchTree(procTree(xeonCpuinfo));
    const roots = { sys: new HostDirectory(sys.root), proc: new HostDirectory(proc.root) };
    expect(hostFacts(roots)).toEqual(factsOf(intelPstate, xeonCpuinfo));
    for (const files of Object.values(roots)) files.close();
    sys.remove();
    proc.remove();
  });
});

describe("kernel file formats", () => {
  it("parses CPU lists with ranges, gaps and spaces", () => {
    expect(cpuList("0-3,8,10-11")).toEqual([0, 1, 2, 3, 8, 10, 11]);
    expect(cpuList("0 2 1\n")).toEqual([0, 1, 2]);
    expect(cpuList("")).toEqual([]);
    expect(cpuList("3-1,x,-1,1-2-3,9999999")).toEqual([]);
    expect(cpuList("0-999999").length).toBe(65_536);
  });

  it("parses any cpuinfo without throwing", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), (text) => {
        const { logicalCpus } = parseCpuinfo(text);
        expect(logicalCpus).toBeGreaterThanOrEqual(0);
      }),
    );
    expect(parseCpuinfo("processor\t: 0\nmodel name\t:  \n")).toEqual({ isVirtual: false, logicalCpus: 1 });
  });
});
