import { describe, expect, it } from "vitest";
import { hardwareView } from "../../../core/inventory/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { nodeManifest } from "../nodes/node-writer.ts";
import { generateMachines } from "./machine-specs.ts";

const fleet = (count: number, seed = 1) => generateMachines(count, "sim", seededRandom(seed));
const kindsOf = (specs: ReturnType<typeof fleet>) =>
  new Set(specs.map(({ hardware }) => `${hardware.cpu.key} ${hardware.gpu?.key}`));

describe("generateMachines", () => {
  it("generates several CPU families and three GPU models in racks and zones", () => {
    const specs = fleet(40);
    expect(new Set(specs.map(({ hardware }) => hardware.cpu.key)).size).toBeGreaterThanOrEqual(4);
    const boards = new Set(specs.flatMap(({ hardware }) => hardware.gpu?.key ?? []));
    expect(boards).toEqual(new Set(["nvidia-h100-sxm", "nvidia-l40s", "amd-mi300x"]));
    expect(new Set(specs.map(({ rack }) => rack)).size).toBe(4);
    expect(new Set(specs.map(({ zone }) => zone)).size).toBe(2);
  });

  it("produces labels from which the catalogue derives the hardware to the watt, as agents do", () => {
    for (const { labels, hardware, name, ...spec } of fleet(40)) {
      const { status } = nodeManifest({ ...spec, labels, hardware, name }, 0 as never, true);
      const read = hardwareView({ metadata: { name, labels }, status }, undefined);
      expect(read.cpu).toMatchObject({ match: "exact", maxWatts: hardware.cpu.maxWatts, totalCores: spec.cores });
      expect(read.gpu?.count).toBe(spec.gpus?.count);
      expect(read.gpu?.match ?? "exact").toBe("exact");
      for (const value of Object.values(labels)) expect(value).toMatch(/^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/);
    }
  });

  it("is reproducible for a seed, differs between seeds, and supports any size", () => {
    expect(fleet(40)).toEqual(fleet(40));
    expect(fleet(40, 2).map(({ cores }) => cores)).not.toEqual(fleet(40).map(({ cores }) => cores));
    for (const count of [1, 2, 7, 999]) {
      const specs = fleet(count);
      expect(specs).toHaveLength(count);
      expect(new Set(specs.map(({ name }) => name)).size).toBe(count);
    }
    expect(kindsOf(fleet(2000))).toEqual(kindsOf(fleet(40)));
  });
});
