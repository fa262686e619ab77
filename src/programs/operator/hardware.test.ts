import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { celsius, watts } from "../../core/units/index.ts";
import type { OperatorConfig } from "./config.ts";
import { siteCoolingModel } from "./cooling.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

const SOON = 10;

describe("the operator's view of the hardware", () => {
  let harness: OperatorTestHarness;
  let folder: string;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
    folder = await mkdtemp(join(tmpdir(), "joulie-catalogue-"));
  });
  afterEach(async () => {
    await harness.end();
    await rm(folder, { recursive: true });
  });

  it("X-11 uses the maxima in NodeHardware, even above those in the catalogue", async () => {
    await harness.createNode("n");
    await harness.discovered("n", {
      cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192, capRange: { maxWattsPerSocket: 2000 } },
      gpu: { present: true, rawModel: "NVIDIA L4", count: 2, capRangePerGpu: { maxWatts: 500 } },
    });
    harness.start();
    await harness.advance(SOON);
    const { powerMeasurement } = (await harness.twin("n")).status ?? {};
    expect(powerMeasurement).toMatchObject({ cpuTdpW: 4000, gpuTdpW: 1000 });
  });

  it("X-11 HARDWARE_CATALOG_PATH adds a site's models, as it does for the agent", async () => {
    const path = join(folder, "site.yaml");
    await writeFile(path, "cpus:\n  - { key: site-cpu, coresPerSocket: 10, baseGHz: 3, tdpWatts: 111 }\n");
    await harness.createNode("n", { "joulie.io/hw.cpu-model": "site-cpu", "joulie.io/hw.cpu-sockets": "2" });
    harness.start({ HARDWARE_CATALOG_PATH: path });
    const measured = async () => (await harness.findTwin("n"))?.status?.powerMeasurement;
    // The file is read in real time.
    await harness.until(async () => (await measured()) !== undefined);
    expect((await measured())?.cpuTdpW).toBe(222);
  });

  it.each([
    ["missing.csv", undefined, "ENOENT"],
    ["falling.csv", "nodePowerW,ambientC,stress\n0,20,9\n1000,20,8\n", "stress falls at 1000 W, 20 °C"],
  ])("X-160 does not start with the cooling table %s, and says what is wrong", async (name, text, why) => {
    const path = join(folder, name);
    if (text !== undefined) await writeFile(path, text);
    const config = { COOLING_MODEL: "table", COOLING_TABLE: path } as OperatorConfig;
    await expect(siteCoolingModel(config)).rejects.toThrow(`COOLING_TABLE=${path} cannot be used: `);
    await expect(siteCoolingModel(config)).rejects.toThrow(why);
  });

  it("X-160 reads the table of the guide: what the fans of a node have to move, of what they can", async () => {
    const path = join(import.meta.dirname, "../../../docs/guides/cooling-table.csv");
    const model = await siteCoolingModel({ COOLING_MODEL: "table", COOLING_TABLE: path } as OperatorConfig);
    for (const [power, ambient] of [
      [1440, 25],
      [2250, 32],
      [3100, 18],
    ] as const) {
      const needed = (100 * power) / (1.2 * 1005 * 0.12 * (60 - ambient));
      expect(Math.abs((model?.coolingStress(watts(power), celsius(ambient)) ?? 0) - needed)).toBeLessThan(1);
    }
  });

  it("X-30 OPR-12 ranks an identified node before the same node without an agent report", async () => {
    const capacity = { cpu: "384" };
    const rest = { status: { capacity, allocatable: capacity } };
    for (const name of ["a-unknown", "b-known", "c-unknown"]) await harness.createNode(name, {}, rest);
    await harness.discovered("b-known", { cpu: { rawModel: "AMD EPYC 9654", sockets: 2, totalCores: 192 } });
    harness.start({ STATIC_HP_FRAC: "0.34" });
    await harness.advance(SOON);
    expect((await harness.shown("b-known")).spec).toBe("performance");
    for (const name of ["a-unknown", "c-unknown"]) expect((await harness.shown(name)).spec).toBe("eco");
  });
});
