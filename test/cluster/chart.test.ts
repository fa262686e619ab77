// The chart as the real helm renders it and the real API server accepts it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { startOptions } from "../../src/programs/start-options.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { helmOf } from "../controlplane/helm.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const release = ["joulie", chart, "--namespace", "joulie-system"];

/** Names of goldens, and what an administrator might set. */
const goldens = {
  default: {},
  gpu: {
    mode: "enforce",
    agent: { gpu: { nvidia: { enabled: true } }, host: { drm: true }, seLinuxType: "container_device_plugin_t" },
    extender: { tls: { enabled: true, secretName: "extender-tls", verifyClients: true } },
    monitoring: { enabled: true, rules: true, labels: { release: "prometheus" } },
    openshift: { scc: true },
  },
  pool: {
    mode: "enforce",
    image: { digest: `sha256:${"0".repeat(64)}` },
    agent: { mode: "pool", pool: { replicas: 3 } },
    fleet: { enabled: true, nodes: 40 },
    admissionPolicies: { workloadClass: "Deny" },
  },
};
const valueSets: Readonly<Record<string, object>> = {
  ...goldens,
  "its own scheduler": { scheduler: { enabled: true } },
  "its own scheduler over HTTPS": {
    scheduler: { enabled: true, image: "registry.example/kube-scheduler:v1.36.3" },
    extender: { tls: { enabled: true, secretName: "extender-tls" } },
  },
  "no agent": { agent: { enabled: false } },
  "a power program": { power: { enabled: true } },
  "a power program with limited peers": {
    power: { enabled: true, egress: [{ ipBlock: { cidr: "10.9.0.0/16" } }], env: { WAKE_TIMEOUT: "10m" } },
  },
  "no operator": { operator: { enabled: false } },
  "no access rules": { rbac: { create: false }, admissionPolicies: { ownNodeOnly: false } },
  "no network policies": { networkPolicies: { enabled: false } },
  "restricted peers": {
    networkPolicies: {
      metricsFrom: [{ namespaceSelector: { matchLabels: { team: "monitoring" } } }],
      schedulerFrom: [{ ipBlock: { cidr: "10.0.0.0/8" } }],
    },
  },
  "other names": {
    nameOverride: "power",
    commonLabels: { team: "green" },
    extender: { service: { name: "x", port: 80 } },
  },
  "variables of every kind": {
    operator: { env: { POLICY_TYPE: "queue_aware_v1", QUEUE_HP_MIN: 2, LOG_LEVEL: "debug", CPU_CAP_GPU_NODES: false } },
    agent: { env: { TARGET_LEASE: "10m", DVFS_EMA_ALPHA: 0.5 } },
    extender: { env: { SCORE_MAX: 10, EXTENDER_MAX_BODY_BYTES: "32Mi" } },
  },
  "workloads elsewhere": {
    operator: { nodeSelector: { role: "infra" }, tolerations: [{ operator: "Exists" }] },
    extender: {
      extraVolumes: [{ name: "catalog", configMap: { name: "hardware" } }],
      extraVolumeMounts: [{ name: "catalog", mountPath: "/etc/joulie/catalog" }],
      podAnnotations: { note: "x" },
      podLabels: { note: "x" },
    },
    agent: { daemonset: { maxUnavailable: "10%" }, podLabels: { note: "x" } },
    image: { pullSecrets: [{ name: "registry" }] },
  },
};

/** Kinds of other projects, which this API server does not know. */
const foreign = /^(monitoring\.coreos\.com|security\.openshift\.io)\//;

interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly [Container] } } };
}
interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

let plane: ControlPlane;
let folder: string;
let helm: Awaited<ReturnType<typeof helmOf>>;
const render = async (values: object): Promise<string> =>
  helm("template", ...release, "--set-json", `global={}`, ...jsonFlags(values));
const jsonFlags = (values: object): string[] =>
  Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
const objects = (text: string): Rendered[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "joulie-chart-"));
  helm = await helmOf(folder);
  plane = await startControlPlane();
  await plane.kubectl(["create", "namespace", "joulie-system"]);
}, 1_800_000);
afterAll(async () => {
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("the chart", () => {
  it("passes helm lint", async () => {
    expect(await helm("lint", "--strict", chart)).toContain("0 chart(s) failed");
  });

  it.each(Object.entries(valueSets))("is accepted by the API server with %s", async (_, values) => {
    const known = objects(await render(values)).filter(({ apiVersion }) => !foreign.test(apiVersion));
    const input = known.map((object) => JSON.stringify(object)).join("\n---\n");
    const result = await plane.kubectl(["apply", "--dry-run=server", "-f", "-"], { input });
    expect(result.stderr).toBe("");
    expect(result.stdout.trim().split("\n")).toHaveLength(known.length);
  });

  it.each(Object.entries(goldens))("renders %s as before", async (name, values) => {
    await expect(await render(values)).toMatchFileSnapshot(`../chart/${name}.golden.yaml`);
  });

  it.each([
    [{ image: { tag: "latest" } }, "image.tag is latest"],
    [{ image: { tag: "1.0.0", digest: `sha256:${"0".repeat(64)}` } }, "image.tag and image.digest are both set"],
    [{ image: { digest: "sha256:12" } }, "image/digest"],
    [{ agent: { terminationGracePeriodSeconds: 29 } }, "terminationGracePeriodSeconds is 29"],
    [{ extender: { replicas: 0 } }, "extender.replicas is 0"],
    [{ extender: { tls: { enabled: true } } }, "needs extender.tls.secretName"],
    [{ extender: { tls: { verifyClients: true } } }, "needs extender.tls.enabled"],
    [{ mode: "cap" }, "/mode"],
    [{ agent: { env: { RECONCILE_INTERVALL: "1s" } } }, "RECONCILE_INTERVALL"],
    [{ agent: { env: { NODE_NAME: "x" } } }, "NODE_NAME"],
    [{ agnet: {} }, "agnet"],
  ])("rejects %j", async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  });

  it("AGT-11 selects managed nodes for agents by default", async () => {
    const [agent] = objects(await render({})).filter(({ kind }) => kind === "DaemonSet");
    expect(agent).toMatchObject({ spec: { template: { spec: { nodeSelector: { "joulie.io/managed": "true" } } } } });
  });

  it("SCH-53 always deploys the extender", async () => {
    for (const values of Object.values(valueSets)) {
      const names = objects(await render(values)).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(names.some((name) => /^Deployment .*-extender$/.test(name))).toBe(true);
    }
  });

  it.each([1, 5])("X-66 sets POOL_SHARDS to %d replicas", async (replicas) => {
    const [pool] = objects(await render({ agent: { mode: "pool", pool: { replicas } } })).filter(
      ({ kind }) => kind === "StatefulSet",
    );
    expect(pool).toMatchObject({ spec: { replicas } });
    const shards = pool?.spec?.template?.spec.containers[0].env.find(({ name }) => name === "POOL_SHARDS");
    expect(shards?.value).toBe(String(replicas));
  });

  it.each([
    ["DaemonSet joulie-agent", "agent", {}],
    ["StatefulSet joulie-agent", "agentPool", { agent: { mode: "pool" } }],
    ["Deployment joulie-operator", "operator", {}],
    ["Deployment joulie-extender", "extender", {}],
  ] as const)("starts %s with the start options of %s", async (workload, program, values) => {
    const found = objects(await render(values)).find(({ kind, metadata }) => `${kind} ${metadata.name}` === workload);
    const container = found?.spec?.template?.spec.containers[0];
    const { node, environment } = startOptions[program];
    expect(container?.command).toEqual(["/usr/local/bin/node", ...node, "/app/joulie.mjs"]);
    expect(container?.args).toEqual([workload.split("-")[1]]);
    for (const [name, value] of Object.entries(environment)) expect(container?.env).toContainEqual({ name, value });
  });

  it("X-102 restores limits and cleans up before it is uninstalled, and clears the stop afterwards", async () => {
    const env = { POWER_PROFILE_LABEL: "power/profile" };
    const jobs = objects(await render({ operator: { env }, uninstall: { keepObjects: true } })).filter(
      ({ kind }) => kind === "Job",
    );
    const args = jobs.map((job) => job.spec?.template?.spec.containers[0].args?.join(" "));
    const start = "uninstall --namespace joulie-system --timeout 2m";
    expect(args).toEqual([
      `${start} --labels power/profile,joulie.io/draining --keep-objects`,
      `${start} --clear-stop app.kubernetes.io/instance=joulie,app.kubernetes.io/component in (agent,operator,power)`,
    ]);
    expect(objects(await render({ uninstall: { enabled: false } })).filter(({ kind }) => kind === "Job")).toEqual([]);
  });

  it.each(Object.entries(valueSets))("never asks for a privileged container with %s", async (_, values) => {
    const text = await render(values);
    expect(text).not.toMatch(/privileged: true|hostNetwork: true|hostPID: true/);
    expect(text.includes("SYS_ADMIN")).toBe(JSON.stringify(values).includes("nvidia"));
  });
});
