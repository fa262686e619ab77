import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildImage } from "../../scripts/image/build.ts";
import { createMachineFiles, differences, limitFile, readTree } from "../agent/machine-files.ts";
import { helmOf } from "../controlplane/helm.ts";
import { type RealNode, startRealNode } from "./node.ts";
import { startPrometheus } from "./prometheus.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const namespace = "joulie-system";
const service = `/api/v1/namespaces/${namespace}/services/joulie-scheduler-extender`;
const extender = { filterVerb: "filter", prioritizeVerb: "prioritize", weight: 1, nodeCacheCapable: true };
/** The contract fixes these names, although promtool wants no gauge to end in _count. */
const frozenNames = ["joulie_dvfs_above_trip_count ", "joulie_dvfs_below_trip_count "];

const metricsPort = (labels: Readonly<Record<string, string>>): number | undefined =>
  new Map([
    ["agent", 8080],
    ["operator", 8081],
    ["extender", 9877],
  ]).get(labels["app.kubernetes.io/component"] ?? "");

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
    readonly status: {
      readonly podIP?: string;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
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

  const sys = () => readTree(join(machine, "sys"));
  const watts = () => Number(readFileSync(join(machine, "sys", limitFile(0)), "utf8")) / 1e6;
  const twin = async () => node.api.get<Twin>(`/apis/joulie.io/v1alpha1/nodetwins/${node.name}`);
  const readyPods = async () => {
    const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
    return items
      .filter(({ status }) => status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"))
      .map(({ metadata }) => metadata.labels["app.kubernetes.io/component"] ?? "")
      .toSorted();
  };
  const everyWorkloadIsReady = async () => {
    expect(await readyPods()).toEqual(["agent", "extender", "extender", "operator", "operator"]);
    return true;
  };
  const comesToHave = async (cap: number) => {
    await node.until(`the CPU cap is ${cap} W`, async () => {
      expect(watts()).toBe(cap);
      return true;
    });
  };
  const taint = async (taints: readonly object[]) =>
    node.api.mergePatch(`/api/v1/nodes/${node.name}`, { spec: { taints } });
  /** Deletes the agent's pod and waits for the next one. */
  const replaceAgent = async (flags: readonly string[]) => {
    const agents = `/api/v1/namespaces/${namespace}/pods?labelSelector=app.kubernetes.io/component%3Dagent`;
    const before = (await node.api.get<Pods>(agents)).items.map(({ metadata }) => metadata.name);
    await node.kubectl(["delete", "pod", "--namespace", namespace, ...flags, ...before]);
    await node.until("another agent is Ready", async () => {
      const { items } = await node.api.get<Pods>(agents);
      return (await readyPods())[0] === "agent" && !items.some(({ metadata }) => before.includes(metadata.name));
    });
    await comesToHave(210);
  };
  const createPod = async (workloadClass: string, spec: object = {}) =>
    node.api.create("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: workloadClass, annotations: { "joulie.io/workload-class": workloadClass } },
      spec: { ...spec, containers: [{ name: "main", image: "localhost/pause:1", imagePullPolicy: "Never" }] },
    });
  const phase = async (pod: string) =>
    (await node.api.get<{ status: { phase: string } }>(`/api/v1/namespaces/default/pods/${pod}`)).status.phase;
  const upgrade = async (how: Settings) => helm("upgrade", "joulie", chart, ...settings(how));

  interface Settings {
    readonly mode?: "observe" | "enforce";
    /** By default the only node becomes an eco node. */
    readonly performanceShare?: number;
  }
  const settings = ({ mode = "observe", performanceShare = 0 }: Settings = {}) => {
    const values = {
      mode,
      image: { repository: "localhost/joulie", tag: "dev", pullPolicy: "Never" },
      agent: {
        host: { sysPath: `${machine}/sys`, procPath: `${machine}/proc`, statePath: `${machine}/state`, drm: true },
        env: { RECONCILE_INTERVAL: "2s" },
      },
      operator: { env: { RECONCILE_INTERVAL: "2s", PROFILE_MIN_DWELL: "0", STATIC_HP_FRAC: performanceShare } },
    };
    const flags = Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
    return ["--namespace", namespace, "--wait", "--timeout", "4m", ...flags];
  };

  beforeAll(async () => {
    machine = mkdtempSync(join(tmpdir(), "joulie-machine-"));
    images = mkdtempSync(join(tmpdir(), "joulie-images-"));
    createMachineFiles(machine, { cpus: 8, packages: 2, gpus: 1 });
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
    await node.until("all pods are Ready", everyWorkloadIsReady);
    await node.until("NodeHardware and NodeTwin exist", async () => {
      await node.api.get(`/apis/joulie.io/v1alpha1/nodehardwares/${node.name}`);
      expect((await twin()).status?.schedulableClass).toBe("eco");
      return true;
    });
  });

  it("observes only: no file of the host has changed", async () => {
    expect(differences(sys(), original)).toEqual([]);
  });

  it("caps the host from a pod without capabilities, once enforcing", async () => {
    await upgrade({ mode: "enforce" });
    await comesToHave(210);
    await node.until("the twin reports the cap", async () => {
      expect((await twin()).status?.controlStatus?.cpu?.result).toBe("applied");
      return true;
    });
  });

  it("X-65 keeps an agent on a node with a GPU taint", async () => {
    await taint([{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }]);
    await replaceAgent([]);
    await taint([]);
    expect(watts()).toBe(210);
  });

  it("serves kube-scheduler through the Service: an eco node gets standard pods, and no performance pods", async () => {
    expect(await node.api.text("GET", `${service}:http/proxy/healthz`)).toBe("live\n");
    const { spec } = await node.api.get<{ spec: { clusterIP: string } }>(service);
    await node.schedule({ extenders: [{ urlPrefix: `http://${spec.clusterIP}:9876`, ...extender }] });
    await createPod("standard");
    await createPod("performance");
    await node.until("the standard pod runs", async () => (await phase("standard")) === "Running");
    await node.until("the performance pod is rejected", async () => {
      const { stdout } = await node.kubectl(["get", "events", "--field-selector", "reason=FailedScheduling"]);
      expect(stdout).toContain("pod/performance");
      return true;
    });
    expect(await phase("performance")).toBe("Pending");
  });

  it("raises the cap and places the performance pod when the node becomes a performance node", async () => {
    await upgrade({ mode: "enforce", performanceShare: 1 });
    await node.until("the performance pod runs", async () => (await phase("performance")) === "Running", 120_000);
    await comesToHave(350);
    expect(await phase("standard")).toBe("Running");
  });

  it("drains the node before it caps it again", async () => {
    await upgrade({ mode: "enforce", performanceShare: 0 });
    await node.until("the node drains", async () => (await twin()).status?.schedulableClass === "draining");
    expect(watts()).toBe(350);
    await node.kubectl(["delete", "pod", "performance"]);
    await comesToHave(210);
  });

  it("keeps the cap while an agent is killed and replaced, and while the kubelet restarts", async () => {
    await replaceAgent(["--grace-period=0", "--force"]);
    expect(watts()).toBe(210);
    await node.kubelet.restart();
    await node.until("all pods are Ready", everyWorkloadIsReady);
    expect(watts()).toBe(210);
  });

  it("serves metrics that promtool accepts from every program", async () => {
    const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
    for (const { metadata } of items) {
      const address = `${metadata.name}:${metricsPort(metadata.labels)}`;
      const path = `/api/v1/namespaces/${namespace}/pods/${address}/proxy/metrics`;
      const input = await node.api.text("GET", path);
      expect(input).toContain("process_resident_memory_bytes");
      const { stderr } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
      const findings = stderr.split("\n").filter((line) => line !== "");
      expect(findings.filter((line) => !frozenNames.some((name) => line.startsWith(name)))).toEqual([]);
    }
  });

  it("is scraped by Prometheus, and alerts fire: a performance pod on an eco node, and no extender", async () => {
    const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
    const targets = items.map(({ metadata, status }) => `${status.podIP}:${metricsPort(metadata.labels)}`);
    const prometheus = await startPrometheus(node, targets);
    try {
      await node.until("every target is up", async () => {
        expect((await prometheus.query("up == 1")).length).toBe(targets.length);
        return true;
      });
      // Past the extender, as with spec.nodeName in a manifest.
      await createPod("performance", { nodeName: node.name });
      await node.until("JouliePerformancePodOnEco fires", async () => {
        expect(await prometheus.firing()).toContain("JouliePerformancePodOnEco");
        return true;
      });
      expect(await prometheus.firing()).not.toContain("JoulieExtenderUnreachable");
      await node.kubectl(["scale", "--namespace", namespace, "deployment/joulie-extender", "--replicas=0"]);
      await node.until("JoulieExtenderUnreachable fires", async () => {
        expect(await prometheus.firing()).toContain("JoulieExtenderUnreachable");
        return true;
      });
    } finally {
      await prometheus.stop();
    }
  });

  it("X-101 restores all limits while the namespace has the stop annotation", async () => {
    const patch = async (value: string | null) =>
      node.api.mergePatch(`/api/v1/namespaces/${namespace}`, {
        metadata: { annotations: { "joulie.io/stop": value } },
      });
    await patch("true");
    await node.until("the original limits are back", async () => {
      expect(differences(sys(), original)).toEqual([]);
      return true;
    });
    await node.until("the twin says why", async () => {
      const { result, message } = (await twin()).status?.controlStatus?.cpu ?? {};
      expect(result).toBe("none");
      expect(message).toContain(`stopped by the annotation joulie.io/stop on namespace ${namespace}`);
      return true;
    });
    await patch(null);
    await comesToHave(210);
  });

  it("X-102 leaves no limit, label or object behind when it is uninstalled", async () => {
    // As the guide says: without the extender, kube-scheduler would place no pod, not even that of the Job.
    await node.schedule({});
    await helm("uninstall", "joulie", "--namespace", namespace, "--wait", "--timeout", "2m");
    await node.until("all pods are gone", async () => {
      const { items } = await node.api.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
      return items.length === 0;
    });
    expect(differences(sys(), original)).toEqual([]);
    interface Named {
      readonly metadata: { readonly labels: object; readonly annotations?: object };
    }
    const { metadata } = await node.api.get<Named>(`/api/v1/nodes/${node.name}`);
    const own = Object.keys(metadata.labels).filter((label) => label.startsWith("joulie.io/"));
    expect(own).toEqual(["joulie.io/managed"]);
    for (const kind of ["nodetwins", "nodehardwares"]) {
      const { items } = await node.api.get<{ items: unknown[] }>(`/apis/joulie.io/v1alpha1/${kind}`);
      expect(items).toEqual([]);
    }
    const { metadata: after } = await node.api.get<Named>(`/api/v1/namespaces/${namespace}`);
    expect(after.annotations ?? {}).not.toHaveProperty(["joulie.io/stop"]);
  });
});
