import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ExtenderHarness } from "../testing/extender-harness.ts";

let harness: ExtenderHarness;
let folder: string;
beforeEach(async () => {
  harness = new ExtenderHarness();
  folder = await mkdtemp(join(tmpdir(), "joulie-catalogue-"));
});
afterEach(async () => {
  await harness.end();
  await rm(folder, { recursive: true });
});

describe("node hardware", () => {
  it("SCH-19 X-11 uses the maxima of NodeHardware as published, also above the catalogue's", async () => {
    await harness.createNode("n");
    await harness.hardware("n", {
      cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192, capRange: { maxWattsPerSocket: 2000 } },
      gpu: { present: true, rawModel: "NVIDIA L4", count: 2, capRangePerGpu: { maxWatts: 500 } },
    });
    const extender = await harness.start();
    expect(await extender.scoredNode("n")).toMatchObject({
      cpuMaxWattsTotal: 4000,
      gpuMaxWattsPerGpu: 500,
      gpuCount: 2,
    });
  });

  it("SCH-19 HARDWARE_CATALOG_PATH adds a site's models, like for the agent", async () => {
    const path = join(folder, "site.yaml");
    await writeFile(path, "cpus:\n  - { key: site-cpu, coresPerSocket: 10, baseGHz: 3, tdpWatts: 111 }\n");
    await harness.createNode("n", { "joulie.io/hw.cpu-model": "site-cpu", "joulie.io/hw.cpu-sockets": "2" });
    const extender = await harness.start({ HARDWARE_CATALOG_PATH: path });
    expect(await extender.scoredNode("n")).toMatchObject({ cpuMaxWattsTotal: 222, cpuTotalCores: 20 });
  });

  it("SCH-17 counts the CPUs of a node without NodeHardware as threads, and on arm64 as cores", async () => {
    await harness.createNode("x86", { "kubernetes.io/arch": "amd64" });
    await harness.createNode("arm", { "kubernetes.io/arch": "arm64" });
    const extender = await harness.start();
    expect(await extender.scoredNode("x86")).toMatchObject({ cpuTotalCores: 32 });
    expect(await extender.scoredNode("arm")).toMatchObject({ cpuTotalCores: 64 });
  });
});
