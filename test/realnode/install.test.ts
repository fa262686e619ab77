import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildImage } from "../../scripts/image/build.ts";
import { differences, layMachine, limitFile, treeOf } from "../agent/machine.ts";
import { helmOf } from "../controlplane/helm.ts";
import { type RealNode, startRealNode } from "./node.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const namespace = "joulie-system";

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

interface Twin {
  readonly spec?: { readonly profile?: string };
  readonly status?: {
    readonly schedulableClass?: string;
    readonly controlStatus?: { readonly cpu?: { readonly result?: string; readonly message?: string } };
  };
}

describe("helm install on a real node", () => {
  let node: RealNode;
  let helm: (...args: string[]) => Promise<string>;
  /** The host's sysfs, procfs and state folder, as a tree of files. */
  let machine: string;
  let original: ReadonlyMap<string, string>;
  let images: string;

  const sys = () => treeOf(join(machine, "sys"));
  const watts = () => Number(readFileSync(join(machine, "sys", limitFile(0)), "utf8")) / 1e6;
  const twin = async () => node.api.get<Twin>(`/apis/joulie.io/v1alpha1/nodetwins/${node.name}`);
  const readyPods = async () => {
    const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
    return items
      .filter(({ status }) => status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"))
      .map(({ metadata }) => metadata.labels["app.kubernetes.io/component"])
      .toSorted();
  };
  const settings = () => [
    ...["--namespace", namespace, "--wait", "--timeout", "4m"],
    ...["--set", "image.repository=localhost/joulie,image.tag=dev,image.pullPolicy=Never"],
    ...["--set", `agent.host.sysPath=${machine}/sys,agent.host.procPath=${machine}/proc`],
    ...["--set", `agent.host.statePath=${machine}/state,agent.host.drm=true`],
    ...["--set", "agent.env.RECONCILE_INTERVAL=2s,operator.env.RECONCILE_INTERVAL=2s"],
    // The only node becomes an eco node.
    ...["--set", "operator.env.STATIC_HP_FRAC=0"],
  ];

  beforeAll(async () => {
    machine = mkdtempSync(join(tmpdir(), "joulie-machine-"));
    images = mkdtempSync(join(tmpdir(), "joulie-images-"));
    layMachine(machine, { cpus: 8, packages: 2, gpus: 1 });
    original = sys();
    const image = await buildImage(images, "localhost/joulie:dev");
    node = await startRealNode();
    await node.importImage(image.archive);
    helm = await helmOf(node.folder, node.admin.kubeconfig);
    await node.api.mergePatch(`/api/v1/nodes/${node.name}`, { metadata: { labels: { "joulie.io/managed": "true" } } });
  }, 600_000);
  afterAll(async () => {
    await node?.stop();
    for (const folder of [machine, images]) rmSync(folder, { recursive: true, force: true });
  });

  it("AGT-11 SCH-53 brings every workload up, and a NodeHardware and a NodeTwin appear", async () => {
    await helm("install", "joulie", chart, "--create-namespace", ...settings());
    // Helm's --wait takes a DaemonSet of one node, of which one may be unavailable, for ready at once.
    await node.until("all pods are Ready", async () => {
      expect(await readyPods()).toEqual(["agent", "extender", "extender", "operator", "operator"]);
      return true;
    });
    await node.until("NodeHardware and NodeTwin exist", async () => {
      await node.api.get(`/apis/joulie.io/v1alpha1/nodehardwares/${node.name}`);
      return (await twin()).status?.schedulableClass === "eco";
    });
  });

  it("observes only: no file of the host has changed", async () => {
    expect(differences(sys(), original)).toEqual([]);
  });

  it("caps the host from a pod without capabilities, once enforcing", async () => {
    await helm("upgrade", "joulie", chart, "--set", "mode=enforce", ...settings());
    await node.until("the CPU cap is in the file", async () => watts() === 210);
    await node.until("the twin reports the cap", async () => {
      const result = (await twin()).status?.controlStatus?.cpu;
      if (result?.result !== "applied") throw new Error(JSON.stringify(result));
      return true;
    });
  });

  it("X-65 keeps an agent on a node with a GPU taint", async () => {
    const taints = [{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }];
    await node.api.mergePatch(`/api/v1/nodes/${node.name}`, { spec: { taints } });
    const selector = "labelSelector=app.kubernetes.io/component%3Dagent";
    const agents = `/api/v1/namespaces/${namespace}/pods?${selector}`;
    const before = (await node.api.get<Pods>(agents)).items.map(({ metadata }) => metadata.name);
    await node.kubectl(["delete", "pod", "--namespace", namespace, ...before]);
    await node.until("another agent is Ready", async () => {
      const { items } = await node.api.get<Pods>(agents);
      return (await readyPods())[0] === "agent" && !items.some(({ metadata }) => before.includes(metadata.name));
    });
    await node.api.mergePatch(`/api/v1/nodes/${node.name}`, { spec: { taints: [] } });
  });

  it("answers through the Service", async () => {
    const path = `/api/v1/namespaces/${namespace}/services/joulie-scheduler-extender:http/proxy/healthz`;
    expect(await node.api.text("GET", path)).toBe("live\n");
  });

  it("leaves the host's files as they were when it is uninstalled", async () => {
    await helm("uninstall", "joulie", "--namespace", namespace, "--wait", "--timeout", "2m");
    await node.until("all pods are gone", async () => {
      const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
      return items.length === 0;
    });
    expect(differences(sys(), original)).toEqual([]);
  });
});
