import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GpuNode, gpuBoardsOn } from "./gpu-boards.ts";

const boards = (resource: string, count: number, node: Partial<GpuNode> = {}) =>
  gpuBoardsOn(new Map([[resource, count]]), { boards: 8, ...node });
const product = (name: string, more: Record<string, string> = {}) => ({
  labels: { "nvidia.com/gpu.product": name, ...more },
});

describe("GPU boards", () => {
  it.each(["nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "nvidia.com/gpu.shared"])(
    "SCH-16 counts %s as whole boards by default",
    (resource) => {
      expect(boards(resource, 3)).toBe(3);
      expect(boards(resource, 3, product("NVIDIA-H100-80GB-HBM3-SHARED"))).toBe(3);
    },
  );

  it("X-60 never counts more boards than the node has", () => {
    expect(boards("nvidia.com/gpu", 9)).toBe(8);
    expect(boards("nvidia.com/gpu", 8)).toBe(8);
    expect(
      gpuBoardsOn(
        new Map([
          ["nvidia.com/gpu", 5],
          ["amd.com/gpu", 5],
        ]),
        { boards: 8 },
      ),
    ).toBe(8);
    expect(boards("nvidia.com/gpu", 1, { boards: 0 })).toBe(0);
    expect(boards("nvidia.com/gpu", 1, { boards: -1 })).toBe(0);
    expect(boards("nvidia.com/gpu", 1, { boards: Number.NaN })).toBe(0);
    expect(gpuBoardsOn(new Map(), { boards: 8 })).toBe(0);
    expect(boards("cpu", 4)).toBe(0);
  });

  it.each([
    ["nvidia.com/mig-1g.5gb", 1 / 7],
    ["nvidia.com/mig-1g.10gb.me", 1 / 7],
    ["nvidia.com/mig-3g.20gb", 3 / 7],
    ["nvidia.com/mig-7g.80gb", 1],
    ["nvidia.com/mig-9g.80gb", 1],
    ["nvidia.com/mig-1c.3g.20gb", 1 / 7],
    ["nvidia.com/mig-10c.12g.200gb", 1],
  ])("X-60 counts %s as %d of a board", (resource, share) => {
    expect(boards(resource, 1)).toBe(share);
    expect(boards(resource, 2)).toBe(2 * share);
  });

  it.each(["NVIDIA-A30", "nvidia a30", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"])(
    "X-60 divides %s into four slices",
    (name) => {
      expect(boards("nvidia.com/mig-1g.6gb", 1, product(name))).toBe(1 / 4);
      expect(boards("nvidia.com/mig-1g.6gb", 1, { model: name })).toBe(1 / 4);
    },
  );

  it.each(["NVIDIA-A300", "NVIDIA-BA30", "NVIDIA-A100-SXM4-40GB", "NVIDIA-RTX-6000-Ada"])(
    "X-60 divides %s into seven slices",
    (name) => {
      expect(boards("nvidia.com/mig-1g.6gb", 1, product(name))).toBe(1 / 7);
    },
  );

  it("X-60 reads the slice from the product label if every board is divided alike", () => {
    expect(boards("nvidia.com/gpu", 2, product("NVIDIA-A100-SXM4-40GB-MIG-2g.10gb"))).toBe(4 / 7);
    expect(boards("nvidia.com/gpu", 2, product("NVIDIA-A100-SXM4-40GB-MIG-2g.10gb-SHARED"))).toBe(4 / 7);
    expect(boards("nvidia.com/gpu", 1, product("NVIDIA-A30-MIG-1g.6gb"))).toBe(1 / 4);
    expect(boards("nvidia.com/gpu", 1, product("NVIDIA-A100-MIG-2g.10gb-x"))).toBe(1);
    expect(boards("amd.com/gpu", 1, product("NVIDIA-A100-SXM4-40GB-MIG-2g.10gb"))).toBe(1);
  });

  it("X-60 divides a time-shared board by the number of replicas the node states", () => {
    const shared = product("NVIDIA-T4-SHARED", { "nvidia.com/gpu.replicas": "10" });
    expect(boards("nvidia.com/gpu", 1, shared)).toBe(0.1);
    expect(boards("nvidia.com/gpu.shared", 3, shared)).toBeCloseTo(0.3, 12);
    const mig = { labels: { "nvidia.com/mig-1g.5gb.replicas": "2" } };
    expect(boards("nvidia.com/mig-1g.5gb", 1, mig)).toBe(1 / 14);
    expect(boards("nvidia.com/mig-1g.5gb.shared", 1, mig)).toBe(1 / 14);
    const cutAndShared = product("NVIDIA-A100-MIG-1g.5gb-SHARED", { "nvidia.com/gpu.replicas": "2" });
    expect(boards("nvidia.com/gpu", 1, cutAndShared)).toBe(1 / 14);
    expect(boards("nvidia.com/gpu.shared", 1, cutAndShared)).toBe(1 / 14);
  });

  it.each(["0", "-2", "1.5", "many", "", "1e3", "12345678", " 2"])("X-60 ignores the replica label %j", (replicas) => {
    expect(boards("nvidia.com/gpu", 1, { labels: { "nvidia.com/gpu.replicas": replicas } })).toBe(1);
  });

  it("X-60 never exceeds the boards of the node for any request", () => {
    const resource = fc.constantFrom(
      "nvidia.com/gpu",
      "nvidia.com/mig-3g.20gb",
      "nvidia.com/gpu.shared",
      "amd.com/gpu",
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(resource, fc.double({ min: 0, max: 9e18, noNaN: true }))),
        fc.integer({ min: 0, max: 16 }),
        (asked, has) => {
          const counted = gpuBoardsOn(new Map(asked), { boards: has });
          expect(counted).toBeGreaterThanOrEqual(0);
          expect(counted).toBeLessThanOrEqual(has);
        },
      ),
    );
  });
});
