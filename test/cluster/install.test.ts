// `joulie install` with the real helm and kubectl on a real control plane. There is no kubelet: hooks of Helm cannot run, and no pod
// becomes ready.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { bareMetalHostCrd } from "../../src/platform/switch/testing/bare-metal-hosts.ts";
import { run } from "../../src/programs/cli/index.ts";
import { programs } from "../../src/programs/index.ts";
import { planInstallation } from "../../src/programs/install/findings.ts";
import { readImage } from "../../src/programs/install/image.ts";
import { nodeKindsOf } from "../../src/programs/install/install.ts";
import { clusters, mixed } from "../../src/programs/install/testing/clusters.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { buildHelm } from "../controlplane/helm.ts";
import { run as runCommand } from "../realnode/command.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const IMAGE = "registry.example/joulie:1.2.3";
const WITHOUT_KUBELETS = ["--no-hooks", "--wait=false"];

let folder: string;
/** kubectl and helm are in its PATH. */
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "joulie-install-"));
  const built = await buildControlPlane();
  if (!built.available) throw new Error(built.reason);
  const program = join(import.meta.dirname, "../../bin/joulie.mjs");
  const tools = {
    kubectl: `${built.path} kubectl`,
    helm: await buildHelm(),
    joulie: `"${process.execPath}" "${program}"`,
  };
  mkdirSync(join(folder, "bin"));
  for (const [name, command] of Object.entries(tools))
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  env = { PATH: `${join(folder, "bin")}:${process.env["PATH"]}`, HOME: folder };
}, 1_800_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a command prints on 80 columns, and how it ends. */
const joulie = async (kubeconfig: string, ...args: readonly string[]) => joulieThatAsks(kubeconfig, undefined, ...args);
/** The same on a terminal with a user who answers. */
const joulieThatAsks = async (
  kubeconfig: string,
  ask: ((question: string) => Promise<string | undefined>) | undefined,
  ...args: readonly string[]
) => {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  const machine = { isTerminal: false, exists: () => false };
  const world = { env: { ...env, KUBECONFIG: kubeconfig }, machine, out: write, err: write, columns: 80, ask };
  const code = await run(["install", ...args], programs, world);
  return { code, text };
};
const helmOn = async (plane: ControlPlane, ...args: readonly string[]) =>
  runCommand("helm", args, { env: { ...env, KUBECONFIG: plane.admin.kubeconfig } });
const valuesOn = async (plane: ControlPlane): Promise<unknown> =>
  JSON.parse(await helmOn(plane, "get", "values", "joulie", "--namespace", "joulie-system", "--output", "json"));
const kubectlOn = async (plane: ControlPlane, ...args: readonly string[]): Promise<string> =>
  (await plane.kubectl(args)).stdout;
/** What is in the cluster after an installation. */
const installedOn = async (plane: ControlPlane) => {
  const jsonpath = (path: string) => ["--output", `jsonpath=${path}`];
  const level = jsonpath("{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}");
  const image = jsonpath("{.spec.template.spec.containers[0].image}");
  return {
    values: await valuesOn(plane),
    level: await kubectlOn(plane, "get", "namespace", "joulie-system", ...level),
    managed: await kubectlOn(plane, "get", "nodes", "--selector", "joulie.io/managed=true", "--output", "name"),
    image: await kubectlOn(plane, "get", "deployment", "joulie-operator", "-n", "joulie-system", ...image),
  };
};

const definition = (plural: string, kind: string) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.monitoring.coreos.com` },
  spec: {
    group: "monitoring.coreos.com",
    names: { plural, kind, singular: kind.toLowerCase() },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

/** A k3s cluster with Prometheus, Metal3, an NVIDIA GPU without a label, and a server of the control plane. */
async function startK3s(): Promise<ControlPlane> {
  const plane = await startControlPlane({ crds: false });
  await plane.createNodes(["control", "gpu", "worker"], (name) => ({
    labels: name === "control" ? { "node-role.kubernetes.io/control-plane": "true" } : {},
    ...(name === "gpu" && { capacity: { "nvidia.com/gpu": "8" } }),
  }));
  const status = { nodeInfo: { kubeletVersion: "v1.36.3+k3s1" } };
  for (const name of ["control", "gpu", "worker"])
    await plane.api.mergePatch(`/api/v1/nodes/${name}/status`, { status });
  const monitoring = [
    definition("prometheuses", "Prometheus"),
    definition("podmonitors", "PodMonitor"),
    definition("servicemonitors", "ServiceMonitor"),
  ];
  for (const crd of [...monitoring, bareMetalHostCrd]) {
    await plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    const name = `crd/${crd.metadata.name}`;
    await plane.kubectl(["wait", "--for=condition=Established", name, "--timeout=60s"]);
  }
  const objects = [
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "Prometheus",
      metadata: { name: "main", namespace: "default" },
      spec: { podMonitorSelector: { matchLabels: { release: "stack" } } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "prometheus-server", namespace: "default", labels: { "app.kubernetes.io/name": "prometheus" } },
      spec: { ports: [{ port: 80 }] },
    },
    {
      apiVersion: "metal3.io/v1alpha1",
      kind: "BareMetalHost",
      metadata: { name: "host", namespace: "default" },
      spec: { online: true },
    },
    { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "kata" }, handler: "kata" },
  ];
  const input = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  const { stderr } = await plane.kubectl(["apply", "-f", "-"], { input });
  if (stderr !== "") throw new Error(stderr);
  return plane;
}

const found = {
  image: { repository: "registry.example/joulie", tag: "1.2.3" },
  agent: { gpu: { nvidia: { runtimeClassName: "" } } },
  operator: { env: { PROMETHEUS_ADDRESS: "http://prometheus-operated.default:9090" } },
  monitoring: { enabled: true, labels: { release: "stack" } },
};
const installed = { level: "privileged", managed: "node/gpu\nnode/worker\n", image: IMAGE };

describe("joulie install", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startK3s();
  });
  afterAll(async () => plane?.stop());

  it.each([
    [undefined, "localhost/joulie:dev, which every node needs"],
    ["", "localhost/joulie:dev, which every node needs"],
    [" registry.example/green:7 ", "registry.example/green:7"],
  ])("INS-07 asks a terminal for the image, and says which it takes: %j", async (answer, image) => {
    const asked: string[] = [];
    const ask = async (question: string): Promise<string> => {
      asked.push(question);
      return answer ?? "";
    };
    const { code, text } = await joulieThatAsks(plane.admin.kubeconfig, answer === undefined ? undefined : ask);
    expect([code, text]).toEqual([0, expect.stringContaining(`image           ${image}`)]);
    expect(asked).toHaveLength(answer === undefined ? 0 : 1);
  });

  it.each([
    [undefined, "no answer"],
    ["green", "green lacks a tag, such as green:dev"],
  ])("INS-07 ends if the answer is %j", async (answer, problem) => {
    const { code, text } = await joulieThatAsks(plane.admin.kubeconfig, async () => answer, "--yes");
    expect([code, text]).toEqual([1, `joulie install: ${problem}\n`]);
  });

  it.each([
    [["--image", "green:latest"], "the tag latest is a different image tomorrow"],
    [["observe"], '"observe" is no flag of helm'],
    [["--preset", "full"], "Allowed choices are observe"],
  ])("INS-07 refuses %j", async (args, problem) => {
    const { code, text } = await joulie(plane.admin.kubeconfig, ...args);
    expect([code, text]).toEqual([2, expect.stringContaining(problem)]);
  });

  it("INS-08 changes nothing without --yes, and prints commands that a shell runs", async () => {
    const before = await kubectlOn(plane, "get", "namespaces,nodes", "--output", "json");
    const { code, text } = await joulie(plane.admin.kubeconfig, "--image", IMAGE, "--", ...WITHOUT_KUBELETS);
    await expect(text).toMatchFileSnapshot("golden/install-k3s-80.txt");
    expect(code).toBe(0);
    expect(await kubectlOn(plane, "get", "namespaces,nodes", "--output", "json")).toBe(before);
    const commands = /# Commands\n(.*?)\n\n# By hand/s.exec(text)?.[1] ?? "";
    await runCommand("sh", ["-exc", commands], { env: { ...env, KUBECONFIG: plane.admin.kubeconfig } });
    expect(await installedOn(plane)).toEqual({ ...installed, values: found });
    const [, byHand = ""] = /# By hand\n(.*?)\n# Look/s.exec(text) ?? [];
    await runCommand("sh", ["-exc", byHand], { env: { ...env, KUBECONFIG: plane.admin.kubeconfig }, cwd: folder });
    const configuration = readFileSync(join(folder, "joulie-scheduler.yaml"), "utf8");
    expect(parse(configuration)).toMatchObject({
      kind: "KubeSchedulerConfiguration",
      clientConnection: { kubeconfig: "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig" },
      extenders: [{ urlPrefix: expect.stringMatching(/^http:\/\/\d+\.\d+\.\d+\.\d+:9876$/) }],
    });
  });

  it("INS-06 upgrades what is installed, with its values", async () => {
    const args = ["--yes", "--preset", "energy", "--", ...WITHOUT_KUBELETS, "--set", "dashboard.enabled=true"];
    const { code, text } = await joulie(plane.admin.kubeconfig, ...args);
    expect([code, text]).toEqual([0, expect.stringContaining("REVISION: 2")]);
    expect(await installedOn(plane)).toEqual({
      ...installed,
      values: { ...found, preset: "energy", crds: { upgrade: true }, dashboard: { enabled: true } },
    });
  });

  it("INS-08 ends with the first command that fails, and says which", async () => {
    const { code, text } = await joulie(plane.admin.kubeconfig, "--yes", "--", "--set", "agnet.enabled=true");
    expect(code).toBe(1);
    expect(text).toContain("agnet");
    expect(text.trimEnd().split("\n").at(-1)).toBe(
      "joulie install: helm ended with 1; once that is solved, repeat joulie install",
    );
  });

  it("INS-08 says if a tool is missing", async () => {
    const world = {
      env: { PATH: folder, KUBECONFIG: plane.admin.kubeconfig },
      machine: { isTerminal: false, exists: () => false },
    };
    let text = "";
    const write = (more: string) => {
      text += more;
    };
    expect(await run(["install", "--yes"], programs, { ...world, out: write, err: write })).toBe(1);
    expect(text).toContain("joulie install: helm is not in the PATH; once that is solved, repeat joulie install\n");
  });

  it("INS-09 tells a user without rights what it cannot know, and runs nothing", async () => {
    const { kubeconfig } = await plane.identity([]);
    const { code, text } = await joulie(kubeconfig, "--yes");
    expect(code).toBe(1);
    await expect(text).toMatchFileSnapshot("golden/install-no-rights-80.txt");
  });
});

it("INS-08 installs with --yes", async () => {
  const plane = await startK3s();
  try {
    const { code, text } = await joulie(plane.admin.kubeconfig, "--image", IMAGE, "--yes", "--", ...WITHOUT_KUBELETS);
    expect([code, text]).toEqual([0, expect.stringContaining("STATUS: deployed")]);
    expect(await installedOn(plane)).toEqual({ ...installed, values: found });
  } finally {
    await plane.stop();
  }
});

it.each([...Object.entries(clusters), ["mixed", mixed] as const])(
  "INS-01 the chart accepts the values for %s",
  async (_, facts) => {
    const image = readImage(IMAGE);
    if (!image.ok) throw new Error(image.error);
    const choices = {
      namespace: "joulie-system",
      chart,
      image: image.value,
      preset: "energy-sleep",
      helmArgs: [],
    } as const;
    const { commands } = planInstallation(facts, nodeKindsOf(chart), choices);
    const { input } = commands.find(({ tool }) => tool === "helm") ?? {};
    const rendered = await runCommand("helm", ["template", "joulie", chart, "--values", "-"], {
      env,
      input: JSON.stringify(input),
    });
    expect(rendered).toContain(IMAGE);
  },
);
