// GPUs on the PCI bus of a real node, without their libraries and tools. The chart shows the agent the bus read-only.
import { mkdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { NodeHardware } from "../../src/core/api/index.ts";
import { Installation, namespace } from "./installation.ts";
import type { RealNode } from "./node.ts";

describe("a real node with a GPU whose tool is missing", () => {
  let joulie: Installation;
  let node: RealNode;
  /** The first GPU has this address, the next one another, as in another slot. */
  let address = "0000:17:00.0";

  const sys = (...path: string[]) => join(joulie.machine, "sys", ...path);
  const device = () => sys("devices/pci0000:00", address);
  const link = () => sys("bus/pci/devices", address);
  const plugIn = (vendor: string) => {
    mkdirSync(device(), { recursive: true });
    mkdirSync(sys("bus/pci/devices"), { recursive: true });
    writeFileSync(join(device(), "vendor"), vendor);
    writeFileSync(join(device(), "class"), "0x030200");
    symlinkSync(`../../../devices/pci0000:00/${address}`, link());
  };
  const replaceBy = (vendor: string) => {
    const before = device();
    unlinkSync(link());
    address = "0000:2a:00.0";
    renameSync(before, device());
    plugIn(vendor);
  };
  /** As NVIDIA's and AMD's feature discovery write them. A PCI device alone may be the display chip of a mainboard. */
  const announce = async (product: Readonly<Record<string, string | null>>) =>
    node.api.mergePatch(`/api/v1/nodes/${node.name}`, { metadata: { labels: product } });
  const logs = async () => {
    const [agent] = await joulie.pods("agent");
    return (await node.kubectl(["logs", "--namespace", namespace, agent?.metadata.name ?? ""])).stdout;
  };
  /** What the agent says when the GPU's message has these words, and the CPUs are capped. */
  const reported = async (words: RegExp) => {
    let message = "";
    await node.until("the GPU is blocked, and the CPUs are capped", async () => {
      const { cpu, gpu } = (await joulie.twin()).status?.controlStatus ?? {};
      message = gpu?.message ?? "";
      return cpu?.result === "applied" && gpu?.result === "blocked" && words.test(message);
    });
    const [agent] = await joulie.pods("agent");
    const { status } = await node.api.get<NodeHardware>(`/apis/joulie.io/v1alpha1/nodehardwares/${node.name}`);
    return {
      message,
      gpu: status?.gpu,
      cpuWatts: joulie.watts(),
      restarts: agent?.status.containerStatuses?.[0]?.restartCount,
      errors: (await logs()).split("\n").filter((line) => /"level":"(?:error|fatal)"/.test(line)),
    };
  };
  const withoutError = {
    gpu: { present: true, controlAvailable: false, quality: "unavailable" },
    cpuWatts: 210,
    restarts: 0,
    errors: [],
  };

  beforeAll(async () => {
    joulie = await Installation.prepare(inject("image"), { gpus: 0 });
    ({ node } = joulie);
    plugIn("0x10de");
  }, 600_000);
  afterAll(async () => node?.stop());

  it("X-65 an NVIDIA GPU without NVML is blocked with what to install, and is no error", async () => {
    const taints = [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }];
    await node.api.mergePatch(`/api/v1/nodes/${node.name}`, { spec: { taints } });
    const gpu = { nvidia: { enabled: true, runtimeClassName: "" } };
    await joulie.label("true");
    await announce({ "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" });
    // The operator and the extender have no business on a GPU node, but this cluster has no other.
    const tolerations = [{ operator: "Exists" }];
    await joulie.install({
      mode: "enforce",
      agent: { gpu, host: { ...joulie.hostPaths, drm: false } },
      operator: { tolerations },
      extender: { tolerations },
    });
    const found = await reported(/cannot load .*libnvidia-ml.*install/);
    expect(found).toMatchObject(withoutError);
  });

  it("X-65 an AMD GPU without its driver is blocked with what to install, and is no error", async () => {
    await announce({ "nvidia.com/gpu.product": null, "amd.com/gpu.product": "AMD_Instinct_MI300X_OAM" });
    replaceBy("0x1002");
    const found = await reported(/modprobe amdgpu/);
    expect(found).toMatchObject(withoutError);
  });
});
