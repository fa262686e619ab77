import { describe, expect, it } from "vitest";
import { migDevicesPerBoard, migProfileOf, migSlicesPerBoard } from "./gpu-devices.ts";

describe("a MIG profile", () => {
  it.each([
    ["nvidia.com/mig-1g.5gb", 1, 1, 5],
    ["nvidia.com/mig-1g.5gb.shared", 1, 1, 5],
    ["nvidia.com/mig-1g.10gb.me", 1, 1, 10],
    ["nvidia.com/mig-1c.3g.20gb", 1, 3, 20],
    ["NVIDIA-A100-SXM4-40GB-MIG-2g.10gb", 2, 2, 10],
    ["NVIDIA-H100-80GB-HBM3-MIG-7g.80gb-SHARED", 7, 7, 80],
    ["NVIDIA-A100-SXM4-40GB-MIG-2c.3g.20gb", 2, 3, 20],
    ["NVIDIA-H200-MIG-1g.18gb.me", 1, 1, 18],
    ["nvidia.com/mig-10c.12g.1000gb", 10, 12, 1000],
  ])("is read from %s", (name, slices, instanceSlices, instanceGB) => {
    expect(migProfileOf(name)).toEqual({ slices, instanceSlices, instanceGB });
  });

  it.each([
    "",
    "nvidia.com/gpu",
    "NVIDIA-A100-SXM4-40GB",
    "NVIDIA-A100-MIG-2g.10gb-x",
    "NVIDIA-A100-MIG-0g.10gb",
    "NVIDIA-A100-MIG-1g.0gb",
    "NVIDIA-A100-MIG-0c.1g.5gb",
    "example.com/mig-1g.5gb",
    "mig-1g.5gb",
    "other.nvidia.com/mig-1g.5gb",
  ])("is not in %j", (name) => {
    expect(migProfileOf(name)).toBeUndefined();
  });
});

describe("slices per board", () => {
  it.each([
    ["NVIDIA-A30", 4],
    ["nvidia a30", 4],
    ["NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 4],
    ["NVIDIA RTX PRO 5000 Blackwell", 2],
    ["NVIDIA RTX PRO 4500 Blackwell", 2],
    ["NVIDIA-A300", 7],
    ["NVIDIA-BA30", 7],
    ["NVIDIA-RTX-6000-Ada-Generation", 7],
    ["NVIDIA-H100-80GB-HBM3", 7],
    ["", 7],
  ])("%j makes %d", (name, slices) => {
    expect(migSlicesPerBoard(name)).toBe(slices);
  });
});

describe("devices of one profile per board", () => {
  // The column "instances available" of NVIDIA's tables of profiles.
  it.each([
    ["1g.5gb", 7, 40, 7],
    ["1g.10gb", 7, 40, 4],
    ["2g.10gb", 7, 40, 3],
    ["3g.20gb", 7, 40, 2],
    ["4g.20gb", 7, 40, 1],
    ["7g.40gb", 7, 40, 1],
    ["1g.10gb", 7, 80, 7],
    ["1g.20gb", 7, 80, 4],
    ["3g.40gb", 7, 80, 2],
    ["1g.12gb", 7, 94, 7],
    ["1g.24gb", 7, 94, 4],
    ["3g.47gb", 7, 94, 2],
    ["1g.18gb", 7, 141, 7],
    ["1g.35gb", 7, 141, 4],
    ["2g.35gb", 7, 141, 3],
    ["3g.71gb", 7, 141, 2],
    ["1g.23gb", 7, 180, 7],
    ["1g.45gb", 7, 180, 4],
    ["1g.6gb", 4, 24, 4],
    ["2g.12gb", 4, 24, 2],
    ["4g.24gb", 4, 24, 1],
    ["3g.20gb", 7, undefined, 2],
    ["1g.5gb", 7, undefined, 7],
    ["1c.3g.20gb", 7, 40, 6],
    ["2c.3g.20gb", 7, 40, 2],
    ["9g.80gb", 7, 80, 1],
    ["1g.999gb", 7, 80, 1],
    ["9c.1g.5gb", 7, 40, 7],
  ])("%s, %d slices, %s GB: %d", (profile, slices, memoryGB, devices) => {
    const found = migProfileOf(`nvidia.com/mig-${profile}`);
    expect(found && migDevicesPerBoard(found, slices, memoryGB)).toBe(devices);
  });
});
