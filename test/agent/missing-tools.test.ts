// A machine with GPUs on its PCI bus, but without their libraries and drivers.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { phases, shape, startAgent } from "./cap-lifecycle.ts";
import { createMachineFiles } from "./machine-files.ts";

const scratch = mkdtempSync(join(tmpdir(), "joulie-missing-tools-"));
const { PATH } = process.env;
beforeAll(() => {
  process.env["PATH"] = "/nowhere";
});
afterAll(() => {
  process.env["PATH"] = PATH;
  rmSync(scratch, { recursive: true });
});

describe("GPUs without their tools", () => {
  it.each([
    { vendor: "0x10de", says: [/cannot load .*no-such-nvml\.so\.1 .*install/] },
    { vendor: "0x1002", says: [/modprobe amdgpu/] },
  ])("X-65 of vendor $vendor are blocked with what to install, and the CPUs are capped", async (gpu) => {
    const folder = join(scratch, gpu.vendor);
    mkdirSync(folder);
    createMachineFiles(folder, { ...shape, gpus: 0 });
    const device = join(folder, "sys/bus/pci/devices/0000:17:00.0");
    mkdirSync(device, { recursive: true });
    writeFileSync(join(device, "vendor"), gpu.vendor);
    writeFileSync(join(device, "class"), "0x030200");
    const agent = await startAgent(folder, { NVML_LIBRARY: "no-such-nvml.so.1" });
    const [capped] = phases;
    const tick = capped && (await agent.enforce(capped));
    await agent.close();
    expect(tick?.cpu).toMatchObject({ result: "applied" });
    expect(tick?.gpu).toMatchObject({ backend: "none", result: "blocked" });
    for (const words of gpu.says) expect(tick?.gpu?.message).toMatch(words);
  });
});
