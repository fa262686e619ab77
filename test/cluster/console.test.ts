// The console on a real control plane: every command as a process, and `why` against the decisions of a real kube-scheduler.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { bundle } from "../../scripts/bundle.ts";
import { apiVersion } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { KubeClient } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom, systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { explainPod, readCluster } from "../../src/programs/console/index.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { energyExtenderPermissions, extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const twins = `/apis/${apiVersion}/nodetwins`;
const NAMESPACE = "joulie-system";
/** Ahead of every clock: the console then counts ages from this time, and its output is the same in every run. */
const FIXED = "2040-01-01T12:00:00Z";

async function publish(plane: ControlPlane, name: string, status: object, spec: object = {}): Promise<void> {
  await plane.api.create(twins, {
    apiVersion,
    kind: "NodeTwin",
    metadata: { name },
    spec: { nodeName: name, profile: "performance", policy: { name: "static_partition" }, ...spec },
  });
  await plane.api.mergePatch(`${twins}/${name}/status`, { status });
}

const deploymentOf = (program: string, env: Readonly<Record<string, string>>) => {
  const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": program };
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
  return {
    metadata: { name: `joulie-${program}`, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: program, image: "example.com/joulie:0.1.0", env: variables }] },
      },
    },
  };
};

describe("every command as a process", () => {
  let plane: ControlPlane;
  let folder: string;
  let command: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "joulie-console-"));
    command = join(folder, "joulie.mjs");
    await bundle(command);
    plane = await startControlPlane({});
    await plane.api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    await plane.api.create(
      `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`,
      deploymentOf("operator", { STATIC_HP_FRAC: "0.5" }),
    );
    // Without it nothing says how `why` has to score.
    await plane.api.create(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, deploymentOf("extender", {}));
    await plane.createNodes(["worker-1", "worker-2", "worker-3"], (_, index) => ({
      labels: { "joulie.io/managed": "true", "joulie.io/rack": index < 2 ? "rack-a" : "rack-b" },
    }));
    const receipt = { backend: "rapl", result: "applied", message: "210 W per package", updatedAt: FIXED };
    const status = (schedulableClass: string, drawn: number) => ({
      schedulableClass,
      predictedPowerHeadroomScore: 60,
      predictedCoolingStressScore: 20,
      coolingStressNow: 10,
      powerMeasurement: { source: "agent", measuredNodePowerW: drawn, nodeCappedPowerW: 420, nodeTdpW: 700 },
      controlStatus: { cpu: receipt },
      lastUpdated: FIXED,
    });
    await publish(plane, "worker-1", status("performance", 150));
    await publish(plane, "worker-2", status("eco", 300), { profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } });
    const failed = { cpu: { ...receipt, result: "error", message: "the limit reads 300 W instead of 210 W" } };
    await publish(plane, "worker-3", { ...status("eco", 410), controlStatus: failed }, { profile: "eco" });
    await plane.createPods(["job"], { spec: { nodeName: "worker-1" } });
  }, 300_000);
  afterAll(async () => {
    await plane.stop();
    rmSync(folder, { recursive: true });
  });

  const joulie = async (args: readonly string[], columns = 80): Promise<{ text: string; code: number }> => {
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      KUBECONFIG: plane.admin.kubeconfig,
      COLUMNS: String(columns),
    };
    try {
      const { stdout, stderr } = await run(process.execPath, [command, ...args], { env, cwd: folder });
      return { text: stdout + stderr, code: 0 };
    } catch (error) {
      const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
      return { text: stdout + stderr, code };
    }
  };
  const isOneLine = (line: string): boolean => /^\s*(joulie |nodepowerprofile\/|namespace\/|fix: |-> )/.test(line);
  /** Times, sizes and folders differ between runs. */
  const stable = (text: string): string =>
    text
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replaceAll(/\d+ KiB/g, "N KiB")
      .replaceAll(/\d+ readings of/g, "N readings of")
      .replaceAll(/\/\S+\/kubeconfig/g, "KUBECONFIG")
      .replaceAll(folder, "FOLDER");

  const session = [
    "status",
    "status -o name",
    "node",
    "node -o wide --sort-by power",
    "node -l joulie.io/rack=rack-b --no-headers",
    "node worker-3",
    "node worker-9",
    "top --once --sort-by power --filter class:eco",
    "why job",
    "why job worker-2",
    "why absent",
    "plan",
    "plan -o jsonpath={.changes[*].node}",
    "doctor",
    "pin worker-1 --profile eco --cpu-cap 60% --for 2h",
    "pin worker-1 --profile eco --cpu-cap 6000%",
    "plan -o name",
    "unpin worker-1",
    "unpin worker-1",
    "stop",
    "status -o jsonpath={.installation.stopped}",
    "resume",
    "status -o jsonpath={.installation.stopped}",
    "savings --window 1s --interval 1s --price 0.3 --carbon 300",
    "savings --window 1s --interval 1s -o csv",
    "savings --since 24h",
    "savings --since 48h",
    "savings --since 1h --window 1m",
    "savings --prometheus nonsense",
    "savings --since all --prometheus http://127.0.0.1:1",
    "support-bundle --file bundle.tar.gz",
    "status -o xml",
    "status --context absent",
  ];

  it.each([80, 160])(
    "CLI-15 prints the same at %i columns in every run",
    async (columns) => {
      let text = "";
      const tooLong: string[] = [];
      for (const line of session) {
        const { text: output, code } = await joulie(line.split(" "), columns);
        text += `$ joulie ${line}\n${output}[exit ${code}]\n\n`;
        // -o wide and CSV are as long as they are; so are commands to copy, and messages in one line.
        if (!/-o (wide|csv)/.test(line))
          tooLong.push(...output.split("\n").filter((one) => Array.from(one).length > columns && !isOneLine(one)));
      }
      expect(tooLong).toEqual([]);
      await expect(stable(text)).toMatchFileSnapshot(`golden/console-${columns}.txt`);
    },
    600_000,
  );

  it("CLI-15 prints its version, completions that the shell accepts, and a configuration of kube-scheduler", async () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect((await joulie(["version"])).text).toContain(version);
    const script = join(folder, "completion.bash");
    writeFileSync(script, (await joulie(["completion", "bash"])).text);
    await run("bash", ["-n", script]);
    const { text, code } = await joulie(["scheduler-config"]);
    expect([code, parse(text)]).toMatchObject([0, { kind: "KubeSchedulerConfiguration", extenders: [{}] }]);
  });

  it("CLI-03 why looks for the pod in the namespace of the kubeconfig's context, unless -n names one", async () => {
    const kubeconfig = join(folder, "with-namespace");
    const config = parse(readFileSync(plane.admin.kubeconfig, "utf8")) as { contexts: { context: object }[] };
    for (const one of config.contexts) one.context = { ...one.context, namespace: "kube-system" };
    writeFileSync(kubeconfig, JSON.stringify(config));
    expect((await joulie(["why", "job", "--kubeconfig", kubeconfig])).text).toContain(
      "there is no pod job in namespace kube-system; there is one in default",
    );
    expect((await joulie(["why", "job", "-n", "default", "--kubeconfig", kubeconfig])).code).toBe(0);
  });

  it("CLI-14 node -w prints the list once, and then only rows that change", async () => {
    const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: plane.admin.kubeconfig, COLUMNS: "80" };
    const watching = spawn(process.execPath, [command, "node", "-w"], { env, cwd: folder });
    const ended = new Promise((resolve) => watching.once("exit", resolve));
    let text = "";
    watching.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    try {
      await eventually(() => text.includes("worker-3"));
      const measured = (watts: number) => ({ status: { powerMeasurement: { measuredNodePowerW: watts } } });
      await plane.api.mergePatch(`${twins}/worker-2/status`, measured(301));
      await eventually(() => text.includes("301 W"));
      await plane.api.mergePatch(`${twins}/worker-2/status`, measured(300));
      const names = text.split("\n").map((line) => line.split(" ")[0]);
      expect(names).toEqual(["NAME", "worker-1", "worker-2", "worker-3", "worker-2", ""]);
    } finally {
      watching.kill("SIGINT");
      await ended;
    }
  });

  it("CLI-17 the real kubectl runs the plugin", async () => {
    const script = join(folder, "plugin", "kubectl-joulie");
    mkdirSync(dirname(script));
    writeFileSync(script, `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`, { mode: 0o755 });
    const before = process.env["PATH"];
    process.env["PATH"] = `${dirname(script)}${delimiter}${before}`;
    try {
      const { stdout, stderr } = await plane.kubectl(["joulie", "node", "-o", "name"]);
      expect(stderr).toBe("");
      expect(stdout).toBe("node/worker-1\nnode/worker-2\nnode/worker-3\n");
    } finally {
      process.env["PATH"] = before;
    }
  });
});

describe.each([
  { scoring: "headroom", guide: "kube-scheduler.yaml", permissions: extenderPermissions },
  { scoring: "energy", guide: "kube-scheduler-energy.yaml", permissions: energyExtenderPermissions },
])("why with SCORING=$scoring, under a real kube-scheduler", ({ scoring, guide: file, permissions }) => {
  const PODS = 100;
  const random = seededRandom(19);
  const settings = { TWIN_STALENESS_THRESHOLD: "1h", SCORING: scoring };
  const models = ["AMD EPYC 9654", "Intel(R) Xeon(R) Platinum 8480+", "AMD EPYC 7763"];
  let plane: ControlPlane;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    const guide = parse(readFileSync(join(root, "docs/guides", file), "utf8")) as {
      percentageOfNodesToScore?: number;
      profiles: object[];
      extenders: [object];
    };
    const registered = { ...guide.extenders[0], urlPrefix: `http://127.0.0.1:${port}`, nodeCacheCapable: true };
    plane = await startControlPlane({ scheduler: { ...guide, extenders: [registered] } });
    await plane.api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    await plane.api.create(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, deploymentOf("extender", settings));
    const names = Array.from({ length: 20 }, (_, index) => `node-${String(index).padStart(2, "0")}`);
    await plane.createNodes(names, (_, index) => ({
      labels: {
        "joulie.io/managed": "true",
        "joulie.io/hw.cpu-model": (models[index % models.length] ?? "").replaceAll(/[^\w.-]+/g, "-").replace(/-$/, ""),
      },
      capacity: { cpu: String(16 + 16 * Math.floor(random.next() * 4)), memory: "256Gi", pods: "110" },
    }));
    const classes = ["performance", "eco", "draining"] as const;
    for (const [index, name] of names.entries())
      await publish(plane, name, {
        schedulableClass: classes[index % 3],
        predictedCoolingStressScore: Math.floor(random.next() * 60),
        powerMeasurement: {
          source: "agent",
          measuredNodePowerW: Math.round(50 + random.next() * 250),
          nodeCappedPowerW: 400,
          powerTrendWPerMin: Math.round(random.next() * 20 - 10),
        },
        lastUpdated: new Date().toISOString(),
      });
    const identity = await plane.identity(permissions, { name: "joulie-extender" });
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}`, ...settings };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(identity.server, identity.token, identity.ca);
    const log = createLogger({ level: "fatal", program: "extender" });
    const ending = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runExtender(parsed.value.values, world, ending.signal);
    stop = async () => {
      ending.abort();
      await done;
      await transport.close();
    };
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200;
    await eventually(ready);
  }, 300_000);
  afterAll(async () => {
    await stop();
    await plane.stop();
  });

  it(`CLI-16 names the node that kube-scheduler chose among the best in ${PODS} of ${PODS} placements`, async () => {
    const { server, token, ca } = plane.admin;
    const transport = reach(server, token, ca);
    const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "test" });
    const context = {
      client,
      transport,
      clock: systemClock,
      out: () => undefined,
      screen: { columns: 80, colour: false },
    };
    const disagreements: string[] = [];
    let undecided = 0;
    for (let index = 0; index < PODS; index++) {
      const pod = `pod-${index}`;
      const workloadClass = random.next() < 0.4 ? "performance" : "standard";
      const cpu = `${Math.ceil(random.next() * 4) * 500}m`;
      await plane.api.create("/api/v1/namespaces/default/pods", {
        metadata: { name: pod, annotations: { "joulie.io/workload-class": workloadClass } },
        spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu, memory: "1Gi" } } }] },
      });
      await eventually(async () => {
        const found = await plane.api.get<{ spec: { nodeName?: string } }>(`/api/v1/namespaces/default/pods/${pod}`);
        return found.spec.nodeName !== undefined;
      });
      const objects = await readCluster({ client, clock: systemClock, namespace: NAMESPACE });
      const { explanation, source } = await explainPod(context, objects, {
        pod,
        namespace: "default",
        installation: NAMESPACE,
      });
      expect(source).toBe("the settings of Deployment joulie-extender, because the extender could not be asked");
      const feasible = explanation.nodes.filter((verdict) => verdict.feasible);
      const best = feasible.filter(({ total }) => total === feasible[0]?.total).map(({ node }) => node);
      if (best.length === feasible.length) undecided++;
      if (explanation.boundTo === undefined || !best.includes(explanation.boundTo))
        disagreements.push(`${pod} (${workloadClass}, ${cpu}) is on ${explanation.boundTo}, best ${best.join(", ")}`);
    }
    expect(disagreements).toEqual([]);
    // A placement in which every node is the best, or only one takes the pod, proves nothing.
    expect(undecided).toBeLessThanOrEqual(PODS / 20);
    await transport.close();
  }, 900_000);
});
