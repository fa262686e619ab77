// The chart as the real helm renders it and the real API server accepts it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { run } from "../../src/programs/cli/index.ts";
import { schedulerConfigText } from "../../src/programs/cli/scheduler-config.ts";
import { programs } from "../../src/programs/index.ts";
import { startOptions } from "../../src/programs/start-options.ts";
import { differences } from "../chart/differences.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { buildHelm, helmOf } from "../controlplane/helm.ts";
import { run as runCommand } from "../realnode/command.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const release = ["joulie", chart, "--namespace", "joulie-system"];

/** What an administrator might set. */
const goldens = {
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
  sleep: {
    sleep: { mode: "on" },
    power: { egress: [{ ipBlock: { cidr: "10.9.0.0/16" } }] },
    operator: { env: { SLEEP_AFTER: "20m" } },
    fleet: { enabled: true, sleep: true },
    monitoring: { enabled: true },
  },
};
const valueSets: Readonly<Record<string, object>> = {
  "its defaults": {},
  ...goldens,
  "its own scheduler": { scheduler: { enabled: true } },
  "its own scheduler over HTTPS": {
    scheduler: { enabled: true, image: "registry.example/kube-scheduler:v1.36.3" },
    extender: { tls: { enabled: true, secretName: "extender-tls" } },
  },
  "a CRD upgrade and a strict check": { crds: { upgrade: true }, check: { strict: true, timeout: "5m" } },
  "one extender": { extender: { replicas: 1 }, check: { enabled: false } },
  "no agent": { agent: { enabled: false } },
  "a power program": { power: { enabled: true } },
  "a dashboard": { dashboard: { enabled: true }, extender: { env: { SCORING: "energy" } } },
  "a dashboard with a claim and limited readers": {
    dashboard: {
      enabled: true,
      historyClaim: "history",
      from: [{ ipBlock: { cidr: "10.9.0.0/16" } }],
      env: { PROMETHEUS_ADDRESS: "http://prometheus:9090", SCORING: "headroom" },
      extraVolumes: [{ name: "catalog", configMap: { name: "hardware" } }],
      extraVolumeMounts: [{ name: "catalog", mountPath: "/etc/joulie/catalog" }],
    },
    monitoring: { enabled: true, rules: true, grafana: true },
  },
  "recommended sleep": { sleep: { mode: "recommend" } },
  "a power program with limited peers": {
    power: { enabled: true, egress: [{ ipBlock: { cidr: "10.9.0.0/16" } }], env: { WAKE_TIMEOUT: "10m" } },
  },
  "no operator": { operator: { enabled: false } },
  "GPUs in one folder, and EPYC": {
    agent: { host: { drm: true, hsmp: true, drmFolders: ["devices/pci0000:17/0000:17:01.0"] } },
  },
  "no access rules": { rbac: { create: false }, admissionPolicies: { ownNodeOnly: false, powerEndpoints: false } },
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
  "OpenShift and every program": {
    openshift: { scc: true },
    sleep: { mode: "recommend" },
    dashboard: { enabled: true },
    scheduler: { enabled: true },
    fleet: { enabled: true },
    crds: { upgrade: true },
    extender: { tls: { enabled: true, secretName: "extender-tls" } },
  },
  "GPUs in folders with other letters": {
    agent: { host: { drm: true, drmFolders: ["devices/platform/gpu@fd000000", "devices/soc_0/GPU_1"] } },
  },
  "OpenShift and a pool": { openshift: { scc: true }, agent: { mode: "pool" } },
};

interface AffinePod {
  readonly affinity?: {
    readonly nodeAffinity: {
      readonly requiredDuringSchedulingIgnoredDuringExecution: {
        readonly nodeSelectorTerms: readonly {
          readonly matchExpressions: readonly {
            readonly key: string;
            readonly operator: "In" | "NotIn";
            readonly values: readonly string[];
          }[];
        }[];
      };
    };
  };
}

/** Whether the required node affinity of a pod holds for these labels. */
const isChosen = ({ affinity }: AffinePod, labels: Readonly<Record<string, string>>): boolean =>
  affinity?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.some(({ matchExpressions }) =>
    matchExpressions.every(({ key, operator, values }) => values.includes(labels[key] ?? "") === (operator === "In")),
  ) ?? true;

/** Kinds of other projects, which this API server does not know. */
const foreign = /^(monitoring\.coreos\.com|security\.openshift\.io)\//;

interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly template?: {
      readonly spec: { readonly containers: readonly [Container]; readonly securityContext?: object };
    };
  };
}
interface MountingPod {
  readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
  readonly containers: readonly [
    {
      readonly volumeMounts: readonly {
        readonly name: string;
        readonly mountPath: string;
        readonly readOnly?: boolean;
      }[];
    },
  ];
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
const IMAGE = { repository: "registry.example/joulie" };
/** The values as flags, with an image, which has no default. */
const jsonFlags = (values: object & { readonly image?: object }): string[] =>
  Object.entries({ ...values, image: { ...IMAGE, ...values.image } }).flatMap(([name, value]) => [
    "--set-json",
    `${name}=${JSON.stringify(value)}`,
  ]);
const objects = (text: string): Rendered[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
/** The arguments of the Job that checks the installation; none if there is no such Job. */
const checkArguments = (rendered: readonly Rendered[]): readonly string[] =>
  rendered.find(({ kind, metadata }) => kind === "Job" && metadata.name.endsWith("-check"))?.spec?.template?.spec
    .containers[0].args ?? [];
/** What a command prints, and how it ends. */
const joulie = async (args: readonly string[], kubeconfig: string) => {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  const machine = { isTerminal: false, exists: () => false };
  const environment = { env: { KUBECONFIG: kubeconfig }, machine, out: write, err: write };
  const code = await run(args, programs, environment);
  return { code, text };
};
/** Runs `joulie check` once on the control plane, with the arguments of the Job. */
const checkOnce = async (words: readonly string[]) => joulie([...words, "--timeout", "0s"], plane.admin.kubeconfig);

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
    expect(await helm("lint", "--strict", chart, ...jsonFlags({}))).toContain("0 chart(s) failed");
  });

  it.each(Object.entries(valueSets))("is accepted by the API server with %s", async (_, values) => {
    const known = objects(await render(values)).filter(({ apiVersion }) => !foreign.test(apiVersion));
    const input = known.map((object) => JSON.stringify(object)).join("\n---\n");
    const result = await plane.kubectl(["apply", "--dry-run=server", "-f", "-"], { input });
    expect(result.stderr).toBe("");
    expect(result.stdout.trim().split("\n")).toHaveLength(known.length);
  });

  it.each(["check", "uninstall-fleet", "fleet", "agents"])(
    "has a check that refuses the program %s",
    async (program) => {
      expect(await joulie(["check", "--programs", `agent,${program}`], "/nonexistent/kubeconfig")).toEqual({
        code: 2,
        text: expect.stringContaining(
          "Programs are agent, agent-pool, operator, operator-sleep, extender, extender-energy, dashboard, power.",
        ),
      });
    },
  );

  it("renders the defaults as before", async () => {
    await expect(await render({})).toMatchFileSnapshot("../chart/default.golden.yaml");
  });

  it.each(Object.entries(goldens))("renders what an administrator sets for %s as before", async (name, values) => {
    const changes = differences(await render({}), await render(values));
    await expect(changes).toMatchFileSnapshot(`../chart/${name}.golden.diff`);
  });

  it.each(Object.entries(goldens))("gives Jobs arguments that the command line knows with %s", async (_, values) => {
    const jobs = objects(await render(values)).filter(({ kind }) => kind === "Job");
    expect(jobs.length).toBeGreaterThan(2);
    for (const { spec } of jobs) {
      const args = spec?.template?.spec.containers[0].args ?? [];
      // The kubeconfig is read after the arguments.
      const { text } = await joulie(args, "/nonexistent/kubeconfig");
      expect([args.join(" "), text]).toEqual([args.join(" "), expect.stringContaining("/nonexistent/kubeconfig")]);
    }
  });

  it.each([
    [{ image: { repository: "" } }, "no image of Joulie is published yet: build one with `npm run image`"],
    [{ image: { tag: "latest" } }, "image.tag is latest"],
    [{ image: { tag: "feature/x y" } }, 'image.tag "feature/x y" is not a tag: it may have letters, digits'],
    [{ image: { tag: "1.0.0", digest: `sha256:${"0".repeat(64)}` } }, "image.tag and image.digest are both set"],
    [{ image: { digest: "sha256:12" } }, "image/digest"],
    [{ image: { tag: '1.0"\n          securityContext: {privileged: true} #' } }, "is not a tag"],
    [{ image: { tag: "1".repeat(129) } }, "is not a tag"],
    [{ image: { repository: "registry.example/joulie x" } }, "image/repository"],
    [{ image: { repository: "registry.example/joulie:latest" } }, "contains a tag or digest"],
    [{ scheduler: { enabled: true, image: "registry.example/kube-scheduler:latest" } }, "scheduler.image is latest"],
    [{ agent: { terminationGracePeriodSeconds: 29 } }, "terminationGracePeriodSeconds is 29"],
    [{ extender: { replicas: 0 } }, "extender.replicas is 0"],
    [{ extender: { tls: { enabled: true } } }, "needs extender.tls.secretName"],
    [{ extender: { tls: { verifyClients: true } } }, "needs extender.tls.enabled"],
    [{ mode: "cap" }, "/mode"],
    [{ preset: "full" }, "/preset"],
    [{ agent: { env: { RECONCILE_INTERVALL: "1s" } } }, "RECONCILE_INTERVALL"],
    [{ agent: { env: { NODE_NAME: "x" } } }, "NODE_NAME"],
    [{ agnet: {} }, "agnet"],
    [{ agent: { daemonset: { maxUnavailable: 0 } } }, "maxUnavailable"],
    [{ agent: { daemonset: { maxUnavailable: "0%" } } }, "maxUnavailable"],
    [{ agent: { daemonset: { maxUnavailable: "101%" } } }, "maxUnavailable"],
    [{ agent: { host: { drmFolders: ["devices/a b"] } } }, "drmFolders"],
    [{ extender: { service: { port: 70_000 } } }, "port"],
    [{ uninstall: { timeout: "2 minutes" } }, "timeout"],
  ])("rejects %j", async (values, message) => {
    await expect(render(values)).rejects.toThrow(message);
  });

  it("fits a release and a namespace whose names are digits", async () => {
    await plane.kubectl(["create", "namespace", "123"]);
    const values = {
      monitoring: { enabled: true, rules: true },
      power: { enabled: true },
      scheduler: { enabled: true },
    };
    const text = await helm("template", "456", chart, "--namespace", "123", ...jsonFlags(values));
    const known = objects(text).filter(({ apiVersion }) => !foreign.test(apiVersion));
    const input = known.map((object) => JSON.stringify(object)).join("\n---\n");
    const result = await plane.kubectl(["apply", "--dry-run=server", "-f", "-"], { input });
    expect(result.stderr).toBe("");
    expect(result.stdout.trim().split("\n")).toHaveLength(known.length);
  });

  it("replaces a tenth of the agents at once, and at least one", async () => {
    const [agent] = objects(await render({})).filter(({ kind }) => kind === "DaemonSet");
    expect(agent).toMatchObject({ spec: { updateStrategy: { rollingUpdate: { maxUnavailable: "10%" } } } });
  });

  it.each([
    [{}, { check: 960, uninstall: 2400, uninstalled: 300 }],
    [{ fleet: { enabled: true } }, { check: 960, uninstall: 2520, uninstalled: 300 }],
    [
      { crds: { upgrade: true }, check: { timeout: "1h30m" }, uninstall: { timeout: "90s", wakeTimeout: "1m" } },
      { check: 6300, crds: 900, uninstall: 330, uninstalled: 270 },
    ],
  ])("ends the Jobs of hooks when their programs have waited long enough: %j", async (values, seconds) => {
    const jobs = objects(await render(values)).filter(({ kind }) => kind === "Job");
    const spec = (job: Rendered) =>
      job.spec as unknown as { backoffLimit: number; activeDeadlineSeconds: number; podFailurePolicy: unknown };
    expect(
      Object.fromEntries(
        jobs.map((job) => [job.metadata.name.replace("joulie-", ""), spec(job).activeDeadlineSeconds]),
      ),
    ).toEqual(seconds);
    // A second pod would wait as long again, unless the first was evicted.
    expect(jobs.map((job) => spec(job).backoffLimit)).toEqual(jobs.map(() => 0));
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }];
    expect(jobs.map((job) => spec(job).podFailurePolicy)).toEqual(jobs.map(() => ({ rules })));
  });

  it.each([
    [{ openshift: { scc: true } }, true, "container_device_plugin_t"],
    [{ openshift: { scc: true }, agent: { seLinuxType: "spc_t" } }, true, "spc_t"],
    [{ openshift: { scc: true }, agent: { mode: "pool" } }, false, undefined],
    [{ openshift: { scc: true }, agent: { enabled: false } }, false, undefined],
    [{}, false, undefined],
  ])("lets agents write sysfs on OpenShift, and asks for no rights without them: %j", async (values, scc, type) => {
    const rendered = objects(await render(values));
    expect(rendered.some(({ kind }) => kind === "SecurityContextConstraints")).toBe(scc);
    const context: { readonly seLinuxOptions?: { readonly type: string } } | undefined = rendered.find(
      ({ kind }) => kind === "DaemonSet",
    )?.spec?.template?.spec.securityContext;
    expect(context?.seLinuxOptions?.type).toBe(type);
  });

  it("lets the power program reach DNS, also OpenShift's, and the API server at its ports", async () => {
    const egress = [{ ipBlock: { cidr: "10.9.0.0/16" } }];
    const ports = async (power: object) => {
      const policy = objects(await render({ power: { enabled: true, egress, ...power } })).find(
        ({ kind, metadata }) => kind === "NetworkPolicy" && metadata.name === "joulie-power",
      );
      const { egress: rules } = (policy?.spec ?? {}) as unknown as {
        egress: [{ ports: { port: number; protocol?: string }[] }];
      };
      return rules[0].ports.map(({ port, protocol = "TCP" }) => `${port}/${protocol}`);
    };
    const dns = ["53/UDP", "53/TCP", "5353/UDP", "5353/TCP"];
    expect(await ports({})).toEqual([...dns, "443/TCP", "6443/TCP"]);
    expect(await ports({ apiServerPorts: [8443] })).toEqual([...dns, "8443/TCP"]);
  });

  it("AGT-11 selects managed nodes for agents by default", async () => {
    const [agent] = objects(await render({})).filter(({ kind }) => kind === "DaemonSet");
    expect(agent).toMatchObject({ spec: { template: { spec: { nodeSelector: { "joulie.io/managed": "true" } } } } });
  });

  it("lets the extender read pods only if it scores by energy, and adapts its own kube-scheduler", async () => {
    const rulesOf = async (values: object) => {
      const role = objects(await render(values)).find(
        ({ kind, metadata }) => kind === "ClusterRole" && metadata.name.endsWith("-extender"),
      ) as { readonly rules?: readonly { readonly resources: readonly string[] }[] } | undefined;
      return role?.rules?.flatMap(({ resources }) => resources);
    };
    const energy = { extender: { env: { SCORING: "energy" } }, scheduler: { enabled: true } };
    expect(await rulesOf({})).not.toContain("pods");
    expect(await rulesOf(energy)).toContain("pods");
    const text = await render(energy);
    expect(text).toContain("MostAllocated");
    expect(text).toContain("weight: 10");
    expect(await render({ scheduler: { enabled: true } })).not.toContain("MostAllocated");
  });

  /** What the programs of a release get, and what rights they have. */
  const installedBy = async (values: object) => {
    const rendered = objects(await render(values));
    const variable = (program: string, name: string) =>
      rendered
        .find((one) => one.metadata.name === `joulie-${program}` && one.spec?.template !== undefined)
        ?.spec?.template?.spec.containers[0].env.find((one) => one.name === name)?.value;
    const allows = (program: string, resource: string) =>
      rendered.some(
        (one) =>
          one.kind === "ClusterRole" &&
          one.metadata.name === `joulie-${program}` &&
          (one as unknown as { rules: { resources: string[] }[] }).rules.some(({ resources }) =>
            resources.includes(resource),
          ),
      );
    return {
      presets: ["operator", "agent", "extender"].map((program) => variable(program, "PRESET")).join(),
      overrides: [variable("agent", "SIMULATE_ONLY"), variable("operator", "SLEEP_MODE")].join(),
      operatorReadsSwitches: allows("operator", "powerendpoints"),
      extenderReadsPods: allows("extender", "pods"),
      power: rendered.some(({ kind, metadata }) => kind === "Deployment" && metadata.name === "joulie-power"),
    };
  };
  const thrice = (preset: string) => [preset, preset, preset].join();
  const plain = { operatorReadsSwitches: false, extenderReadsPods: false, power: false, overrides: "," };
  // Said once more, for images that know no presets.
  const observing = { ...plain, presets: thrice("observe"), overrides: "true," };
  const energy = { ...plain, extenderReadsPods: true };
  const sleeping = { ...energy, operatorReadsSwitches: true, power: true };
  it.each([
    [{}, observing],
    [{ preset: null, mode: null, sleep: { mode: null }, agent: { kinds: null, affinity: null } }, observing],
    [{ agent: { kinds: { gpus: null, hosts: null } } }, observing],
    [{ preset: "partition" }, { ...plain, presets: thrice("partition") }],
    [{ preset: "energy" }, { ...energy, presets: thrice("energy") }],
    [{ preset: "energy-sleep" }, { ...sleeping, presets: thrice("energy-sleep") }],
    [{ mode: "enforce" }, { ...plain, presets: thrice("partition") }],
    [
      { preset: "energy", mode: "observe" },
      { ...energy, presets: thrice("energy"), overrides: "true," },
    ],
    [
      { preset: "energy-sleep", sleep: { mode: "off" } },
      { ...energy, presets: thrice("energy-sleep"), overrides: ",off" },
    ],
    [
      { preset: "energy-sleep", extender: { env: { SCORING: "headroom" } } },
      {
        ...sleeping,
        presets: thrice("energy-sleep"),
        extenderReadsPods: false,
      },
    ],
  ])("PRE-06 gives all programs one preset, and the rights for it: %j", async (values, expected) => {
    expect(await installedBy(values)).toEqual(expected);
  });

  it("rejects two kinds of nodes with one name", async () => {
    const kind = { name: "big", labels: { pool: "big" } };
    await expect(render({ agent: { kinds: { gpus: [kind], hosts: [kind] } } })).rejects.toThrow(
      'agent.kinds gives two kinds of nodes the name "big"',
    );
  });

  it.each(["observe", "partition", "energy", "energy-sleep"])(
    "PRE-06 configures its own kube-scheduler for the preset %s as `joulie scheduler-config` does",
    async (preset) => {
      const config = objects(await render({ preset, scheduler: { enabled: true } })).find(
        ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "joulie-scheduler",
      ) as unknown as { data: { "config.yaml": string } };
      const printed = await joulie(
        [
          "scheduler-config",
          "--preset",
          preset,
          "--scheduler-name",
          "joulie-scheduler",
          "--host",
          "joulie-scheduler-extender.joulie-system.svc",
        ],
        "",
      );
      const expected = { ...(parse(printed.text) as object), leaderElection: { leaderElect: false } };
      expect(parse(config.data["config.yaml"])).toEqual(expected);
    },
  );

  it("SCH-53 always deploys the extender", async () => {
    for (const values of Object.values(valueSets)) {
      const names = objects(await render(values)).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(names.some((name) => /^Deployment .*-extender$/.test(name))).toBe(true);
    }
  });

  it("gives the pods of a pool their names in a headless Service", async () => {
    const rendered = objects(await render({ agent: { mode: "pool" } }));
    const find = (kind: string) =>
      rendered.find((object) => object.kind === kind && object.metadata.name === "joulie-agent");
    expect(find("StatefulSet")).toMatchObject({ spec: { serviceName: "joulie-agent" } });
    const { spec } = find("Service") as unknown as { spec: { clusterIP: string; selector: object } };
    expect(spec.clusterIP).toBe("None");
    expect(find("StatefulSet")).toMatchObject({ spec: { template: { metadata: { labels: spec.selector } } } });
    expect(
      objects(await render({})).some(({ metadata, kind }) => kind === "Service" && metadata.name === "joulie-agent"),
    ).toBe(false);
  });

  it.each([
    [2, 1, 1],
    [1, 1, 0],
    [1, 0, 1],
  ])(
    "keeps nodes drainable: %d extenders, %d of them always available, have %d budgets",
    async (replicas, minAvailable, count) => {
      const rendered = objects(await render({ extender: { replicas, minAvailable } }));
      expect(rendered.filter(({ kind }) => kind === "PodDisruptionBudget")).toHaveLength(count);
    },
  );

  it.each([false, true])(
    "runs kube-scheduler with the configuration of `joulie scheduler-config`, TLS: %s",
    async (tls) => {
      const values = { scheduler: { enabled: true }, extender: { tls: { enabled: tls, secretName: tls ? "x" : "" } } };
      const found = objects(await render(values)).find(({ kind }) => kind === "ConfigMap") as unknown as {
        data: { "config.yaml": string };
      };
      const { leaderElection, ...config } = parse(found.data["config.yaml"]) as { leaderElection: object };
      expect(leaderElection).toEqual({ leaderElect: false });
      const text = schedulerConfigText({
        namespace: "joulie-system",
        service: "joulie-scheduler-extender",
        port: "9876",
        schedulerName: "joulie-scheduler",
        tls,
        ...(tls && { caFile: "/etc/kubernetes/extender/ca.crt" }),
        wholeNodes: false,
      });
      // In the cluster the short name works for every cluster domain.
      expect(config).toEqual(parse(text.replace(".svc.cluster.local:", ".svc:")));
    },
  );

  it("pulls kube-scheduler where Joulie's own image is on the nodes only, with the Secrets of the registry", async () => {
    const image = { pullPolicy: "Never", pullSecrets: [{ name: "registry" }] };
    const annotations = { owner: "team-a" };
    const values = { image, scheduler: { enabled: true }, rbac: { serviceAccountAnnotations: annotations } };
    const rendered = objects(await render(values));
    const named = (kind: string, name: string) =>
      rendered.find((one) => one.kind === kind && one.metadata.name === name);
    const podOf = (name: string) => named("Deployment", name)?.spec?.template?.spec;
    expect(podOf("joulie-scheduler")).toMatchObject({
      imagePullSecrets: [{ name: "registry" }],
      containers: [{ imagePullPolicy: "IfNotPresent" }],
    });
    expect(podOf("joulie-operator")).toMatchObject({ containers: [{ imagePullPolicy: "Never" }] });
    expect(named("ServiceAccount", "joulie-scheduler")).toMatchObject({ metadata: { annotations } });
  });

  it.each(Object.entries(valueSets))("runs as a user that OpenShift chooses, or as its own: %s", async (_, values) => {
    const pods = objects(await render(values)).flatMap(({ kind, metadata, spec }) =>
      // The agent needs uid 0 for sysfs; its SecurityContextConstraints allow it.
      spec?.template === undefined || kind === "DaemonSet" ? [] : [{ name: metadata.name, ...spec.template.spec }],
    );
    expect(pods.length).toBeGreaterThan(1);
    const isOpenShift = JSON.stringify(values).includes('"scc":true');
    for (const { name, securityContext } of pods) {
      const { runAsUser, runAsGroup, fsGroup, ...rest } = securityContext as Readonly<Record<string, unknown>>;
      expect([name, rest]).toEqual([name, { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } }]);
      const own = isOpenShift ? undefined : 65532;
      expect([name, runAsUser, runAsGroup]).toEqual([name, own, own]);
      const readsVolumes =
        /-(dashboard|agent)$/.test(name) ||
        (name.endsWith("-extender") && JSON.stringify(values).includes("secretName"));
      expect([name, fsGroup]).toEqual([name, readsVolumes ? own : undefined]);
    }
  });

  it.each([{}, { tls: { enabled: true, secretName: "extender-tls", verifyClients: true } }])(
    "lets the dashboard read debug pages of the extender where they need no certificate: %j",
    async (extender) => {
      const rendered = objects(await render({ dashboard: { enabled: true }, extender }));
      const named = (kind: string, name: string) =>
        rendered.find((one) => one.kind === kind && one.metadata.name === name);
      const envOf = (name: string) => named("Deployment", name)?.spec?.template?.spec.containers[0].env;
      expect(envOf("joulie-dashboard")).toContainEqual({
        name: "EXTENDER_URL",
        value: "http://joulie-extender-replicas.joulie-system.svc:9877",
      });
      expect(named("Service", "joulie-extender-replicas")).toMatchObject({ spec: { ports: [{ port: 9877 }] } });
      expect(envOf("joulie-extender")).toContainEqual({ name: "METRICS_ADDR", value: ":9877" });
    },
  );

  it("accepts known workload classes only, if asked to", async () => {
    const rendered = objects(await render({ admissionPolicies: { workloadClass: "Deny" } }));
    const policies = rendered.filter(
      ({ kind, metadata }) => kind.startsWith("ValidatingAdmissionPolicy") && metadata.name.endsWith("-workload-class"),
    );
    expect(policies).toHaveLength(2);
    await plane.kubectl(["apply", "-f", "-"], { input: policies.map((one) => JSON.stringify(one)).join("\n---\n") });
    const create = async (workloadClass: string | undefined) => {
      const annotations = workloadClass === undefined ? {} : { "joulie.io/workload-class": workloadClass };
      const spec = { containers: [{ name: "main", image: "none" }] };
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "p-", annotations }, spec };
      return plane.api.status("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod);
    };
    // The API server compiles a new policy a moment after it is written.
    await eventually(async () => (await create("perfomance")) === 422);
    for (const known of ["performance", "standard", undefined]) expect(await create(known)).toBe(201);
    await plane.kubectl(["delete", "validatingadmissionpolicies,validatingadmissionpolicybindings", "--all"]);
  });

  it.each([
    ["the default", {}, "class devices/virtual", "devices/virtual/powercap devices/system/cpu"],
    ["no RAPL", { host: { powercap: false } }, "class", "devices/system/cpu"],
    [
      "NVIDIA GPUs",
      { gpu: { nvidia: { enabled: true } } },
      "class bus/pci/devices devices",
      "devices/virtual/powercap devices/system/cpu",
    ],
    [
      "AMD GPUs",
      { host: { drm: true } },
      "class bus/pci/devices",
      "devices devices/virtual/powercap devices/system/cpu",
    ],
    [
      "AMD GPUs in one folder",
      { host: { drm: true, drmFolders: ["devices/pci0000:17/0000:17:01.0"] } },
      "class bus/pci/devices devices",
      "devices/pci0000:17/0000:17:01.0 devices/virtual/powercap devices/system/cpu",
    ],
    [
      "AMD EPYC",
      { host: { hsmp: true } },
      "class devices/virtual",
      "devices/virtual/powercap devices/system/cpu devices/platform",
    ],
  ])("mounts no more of sysfs than needed for %s", async (_, agent, readOnly, writable) => {
    const pod = objects(await render({ agent })).find(({ kind }) => kind === "DaemonSet")?.spec?.template?.spec as
      | MountingPod
      | undefined;
    const mounts = pod?.containers[0].volumeMounts.filter(({ mountPath }) => mountPath.startsWith("/host/sys/")) ?? [];
    const paths = (isReadOnly: boolean) =>
      mounts
        .filter((mount) => (mount.readOnly ?? false) === isReadOnly)
        .map(({ mountPath }) => mountPath.replace("/host/sys/", ""))
        .join(" ");
    expect([paths(true), paths(false)]).toEqual([readOnly, writable]);
    // Each is the host's folder of the same name, and the names of volumes are distinct.
    const volumes = new Map(pod?.volumes.map(({ name, hostPath }) => [name, hostPath?.path]));
    expect(volumes.size).toBe(pod?.volumes.length);
    for (const { name, mountPath } of mounts) expect(`/host${volumes.get(name)}`).toBe(mountPath);
  });

  it("gives the agents of a pool no right for GPUs", async () => {
    const text = await render({ agent: { mode: "pool", gpu: { nvidia: { enabled: true } } } });
    expect(text).not.toMatch(/SYS_ADMIN|runtimeClassName|NVIDIA_/);
  });

  it("restarts its kube-scheduler when the configuration changes", async () => {
    const hashWith = async (extender: object) => {
      const text = await render({ scheduler: { enabled: true }, extender });
      return /joulie.io\/config-hash: "(\w+)"/.exec(text)?.[1];
    };
    const before = await hashWith({});
    expect(before).toMatch(/^\w{16}$/);
    expect(await hashWith({ env: { LOG_LEVEL: "debug" } })).toBe(before);
    expect(await hashWith({ env: { SCORING: "energy" } })).not.toBe(before);
    expect(await hashWith({ service: { port: 80 } })).not.toBe(before);
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

  it("hands numbers and flags to programs as they are written", async () => {
    const env = { DVFS_MIN_FREQ_KHZ: 1_500_000, DVFS_EMA_ALPHA: 0.5, RESTORE_ON_EXIT: false, TARGET_LEASE: "10m" };
    const agent = objects(await render({ agent: { env } })).find(({ kind }) => kind === "DaemonSet");
    for (const [name, value] of Object.entries(env))
      expect(agent?.spec?.template?.spec.containers[0].env).toContainEqual({ name, value: String(value) });
  });

  it("X-102 restores limits and cleans up before it is uninstalled, and clears the stop afterwards", async () => {
    const env = { POWER_PROFILE_LABEL: "power/profile" };
    const jobs = objects(await render({ operator: { env }, uninstall: { keepObjects: true } })).filter(
      ({ kind }) => kind === "Job",
    );
    const args = jobs.map((job) => job.spec?.template?.spec.containers[0].args?.join(" "));
    const start = "uninstall --namespace joulie-system --timeout 2m";
    const wake = "--wake-timeout 35m";
    expect(args.filter((text) => text?.startsWith("uninstall"))).toEqual([
      `${start} ${wake} --labels power/profile,joulie.io/draining --keep-objects`,
      `${start} --clear-stop app.kubernetes.io/instance=joulie,app.kubernetes.io/component in (agent,operator,power) --lease joulie-operator --power-lease joulie-power`,
    ]);
    const withFleet = await render({ fleet: { enabled: true } });
    expect(withFleet).toContain(
      '"--fleet","joulie-fleet","--fleet-pods","app.kubernetes.io/instance=joulie,app.kubernetes.io/component=fleet"',
    );
    const without = objects(await render({ uninstall: { enabled: false }, check: { enabled: false } }));
    expect(without.filter(({ kind }) => kind === "Job")).toEqual([]);
  });

  it.each([
    [{}, "--programs agent,operator,extender", "--report-only"],
    [{ agent: { mode: "pool" }, operator: { enabled: false } }, "--programs agent-pool,extender", "--report-only"],
    [{ extender: { env: { SCORING: "energy" } } }, "--programs agent,operator,extender-energy", "--report-only"],
    [{ sleep: { mode: "on" } }, "--programs agent,operator-sleep,extender,power", "--report-only"],
    [{ power: { enabled: true } }, "--programs agent,operator,extender,power", "--report-only"],
    [{ operator: { env: { NODE_SELECTOR: "team=a" } }, check: { strict: true } }, "--node-selector team=a", ""],
  ])("checks the installation of %j afterwards", async (values, expected, reportOnly) => {
    const rendered = objects(await render(values));
    const job = rendered.find(({ metadata, kind }) => kind === "Job" && metadata.name === "joulie-check");
    expect(job).toMatchObject({ metadata: { annotations: { "helm.sh/hook": "post-install,post-upgrade" } } });
    const words = checkArguments(rendered);
    const args = words.join(" ");
    expect(args).toContain(
      `check --namespace joulie-system --name joulie ${expected.startsWith("--programs") ? expected : ""}`,
    );
    expect(args).toContain(expected);
    expect(args.endsWith("--report-only")).toBe(reportOnly !== "");
    // The command understands them. Nothing is installed, so something is missing.
    const { code, text } = await checkOnce(words);
    expect(code).toBe(reportOnly === "" ? 1 : 0);
    expect(text).toMatch(/^joulie check: missing: /);
  });

  const isChecked = (values: object) => !JSON.stringify(values).includes('"check":{"enabled":false}');
  it.each(Object.entries(valueSets).filter(([, values]) => isChecked(values)))(
    "checks the installation with arguments that the command knows: %s",
    async (_, values) => {
      const { text } = await checkOnce(checkArguments(objects(await render(values))));
      expect(text).toMatch(/^joulie check: missing: /);
    },
  );

  it("upgrades CRDs before an upgrade, if asked to", async () => {
    const jobs = objects(await render({ crds: { upgrade: true } })).filter(
      ({ metadata }) => metadata.name === "joulie-crds",
    );
    expect(jobs.map(({ kind }) => kind).toSorted()).toEqual([
      "ClusterRole",
      "ClusterRoleBinding",
      "Job",
      "ServiceAccount",
    ]);
    for (const job of jobs) expect(job).toMatchObject({ metadata: { annotations: { "helm.sh/hook": "pre-upgrade" } } });
  });

  it("is installed, upgraded and uninstalled by Helm, and the notes name the Pod Security level", async () => {
    const real = await helmOf(folder, plane.admin.kubeconfig);
    // No kubelet runs the Jobs here.
    const how = ["--namespace", "joulie-system", "--no-hooks"];
    const installed = await real("install", ...release, "--no-hooks", ...jsonFlags({}));
    expect(installed).toContain("installed with the preset observe: it measures and plans, and sets no power cap");
    expect(installed).toContain("needs the Pod Security level privileged");
    expect(installed).toContain("kubectl annotate namespace joulie-system joulie.io/stop=true");
    // The notes repeat the Job's question: other arguments would report rights that this installation does not need.
    const question = (words: readonly string[]) => words.slice(0, words.indexOf("--timeout")).join(" ");
    expect(installed).toContain(`node bin/joulie.mjs ${question(checkArguments(objects(await render({}))))}\n`);
    // A StatefulSet replaces the DaemonSet.
    const values = { mode: "enforce", agent: { mode: "pool" }, operator: { env: { NODE_SELECTOR: "team in (a, b)" } } };
    const upgraded = await real("upgrade", ...release, "--no-hooks", ...jsonFlags(values));
    expect(upgraded).toContain("installed with the preset partition.");
    const words = checkArguments(objects(await render(values)));
    expect(words).toContain("agent-pool,operator,extender");
    expect(upgraded).toContain(
      `node bin/joulie.mjs ${question(words).replace("team in (a, b)", "'team in (a, b)'")}\n`,
    );
    expect(upgraded).toContain("The level restricted is enough.");
    const kindsLeft = async () => {
      const namespaced =
        "daemonsets,statefulsets,deployments,services,serviceaccounts,networkpolicies,pdb,roles,rolebindings";
      const wide = "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings";
      const mine = ["--selector", "app.kubernetes.io/instance=joulie", "--output", "name", "--all-namespaces"];
      const { stdout } = await plane.kubectl(["get", `${namespaced},${wide}`, ...mine]);
      return stdout.split("\n").filter((line) => line !== "");
    };
    const upgradedKinds = await kindsLeft();
    expect(upgradedKinds).toContain("statefulset.apps/joulie-agent");
    expect(upgradedKinds).not.toContain("daemonset.apps/joulie-agent");
    await real("uninstall", "joulie", ...how);
    expect(await kindsLeft()).toEqual([]);
  });

  it("X-102 gets out of a failed uninstallation as the troubleshooting guide says, and can be uninstalled again", async () => {
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/troubleshooting.md"), "utf8");
    const section = guide.split("\n### `helm uninstall` fails\n")[1]?.split("\n## ")[0] ?? "";
    const commands = [...section.matchAll(/^```sh\n(.*?)^```/gms)].at(-1)?.[1] ?? "";
    expect(commands).toContain("helm rollback joulie");
    const real = await helmOf(folder, plane.admin.kubeconfig);
    const how = ["--namespace", "joulie-system"];
    const uninstall = async () => real("uninstall", "joulie", ...how, "--timeout", "3s");
    const status = async () => (JSON.parse(await real("status", "joulie", ...how, "--output", "json")) as Status).info;
    interface Status {
      readonly info: { readonly status: string };
    }
    await real("install", ...release, "--no-hooks", ...jsonFlags({}));
    // No kubelet runs the Job: it does not end.
    await expect(uninstall()).rejects.toThrow(/timed out|deadline/);
    expect(await status()).toMatchObject({ status: "uninstalling" });
    await expect(real("upgrade", ...release, "--no-hooks", ...jsonFlags({}))).rejects.toThrow(
      "has no deployed releases",
    );
    // The Job's first step.
    await plane.kubectl(["annotate", "namespace", "joulie-system", "joulie.io/stop=true"]);
    const bin = join(folder, "bin");
    mkdirSync(bin, { recursive: true });
    const built = await buildControlPlane();
    if (!built.available) throw new Error(built.reason);
    const tools = { kubectl: `${built.path} kubectl`, helm: await buildHelm() };
    for (const [name, command] of Object.entries(tools))
      writeFileSync(join(bin, name), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
    const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: folder, KUBECONFIG: plane.admin.kubeconfig };
    await runCommand("sh", ["-exc", commands], { env });
    expect(await status()).toMatchObject({ status: "deployed" });
    const { stdout } = await plane.kubectl(["get", "namespace", "joulie-system", "--output", "json"]);
    expect(stdout).not.toContain("joulie.io/stop");
    expect((await plane.kubectl(["get", "jobs", ...how])).stdout).not.toContain("joulie-uninstall");
    await real("upgrade", ...release, "--no-hooks", ...jsonFlags({}), "--set", "mode=enforce");
    // A failed attempt is no obstacle to the next one, which gets further.
    await expect(uninstall()).rejects.toThrow(/timed out|deadline/);
    await real("uninstall", "joulie", ...how, "--no-hooks");
    await plane.kubectl(["delete", "job", "joulie-uninstall", ...how, "--ignore-not-found"]);
  });

  it("has a ResourceQuota for GKE in the guide that the API server accepts", async () => {
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guides/install.md"), "utf8");
    const input = /### GKE\n.*?```yaml\n(.*?)```/s.exec(guide)?.[1] ?? "";
    const { stdout, stderr } = await plane.kubectl(["apply", "--dry-run=server", "-f", "-"], { input });
    expect([stdout, stderr]).toEqual([expect.stringContaining("joulie-critical-pods"), ""]);
    // All priority classes of the chart are among those that it allows.
    const classes = [...(await render({ scheduler: { enabled: true } })).matchAll(/priorityClassName: (.+)/g)];
    for (const [, name = ""] of classes) expect(input).toContain(name);
  });

  describe("kinds of nodes", () => {
    const present = (device: string) => ({ [`feature.node.kubernetes.io/pci-${device}.present`]: "true" });
    const virtual = { "feature.node.kubernetes.io/cpu-cpuid.HYPERVISOR": "true" };
    const epyc = { "feature.node.kubernetes.io/cpu-model.vendor_id": "AMD" };
    const arm = { "kubernetes.io/arch": "arm64" };
    type Labels = Readonly<Record<string, string>>;

    /** The agents that run on a node with these labels: the end of the name, what they may write, and their rights. */
    const agentsOn = async (labels: Labels, values: object = {}) =>
      objects(await render(values))
        .filter(({ kind, spec }) => kind === "DaemonSet" && isChosen(spec?.template?.spec as AffinePod, labels))
        .map(({ metadata, spec }) => {
          const { volumes, containers } = (spec?.template?.spec ?? {}) as unknown as MountingPod;
          const readOnly = new Set(containers[0].volumeMounts.filter((one) => one.readOnly).map(({ name }) => name));
          return {
            kind: metadata.name.replace("joulie-agent", ""),
            writes: volumes
              .filter(({ name, hostPath }) => hostPath?.path.startsWith("/sys") && !readOnly.has(name))
              .map(({ hostPath }) => hostPath?.path.replace("/sys/devices", "") ?? "")
              .toSorted()
              .join(" "),
            isAdmin: JSON.stringify(spec).includes("SYS_ADMIN"),
          };
        });

    it.each<[string, Labels, object]>([
      ["without labels", {}, { kind: "", writes: "/system/cpu /virtual/powercap", isAdmin: false }],
      ["in a virtual machine", virtual, { kind: "-no-rapl", writes: "/system/cpu", isAdmin: false }],
      ["with ARM CPUs", arm, { kind: "-no-rapl", writes: "/system/cpu", isAdmin: false }],
      ["with EPYC CPUs", epyc, { kind: "-amd", writes: "/platform /system/cpu /virtual/powercap", isAdmin: false }],
      [
        "with NVIDIA GPUs found by their own operator",
        { "nvidia.com/gpu.present": "true" },
        { kind: "-nvidia", writes: "/system/cpu /virtual/powercap", isAdmin: true },
      ],
      [
        "with NVIDIA GPUs in a virtual machine",
        { ...present("0302_10de"), ...virtual },
        {
          kind: "-nvidia-no-rapl",
          writes: "/system/cpu",
          isAdmin: true,
        },
      ],
      [
        "with AMD GPUs and EPYC CPUs",
        { ...present("1200_1002"), ...epyc },
        {
          kind: "-drm-amd",
          writes: " /platform /system/cpu /virtual/powercap",
          isAdmin: false,
        },
      ],
      [
        "with NVIDIA and AMD GPUs",
        { ...present("10de"), ...present("0380_1002") },
        {
          kind: "-nvidia",
          writes: "/system/cpu /virtual/powercap",
          isAdmin: true,
        },
      ],
    ])("X-240 a node %s gets one agent, which asks for what the node has", async (_, labels, expected) => {
      expect(await agentsOn(labels)).toEqual([expected]);
    });

    it("X-240 any node gets exactly one agent, also beside an affinity of the user", async () => {
      const keys = [
        virtual,
        epyc,
        arm,
        present("10de"),
        present("1200_1002"),
        { "intel.feature.node.kubernetes.io/gpu": "true" },
      ];
      const own = {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] },
              { matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] },
            ],
          },
        },
      };
      const daemonSets = async (values: object) =>
        objects(await render(values)).filter(({ kind }) => kind === "DaemonSet");
      const [plain, affine] = await Promise.all([daemonSets({}), daemonSets({ agent: { affinity: own } })]);
      const countOf = (sets: readonly Rendered[], labels: Labels) =>
        sets.filter(({ spec }) => isChosen(spec?.template?.spec as AffinePod, labels)).length;
      for (let bits = 0; bits < 2 ** keys.length; bits++) {
        const labels: Labels = Object.assign({}, ...keys.filter((_, index) => (bits >> index) % 2 === 1));
        expect([labels, countOf(plain, labels)]).toEqual([labels, 1]);
        expect([labels, countOf(affine, labels)]).toEqual([labels, 0]);
        expect([labels, countOf(affine, { ...labels, zone: "b" })]).toEqual([labels, 1]);
      }
    });

    it("X-240 a value for all agents is one for each kind, and lists of the user replace the default ones", async () => {
      const values = { agent: { host: { powercap: false }, kinds: { gpus: [], hosts: [] } } };
      expect(await agentsOn(epyc, values)).toEqual([{ kind: "", writes: "/system/cpu", isAdmin: false }]);
      const lists = {
        gpus: [{ name: "h100", labels: { pool: "h100" }, gpu: { nvidia: { enabled: true } } }],
        hosts: [],
      };
      expect(await agentsOn({ pool: "h100" }, { agent: { kinds: lists } })).toMatchObject([
        { kind: "-h100", isAdmin: true },
      ]);
      expect(await agentsOn({ pool: "cpu" }, { agent: { kinds: lists } })).toMatchObject([
        { kind: "", isAdmin: false },
      ]);
    });

    it("X-240 the DaemonSet of each kind has a selector of its own", async () => {
      const agents = objects(await render({})).filter(({ kind }) => kind === "DaemonSet");
      const selectors = agents.map(({ spec }) => JSON.stringify((spec as unknown as { selector: object }).selector));
      expect(new Set(selectors).size).toBe(agents.length);
    });
  });

  it("SLP-62 sets operator, extender, power program and rights together, and keeps the power program while a node is asleep", async () => {
    const asleep = objects(await render({ sleep: { mode: "on" } }));
    const named = (kind: string, name: string) => asleep.find((one) => one.kind === kind && one.metadata.name === name);
    for (const program of ["joulie-operator", "joulie-extender"])
      expect(named("Deployment", program)?.spec?.template?.spec.containers[0].env).toContainEqual({
        name: "SLEEP_MODE",
        value: "on",
      });
    expect(named("Deployment", "joulie-power")).toBeDefined();
    const awake = await render({});
    for (const word of ["SLEEP_MODE", "powerendpoints", "persistentvolumes", "joulie-arrivals"])
      expect([word, awake.split("joulie-uninstall")[0]?.includes(word)]).toEqual([word, false]);
    const real = await helmOf(folder, plane.admin.kubeconfig);
    await real("install", ...release, "--no-hooks", ...jsonFlags({}), "--set", "sleep.mode=on");
    // The Job of the hook asks for the rights that the chart grants.
    const { text } = await checkOnce(checkArguments(asleep));
    expect(text).toMatch(/^joulie check: missing: extender: /);
    expect(text).not.toContain("may not");
    await plane.createNodes(["sleeper"]);
    await plane.kubectl(["taint", "node", "sleeper", "joulie.io/asleep:NoSchedule"]);
    const installed = async (...values: string[]): Promise<string> => {
      await real("upgrade", ...release, "--no-hooks", ...jsonFlags({}), ...values);
      const { stdout } = await plane.kubectl(["get", "deployments", "-n", "joulie-system", "-o", "name"]);
      return stdout;
    };
    expect(await installed()).toContain("joulie-power");
    await plane.kubectl(["taint", "node", "sleeper", "joulie.io/asleep-"]);
    const endpoint = { apiVersion: "joulie.io/v1alpha1", kind: "PowerEndpoint", metadata: { name: "sleeper" } };
    const spec = { nodeName: "sleeper", webhook: { url: "https://power.example/{node}" } };
    await plane.kubectl(["create", "-f", "-"], { input: JSON.stringify({ ...endpoint, spec }) });
    expect(await installed("--set", "preset=energy")).toContain("joulie-power");
    await plane.kubectl(["delete", "powerendpoint", "sleeper"]);
    expect(await installed()).not.toContain("joulie-power");
    // A cluster whose CRDs were deleted has no switches either.
    expect(await installed("--set", "power.enabled=true")).toContain("joulie-power");
    await plane.kubectl(["delete", "crd", "powerendpoints.joulie.io"]);
    expect(await installed()).not.toContain("joulie-power");
    await plane.kubectl(["apply", "--filename", join(chart, "crds")]);
    await real("uninstall", "joulie", "--namespace", "joulie-system", "--no-hooks");
    await plane.kubectl(["delete", "node", "sleeper"]);
  });

  it.each(Object.entries(valueSets))("never asks for a privileged container with %s", async (_, values) => {
    const text = await render(values);
    expect(text).not.toMatch(/privileged: true|hostNetwork: true|hostPID: true/);
    const isForAll = JSON.stringify(values).includes("nvidia");
    for (const object of objects(text).filter(({ kind }) => kind === "DaemonSet"))
      expect([object.metadata.name, JSON.stringify(object).includes("SYS_ADMIN")]).toEqual([
        object.metadata.name,
        isForAll || object.metadata.name.includes("nvidia"),
      ]);
  });
});
