import { describe, expect, it } from "vitest";
import { hardwareView } from "./hardware-view.ts";

type Resources = Record<string, string | number>;
const gpuOf = (labels: Record<string, string>, allocatable: Resources = {}) =>
  hardwareView({ metadata: { name: "n1", labels }, status: { allocatable } }, undefined).gpu;
const boards = (labels: Record<string, string>, allocatable: Resources = {}) => gpuOf(labels, allocatable)?.count;

describe("NVIDIA devices", () => {
  it("are MIG slices if the product label has a profile: gpu.count then counts slices, not boards", () => {
    const cut = (product: string, count: string) => ({
      "nvidia.com/mig.strategy": "single",
      "nvidia.com/gpu.product": product,
      "nvidia.com/gpu.count": count,
    });
    expect(gpuOf(cut("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "56"), { "nvidia.com/gpu": "56" })).toMatchObject({
      key: "nvidia-a100-sxm-40gb",
      count: 8,
      maxWatts: 400,
    });
    expect(boards(cut("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "57"))).toBe(9);
    expect(boards(cut("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "16"))).toBe(8);
    expect(boards(cut("NVIDIA-A100-SXM4-80GB-MIG-1g.20gb", "32"))).toBe(8);
    expect(boards(cut("NVIDIA-A30-MIG-1g.6gb", "8"))).toBe(2);
    expect(boards(cut("NVIDIA-Unheard-Of-MIG-1g.5gb", "14"))).toBe(2);
    expect(boards(cut("NVIDIA-A100-SXM4-40GB", "8"), { "nvidia.com/gpu": "56" })).toBe(8);
  });

  it("are divided by the profile even without a count label", () => {
    const product = { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb" };
    expect(gpuOf(product, { "nvidia.com/gpu": 28 })).toMatchObject({ count: 4 });
    expect(boards(product, { "amd.com/gpu": 28 })).toBe(28);
  });

  it("are time-sliced replicas if the node has a replicas label, whether or not the resource is renamed", () => {
    const shared = { "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "10" };
    expect(gpuOf(shared, { "nvidia.com/gpu": "40" })).toMatchObject({ key: "nvidia-t4", count: 4 });
    expect(boards(shared, { "nvidia.com/gpu.shared": "40" })).toBe(4);
    expect(boards(shared, { "nvidia.com/gpu.shared": "31", "nvidia.com/gpu": "0" })).toBe(4);
    // If the plugin shares only some boards, the others keep their resource name.
    expect(boards(shared, { "nvidia.com/gpu.shared": "20", "nvidia.com/gpu": "2" })).toBe(4);
    expect(boards({ "nvidia.com/gpu.replicas": "10" }, { "amd.com/gpu": "4" })).toBe(4);
    const mig = { "nvidia.com/gpu.product": "NVIDIA-A100-MIG-1g.5gb-SHARED", "nvidia.com/gpu.replicas": "2" };
    expect(boards(mig, { "nvidia.com/gpu": "28" })).toBe(2);
  });

  it.each(["0", "-2", "1.5", "many", ""])("are counted as boards if the replicas label is %j", (replicas) => {
    expect(boards({ "nvidia.com/gpu.replicas": replicas }, { "nvidia.com/gpu": 4 })).toBe(4);
  });

  it("are ignored if the user or the agent declares the number of boards", () => {
    const labels = { "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "nvidia.com/gpu.count": "56" };
    expect(boards({ ...labels, "joulie.io/hw.gpu-count": "6" })).toBe(6);
    const node = { metadata: { name: "n1", labels } };
    expect(hardwareView(node, { gpu: { count: 7 } }).gpu?.count).toBe(7);
  });
});

describe("AMD devices", () => {
  const product = (name: string, partition?: string) => ({
    "amd.com/gpu.product": name,
    ...(partition === undefined ? {} : { "amd.com/compute-memory-partition": partition }),
  });

  it.each(["AMD_Instinct_MI250X", "AMD Instinct MI250"])("%s: two dies to a board", (name) => {
    const view = gpuOf(product(name), { "amd.com/gpu": 8 });
    expect(view).toMatchObject({ count: 4, devicesPerBoard: 2, maxWatts: 560 });
    expect(boards(product(name), { "amd.com/gpu": 7 })).toBe(4);
    expect(gpuOf({ ...product(name), "joulie.io/hw.gpu-count": "3" })).toMatchObject({ count: 3, devicesPerBoard: 2 });
  });

  it.each([
    ["MI300X", "spx_nps1", 8, 8, undefined],
    ["MI300X", "DPX_nps2", 16, 8, 2],
    ["MI300X", "qpx_nps1", 4, 1, 4],
    ["MI300X", "cpx_nps4", 64, 8, 8],
    ["MI300X", "cpx_nps4", 16, 2, 8],
    ["MI300A", "tpx_nps1", 12, 4, 3],
    ["MI300A", "cpx_nps1", 24, 4, 6],
    ["MI355X", "cpx_nps1", 64, 8, 8],
    ["Unheard Of", "dpx_nps1", 4, 2, 2],
    ["Unheard Of", "cpx_nps1", 4, 4, undefined],
    ["MI300X", "other", 8, 8, undefined],
    ["MI210", undefined, 16, 16, undefined],
    // No label states this, but no server has sixteen of these boards.
    ["MI300X", undefined, 8, 8, undefined],
    ["MI300X", undefined, 16, 8, 2],
    ["MI300X", undefined, 63, 8, 8],
    ["MI300X", undefined, 128, 16, 8],
  ])("%s partitioned %s, %d devices: %d boards", (name, partition, devices, count, devicesPerBoard) => {
    const view = gpuOf(product(name, partition), { "amd.com/gpu": devices });
    expect([view?.count, view?.devicesPerBoard]).toEqual([count, devicesPerBoard]);
  });

  it("of another vendor are not partitioned by AMD's label", () => {
    expect(boards({ "amd.com/compute-memory-partition": "dpx_nps1" }, { "nvidia.com/gpu": 4 })).toBe(4);
  });
});

describe("Intel devices", () => {
  it("are found under either driver's name", () => {
    expect(gpuOf({}, { "gpu.intel.com/xe": 4 })).toMatchObject({ vendor: "intel", count: 4 });
    expect(boards({}, { "gpu.intel.com/i915": 2, "gpu.intel.com/xe": 4 })).toBe(6);
  });
});
