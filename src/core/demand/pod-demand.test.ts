import { describe, expect, it } from "vitest";
import type { Container, PodSpec } from "../api/index.ts";
import { demandOf } from "./pod-demand.ts";

const demand = (spec: PodSpec) => demandOf({ metadata: { name: "p" }, spec });
const gpus = (spec: PodSpec) => Object.fromEntries(demand(spec).gpus);
const container = (resources: Container["resources"], restartPolicy?: string): Container => ({
  ...(resources && { resources }),
  ...(restartPolicy !== undefined && { restartPolicy }),
});

describe("pod demand", () => {
  it("SCH-15 sums the CPU requests of all containers", () => {
    const containers = [
      container({ requests: { cpu: "1500m" }, limits: { cpu: 8 } }),
      container({ requests: { cpu: 2 } }),
    ];
    expect(demand({ containers })).toEqual({ cpuCores: 3.5, gpus: new Map() });
    expect(
      demand({ containers: Array.from({ length: 3 }, () => container({ requests: { cpu: "100m" } })) }).cpuCores,
    ).toBe(0.3);
  });

  it("X-83 uses the limit without a request, else zero cores, and ignores memory", () => {
    expect(demand({ containers: [container({ limits: { cpu: "4" } })] }).cpuCores).toBe(4);
    expect(
      demand({ containers: [container({ limits: { cpu: 4 } }), container({ requests: { cpu: 1 } })] }).cpuCores,
    ).toBe(5);
    expect(demand({ containers: [container({ requests: { memory: "64Gi" } }), {}] }).cpuCores).toBe(0);
    expect(demand({ containers: [container({ requests: { cpu: 0 }, limits: { cpu: 4 } })] }).cpuCores).toBe(0);
    expect(demand({}).cpuCores).toBe(0);
  });

  it("X-83 counts sidecars but neither other init containers nor overhead", () => {
    const spec: PodSpec = {
      containers: [container({ requests: { cpu: 1 } })],
      initContainers: [
        container({ requests: { cpu: 2 }, limits: { "nvidia.com/gpu": 1 } }, "Always"),
        container({ requests: { cpu: 64 }, limits: { "nvidia.com/gpu": 8 } }),
        container({ requests: { cpu: 64 } }, "OnFailure"),
      ],
      overhead: { cpu: 16 },
    };
    expect(demand(spec).cpuCores).toBe(3);
    expect(gpus(spec)).toEqual({ "nvidia.com/gpu": 1 });
  });

  it("X-83 falls back to pod-level CPU only if no container requests CPU", () => {
    const resources = { requests: { cpu: 6 }, limits: { cpu: 9 } };
    expect(demand({ containers: [{}], resources }).cpuCores).toBe(6);
    expect(demand({ containers: [{}], resources: { limits: { cpu: 9 } } }).cpuCores).toBe(9);
    expect(demand({ containers: [container({ requests: { cpu: 2 } })], resources }).cpuCores).toBe(2);
    expect(demand({ containers: [container({ requests: { cpu: 0 } })], resources }).cpuCores).toBe(0);
  });

  it("SCH-16 counts GPUs of every vendor from limits, else from requests", () => {
    const containers = [
      container({ limits: { "nvidia.com/gpu": 2, "amd.com/gpu": "1", cpu: 1 }, requests: { "nvidia.com/gpu": 1 } }),
      container({ requests: { "nvidia.com/gpu": "3", "gpu.intel.com/i915": 1, "gpu.intel.com/xe": 2 } }),
      container({ limits: { "nvidia.com/mig-1g.5gb": 2, "nvidia.com/gpu.shared": 1 } }),
    ];
    expect(gpus({ containers })).toEqual({
      "nvidia.com/gpu": 5,
      "amd.com/gpu": 1,
      "gpu.intel.com/i915": 1,
      "gpu.intel.com/xe": 2,
      "nvidia.com/mig-1g.5gb": 2,
      "nvidia.com/gpu.shared": 1,
    });
  });

  it("SCH-16 ignores resources that are not GPUs", () => {
    const limits = {
      "nvidia.com/gpu": 0,
      "nvidia.com/gpumem": 4,
      "gpu.intel.com/i915_monitoring": 1,
      "rdma/hca": 1,
      "example.com/nvidia.com/mig-1g.5gb": 1,
      "nvidia.com/mig-1g.5gb-x": 1,
    };
    expect(gpus({ containers: [container({ limits })] })).toEqual({});
  });

  it("X-60 counts bad quantities as missing", () => {
    const { cpuCores, gpus: boards } = demand({
      containers: [
        container({ requests: { cpu: "1 core" }, limits: { cpu: 3, "nvidia.com/gpu": "one" } }),
        container({ limits: { "amd.com/gpu": -1 }, requests: { "amd.com/gpu": 2 } }),
      ],
    });
    expect(cpuCores).toBe(3);
    expect(Object.fromEntries(boards)).toEqual({ "amd.com/gpu": 2 });
  });

  it.each([
    ["100m", 0.1],
    ["2k", 2000],
    ["5u", 5e-6],
    ["7n", 7e-9],
    ["1Ki", 1024],
    ["1Ei", 2 ** 60],
    ["1e3", 1000],
  ])("X-60 reads %s", (cpu, cores) => {
    expect(demand({ containers: [container({ requests: { cpu } })] }).cpuCores).toBe(cores);
  });
});
