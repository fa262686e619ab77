import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse } from "yaml";
import { schedulerConfigText } from "../../src/programs/cli/scheduler-config.ts";
import { run } from "./command.ts";
import { Installation, isReady, namespace, type Pod, programOf } from "./installation.ts";
import { mountsUnder } from "./leftovers.ts";
import type { RealNode } from "./node.ts";
import { buildSchedulerImage } from "./own-image.ts";
import { startPrometheus } from "./prometheus.ts";

const service = `/api/v1/namespaces/${namespace}/services/joulie-scheduler-extender`;
const pins = "/apis/joulie.io/v1alpha1/nodepowerprofiles";
/** The contract fixes these names, although promtool wants no gauge to end in _count. */
const frozenNames = ["joulie_dvfs_above_trip_count ", "joulie_dvfs_below_trip_count "];
const metricsPorts = new Map([
  ["agent", 8080],
  ["operator", 8081],
  ["extender", 9877],
]);

interface Savings {
  readonly source: string;
  readonly notes: readonly string[];
  readonly totals: { readonly used: number; readonly byNode: readonly { readonly node: string }[] };
}

describe("helm install on a real node", () => {
  let joulie: Installation;
  let node: RealNode;

  const extenderAddress = async () => (await node.api.get<{ spec: { clusterIP: string } }>(service)).spec.clusterIP;
  const taint = async (taints: readonly object[]) =>
    node.api.mergePatch(`/api/v1/nodes/${node.name}`, { spec: { taints } });
  const createPod = async (workloadClass: string, spec: object = {}) =>
    node.api.create("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: workloadClass, annotations: { "joulie.io/workload-class": workloadClass } },
      spec: { ...spec, containers: [{ name: "main", image: "localhost/pause:1", imagePullPolicy: "Never" }] },
    });
  const deletePod = async (name: string) => node.kubectl(["delete", "pod", name, "--grace-period=1"]);
  const phase = async (pod: string) => (await node.api.get<Pod>(`/api/v1/namespaces/default/pods/${pod}`)).status.phase;
  const theAgent = async (): Promise<Pod> => {
    const [agent, ...others] = await joulie.pods("agent");
    if (agent === undefined || others.length > 0) throw new Error(`there are ${others.length} agents, or none`);
    return agent;
  };
  const isReported = async (result: string) =>
    node.until(`the twin reports ${result}`, async () => {
      expect((await joulie.twin()).status?.controlStatus?.cpu?.result).toBe(result);
      return true;
    });

  beforeAll(async () => {
    joulie = await Installation.prepare(inject("image"));
    ({ node } = joulie);
  }, 600_000);
  afterAll(async () => node?.stop());

  it("SCH-53 brings operator and extender up", async () => {
    expect(await joulie.install()).toContain(
      "joulie check: nothing is missing; no node has the label joulie.io/managed=true yet",
    );
    await joulie.runs("extender", "extender", "operator", "operator");
    expect(await node.api.text("GET", `${service}:http/proxy/readyz`)).toContain("ready\n");
  });

  it("AGT-11 runs an agent where the node is labelled; a NodeHardware and a NodeTwin appear", async () => {
    expect(await joulie.pods("agent")).toEqual([]);
    await joulie.label("true");
    await joulie.runs("agent", "extender", "extender", "operator", "operator");
    await node.until("NodeHardware and NodeTwin exist", async () => {
      await node.api.get(`/apis/joulie.io/v1alpha1/nodehardwares/${node.name}`);
      expect((await joulie.twin()).status?.schedulableClass).toBe("eco");
      return true;
    });
  });

  it("observes only: no file of the host has changed", async () => {
    await isReported("none");
    expect(joulie.changedFiles()).toEqual([]);
  });

  it("runs the agent without capabilities, with a seccomp filter and a read-only root", async () => {
    const look = `
      const fs = require("node:fs");
      const fields = fs.readFileSync("/proc/1/status", "utf8").split("\\n").map((line) => line.split(":\\t"));
      const { CapEff, CapPrm, CapBnd, Seccomp, NoNewPrivs } = Object.fromEntries(fields);
      let root = "writable";
      try { fs.writeFileSync("/x", ""); } catch (error) { root = error.code; }
      console.log(JSON.stringify({ CapEff, CapPrm, CapBnd, Seccomp, NoNewPrivs, root }));`;
    const { metadata } = await theAgent();
    const run = ["exec", "--namespace", namespace, metadata.name, "--", "/usr/local/bin/node", "-e", look];
    const { stdout, stderr } = await node.kubectl(run);
    expect(stderr).toBe("");
    const none = "0000000000000000";
    const rights = { CapEff: none, CapPrm: none, CapBnd: none, Seccomp: "2", NoNewPrivs: "1", root: "EROFS" };
    expect(JSON.parse(stdout)).toEqual(rights);
  });

  it("caps the host from that pod and reads the cap back, once enforcing", async () => {
    const printed = await joulie.upgrade({ mode: "enforce" });
    expect(printed).toContain("joulie check: nothing is missing; Joulie manages 1 node");
    await joulie.comesToHave(210);
    await isReported("applied");
    await node.until("the GPU's cap is 450 W", async () => {
      expect(joulie.gpuWatts()).toBe(450);
      return true;
    });
  });

  it("X-65 starts an agent on a node with a GPU taint", async () => {
    await taint([{ key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" }]);
    const before = (await theAgent()).metadata.name;
    await node.kubectl(["delete", "pod", "--namespace", namespace, before]);
    await node.until("another agent is Ready", async () => {
      const agent = await theAgent();
      return agent.metadata.name !== before && isReady(agent);
    });
    await joulie.comesToHave(210);
    expect((await theAgent()).spec.nodeName).toBe(node.name);
    await taint([]);
  });

  it("serves kube-scheduler through the Service: an eco node gets standard pods, and no performance pods", async () => {
    const options = {
      namespace,
      service: "joulie-scheduler-extender",
      port: "9876",
      schedulerName: "default-scheduler",
    };
    const text = schedulerConfigText({ ...options, tls: false, wholeNodes: false, host: await extenderAddress() });
    await node.schedule(parse(text) as Record<string, unknown>);
    await createPod("standard");
    await createPod("performance");
    await node.until("the standard pod runs", async () => (await phase("standard")) === "Running");
    await node.until("the extender rejects the performance pod", async () => {
      const { stdout } = await node.kubectl(["describe", "pod", "performance"]);
      expect(stdout).toMatch(/FailedScheduling.*eco/);
      return true;
    });
    expect(await phase("performance")).toBe("Pending");
  });

  it("CLI-18 the console reads the records of operator and extender in their pods, which are closed to the network", async () => {
    const plan = await joulie.command("plan", "-o", "jsonpath={.source}");
    expect(plan).toMatch(/^The operator's own plan \(pod joulie-operator-\S+\), \d+s old\.$/);
    // kube-scheduler asks for no scores of a single node.
    expect(await joulie.command("why", "standard")).toMatch(/recorded: accepted at 20/);
    const why = JSON.parse(await joulie.command("why", "performance", "-o", "json")) as { record: { verb: string }[] };
    expect(why.record[0]?.verb).toBe("filter");
    const findings = await joulie.command("doctor", "-o", "json").catch((error: unknown) => String(error));
    expect(findings).toContain("joulie-operator, joulie-agent may do what they need");
    expect(findings).toMatch(/kube-scheduler has asked it [1-9]\d* times/);
  });

  it("SAV-07 joulie savings reads what the dashboard has counted, in its pod", async () => {
    await joulie.upgrade({ mode: "enforce", dashboard: { enabled: true } });
    const savings = async () => JSON.parse(await joulie.command("savings", "--since", "1h", "-o", "json")) as Savings;
    await node.until("the dashboard has counted energy", async () => (await savings()).totals.used > 0);
    const { source, notes, totals } = await savings();
    expect(source).toMatch(/^the account of the pod joulie-dashboard-/);
    expect(notes.join()).toMatch(/^The account begins (59m|1h) after the asked time/);
    expect(totals.byNode.map((one) => one.node)).toEqual([node.name]);
    // The first sample may be older than the first reading; the next one comes 10 s later.
    await node.until("the dashboard has power over time", async () => {
      expect(await joulie.command("node", node.name)).toMatch(/^power +\S+ \d+ W to \d+ W in \d+[sm]$/m);
      return true;
    });
    await joulie.upgrade({ mode: "enforce" });
  });

  it("raises the cap and places the performance pod when the node is pinned to performance", async () => {
    const spec = { nodeName: node.name, profile: "performance" };
    await node.api.create(pins, {
      apiVersion: "joulie.io/v1alpha1",
      kind: "NodePowerProfile",
      metadata: { name: node.name },
      spec,
    });
    await node.until("the performance pod runs", async () => (await phase("performance")) === "Running");
    await joulie.comesToHave(350);
    expect(await phase("standard")).toBe("Running");
  });

  it("drains the node before it caps it again", async () => {
    await node.api.remove(`${pins}/${node.name}`);
    const seen = await joulie.wattsDuring(async () =>
      node.until("the node drains", async () => (await joulie.twin()).status?.schedulableClass === "draining"),
    );
    expect(seen).toEqual([350]);
    await deletePod("performance");
    await joulie.comesToHave(210);
    await isReported("applied");
  });

  it("keeps the cap while the agent's process is killed and started again", async () => {
    const [before] = (await theAgent()).status.containerStatuses ?? [];
    const seen = await joulie.wattsDuring(async () => {
      process.kill(await node.processOf(before?.containerID ?? ""), "SIGKILL");
      await node.until("the agent is Ready again", async () => {
        const agent = await theAgent();
        return agent.status.containerStatuses?.[0]?.restartCount === 1 && isReady(agent);
      });
      await isReported("applied");
    });
    expect(seen).toEqual([210]);
  });

  it("keeps the cap and all pods while the kubelet restarts", async () => {
    const containers = async () =>
      (await joulie.pods()).flatMap(({ status }) => status.containerStatuses?.map(({ containerID }) => containerID));
    const before = await containers();
    const seen = await joulie.wattsDuring(async () => {
      await node.kubelet.restart();
      // Only a kubelet that works again starts a pod.
      await deletePod("standard");
      await createPod("standard");
      await node.until("a new pod runs", async () => (await phase("standard")) === "Running");
      await joulie.runs("agent", "extender", "extender", "operator", "operator");
    });
    expect(seen).toEqual([210]);
    expect(await containers()).toEqual(before);
  });

  it("answers every request of kube-scheduler during a rolling upgrade, and caps again", async () => {
    await node.tagImage("localhost/joulie:dev", "localhost/joulie:next");
    const client = askExtender(node, `http://${await extenderAddress()}:9876`);
    const image = { repository: "localhost/joulie", tag: "next", pullPolicy: "Never" };
    await joulie.upgrade({ mode: "enforce", image });
    await joulie.runs("agent", "extender", "extender", "operator", "operator");
    await joulie.comesToHave(210);
    const images = (await joulie.pods()).flatMap(({ spec }) => spec.containers.map(({ image: name }) => name));
    expect(new Set(images)).toEqual(new Set(["localhost/joulie:next"]));
    const { answered, failures } = await client.end();
    expect(failures).toEqual([]);
    expect(answered).toBeGreaterThan(20);
  });

  it("serves metrics that promtool accepts from every program", async () => {
    for (const pod of await joulie.pods()) {
      const address = `${pod.metadata.name}:${metricsPorts.get(programOf(pod))}`;
      const input = await node.api.text("GET", `/api/v1/namespaces/${namespace}/pods/${address}/proxy/metrics`);
      expect(input).toContain("process_resident_memory_bytes");
      const { stderr } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
      const findings = stderr.split("\n").filter((line) => line !== "");
      expect(findings.filter((line) => !frozenNames.some((name) => line.startsWith(name)))).toEqual([]);
    }
  });

  it("is scraped by Prometheus, and alerts fire: a performance pod on an eco node, and no extender", async () => {
    const targets = (await joulie.pods()).map((pod) => `${pod.status.podIP}:${metricsPorts.get(programOf(pod))}`);
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
    await node.schedule({});
    await deletePod("performance");
  });

  it("X-101 restores all limits while the namespace has the stop annotation", async () => {
    const annotate = async (value: string | null) =>
      node.api.mergePatch(`/api/v1/namespaces/${namespace}`, {
        metadata: { annotations: { "joulie.io/stop": value } },
      });
    await annotate("true");
    await node.until("the original limits are back", async () => {
      expect(joulie.changedFiles()).toEqual([]);
      return true;
    });
    await node.until("the twin says why", async () => {
      const { result, message } = (await joulie.twin()).status?.controlStatus?.cpu ?? {};
      expect(result).toBe("none");
      expect(message).toContain(`stopped by the annotation joulie.io/stop on namespace ${namespace}`);
      return true;
    });
    expect(await joulie.check()).toContain("operator and agents are stopped by the annotation joulie.io/stop");
    await annotate(null);
    await joulie.comesToHave(210);
  });

  it("X-59 the guide's pod restores the limits that an agent left behind", async () => {
    const env = { RECONCILE_INTERVAL: "2s", RESTORE_ON_EXIT: false };
    await joulie.upgrade({ mode: "enforce", agent: { env } });
    await joulie.runs("agent", "extender", "extender", "operator", "operator");
    await joulie.comesToHave(210);
    const select = async (hostname: string | null) => {
      const patch = { spec: { template: { spec: { nodeSelector: { "kubernetes.io/hostname": hostname } } } } };
      await node.kubectl(["patch", "daemonset/joulie-agent", "-n", namespace, "--patch", JSON.stringify(patch)]);
    };
    await select("none");
    await joulie.runs("extender", "extender", "operator", "operator");
    expect(joulie.watts()).toBe(210);
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/agent.md"), "utf8");
    const commands = /### Restore by hand\n.*?```sh\n(.*?)```/s.exec(guide)?.[1] ?? "";
    const script = commands
      .replace("path: /sys}", `path: ${joulie.machine}/sys}`)
      .replace("path: /var/lib/joulie}", `path: ${joulie.machine}/state}`);
    const environment = {
      PATH: `${node.kubectlFolder}:${process.env["PATH"]}`,
      KUBECONFIG: node.admin.kubeconfig,
      HOME: node.folder,
      NODE: node.name,
    };
    const output = await run("sh", ["-exc", script], { env: environment });
    expect(output).toContain("rapl package-0: restored");
    expect(joulie.changedFiles()).toEqual([]);
    expect(journalEntries(joulie)).toEqual([]);
    await select(null);
    await joulie.upgrade({ mode: "enforce" });
    await joulie.comesToHave(210);
  });

  it("X-102 leaves no limit, label, object or mount behind when it is uninstalled", async () => {
    await deletePod("standard");
    await joulie.uninstall();
    expect(joulie.changedFiles()).toEqual([]);
    expect(journalEntries(joulie)).toEqual([]);
    await joulie.runs();
    expect(await labelsOf(node)).toEqual(["joulie.io/managed"]);
    expect(await objectsOf(node)).toEqual([]);
    await node.until("the kubelet has unmounted everything", async () => {
      expect([...mountsUnder(joulie.machine), ...mountsUnder(join(node.folder, "kubelet/pods"))]).toEqual([]);
      return true;
    });
    const { metadata } = await node.api.get<Named>(`/api/v1/namespaces/${namespace}`);
    expect(metadata.annotations ?? {}).not.toHaveProperty(["joulie.io/stop"]);
  });

  it("places pods by power with a second kube-scheduler, where the cluster's own cannot be changed", async () => {
    const image = "localhost/kube-scheduler:test";
    const folder = join(node.folder, "scheduler-image");
    mkdirSync(folder);
    await node.importImage(await buildSchedulerImage(folder, image));
    const resources = { requests: { cpu: "50m", memory: "64Mi" } };
    await joulie.label("true");
    await joulie.install({ mode: "enforce", scheduler: { enabled: true, image, resources } });
    // This cluster has no DNS.
    const aliases = [{ ip: await extenderAddress(), hostnames: [`joulie-scheduler-extender.${namespace}.svc`] }];
    const patch = JSON.stringify({ spec: { template: { spec: { hostAliases: aliases } } } });
    await node.kubectl(["patch", "deployment/joulie-scheduler", "--namespace", namespace, "--patch", patch]);
    await node.kubectl(["rollout", "status", "deployment/joulie-scheduler", "--namespace", namespace, "--timeout=90s"]);
    await node.until("the node is eco", async () => (await joulie.twin()).status?.schedulableClass === "eco");
    for (const workloadClass of ["standard", "performance"])
      await createPod(workloadClass, { schedulerName: "joulie-scheduler" });
    await node.until("the standard pod runs", async () => (await phase("standard")) === "Running");
    await node.until("the extender rejects the performance pod", async () => {
      const { stdout } = await node.kubectl(["describe", "pod", "performance"]);
      expect(stdout).toMatch(/FailedScheduling.*joulie-scheduler.*eco/);
      return true;
    });
    expect(await phase("performance")).toBe("Pending");
    for (const name of ["standard", "performance"]) await deletePod(name);
    await joulie.uninstall();
    await joulie.runs();
    expect(await objectsOf(node)).toEqual([]);
  });

  it("X-66 shares simulated nodes among the agents of a pool, each node to one agent", async () => {
    await joulie.label(null);
    // Kubernetes puts the Service's address into the environment of pods; this cluster has no DNS.
    const fleet = "http://$(JOULIE_FLEET_SERVICE_HOST):9878";
    const env = Object.fromEntries(
      ["CPU", "GPU"].flatMap((device) => [
        [`TELEMETRY_${device}_SOURCE`, "http"],
        [`TELEMETRY_${device}_HTTP_ENDPOINT`, `${fleet}/telemetry/{node}`],
        [`TELEMETRY_${device}_CONTROL`, "http"],
        [`TELEMETRY_${device}_CONTROL_HTTP_ENDPOINT`, `${fleet}/control/{node}`],
      ]),
    );
    await joulie.install({
      mode: "enforce",
      agent: { mode: "pool", pool: { replicas: 2 }, env: { ...env, RECONCILE_INTERVAL: "2s" } },
      fleet: { enabled: true, nodes: 6 },
    });
    await joulie.runs("agent", "agent", "extender", "extender", "fleet", "operator", "operator");
    const names = Array.from({ length: 6 }, (_, index) => `sim-${String(index).padStart(3, "0")}`);
    await node.until("every simulated node is capped", async () => {
      const twins = await Promise.all(names.map(async (name) => joulie.twin(name)));
      expect(twins.map(({ status }) => status?.controlStatus?.cpu?.result)).toEqual(names.map(() => "applied"));
      return true;
    });
    const shards: string[][] = [];
    for (const { metadata } of await joulie.pods("agent")) {
      const text = await node.api.text(
        "GET",
        `/api/v1/namespaces/${namespace}/pods/${metadata.name}:8080/proxy/metrics`,
      );
      shards.push([
        ...new Set([...text.matchAll(/joulie_backend_mode\{[^}]*node="([^"]+)"/g)].map(([, name = ""]) => name)),
      ]);
    }
    expect(shards.flat().toSorted()).toEqual(names);
    expect(Math.min(...shards.map(({ length }) => length))).toBeGreaterThan(0);
    await joulie.uninstall();
    await joulie.runs();
    expect(await objectsOf(node)).toEqual([]);
    const { items } = await node.api.get<{ items: readonly Named[] }>("/api/v1/nodes");
    expect(items.map(({ metadata }) => metadata.name)).toEqual([node.name]);
  });

  it("leaves no file, mount, network namespace or cgroup of the node behind", async () => {
    const { folder, network } = node;
    await node.stop();
    expect(existsSync(folder)).toBe(false);
    expect(mountsUnder(folder)).toEqual([]);
    expect(existsSync(`/var/run/netns/${network.name}`)).toBe(false);
    expect(readdirSync("/sys/fs/cgroup")).not.toContain("kubepods");
    expect(existsSync("/sys/fs/cgroup/cpu/kubepods")).toBe(false);
  });
});

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Limits that the journal in the state folder still wants to restore. */
function journalEntries({ machine }: Installation): unknown[] {
  const journal = readFileSync(join(machine, "state/originals.json"), "utf8");
  return (JSON.parse(journal) as { readonly entries: unknown[] }).entries;
}

/** Joulie's labels of the node. */
async function labelsOf(node: RealNode): Promise<string[]> {
  const { metadata } = await node.api.get<Named>(`/api/v1/nodes/${node.name}`);
  return Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith("joulie.io/"));
}

/** Every object of any kind that the release or the programs made; the definitions and Events remain. */
async function objectsOf(node: RealNode): Promise<string[]> {
  const { stdout: kinds } = await node.kubectl(["api-resources", "--verbs=list", "--output=name"]);
  const list = kinds
    .trim()
    .split("\n")
    .filter((kind) => !/^(events|endpoints|componentstatuses)(\.|$)/.test(kind))
    .join(",");
  const { stdout, stderr } = await node.kubectl(["get", list, "--all-namespaces", "--output=name"]);
  expect(stderr.replace("No resources found\n", "")).toBe("");
  const expected = ["namespace/joulie-system", "serviceaccount/default", "configmap/kube-root-ca.crt"];
  return stdout
    .trim()
    .split("\n")
    .filter(
      (name) =>
        name.includes("joulie") && !/^(customresourcedefinition|apiservice)\./.test(name) && !expected.includes(name),
    );
}

/** Asks the extender from inside the node's network, as kube-scheduler does, until `end`. */
function askExtender(node: RealNode, url: string) {
  const [command = "", ...enter] = node.network.enter;
  const script = join(import.meta.dirname, "extender-client.ts");
  const child = spawn(command, [...enter, process.execPath, script, url], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise((resolve) => child.once("close", resolve));
  return {
    end: async () => {
      child.stdin.end();
      await exited;
      return JSON.parse(output) as { readonly answered: number; readonly failures: readonly string[] };
    },
  };
}
