import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { ClusterFacts } from "./cluster-facts.ts";
import { type InstallChoices, type InstallPlan, planInstallation } from "./findings.ts";
import { readImage } from "./image.ts";
import { chartFolder, commandLines, nodeKindsOf, planText } from "./install.ts";
import { clusters, mixed } from "./testing/clusters.ts";

const root = join(import.meta.dirname, "../../..");
const kinds = nodeKindsOf(join(root, "charts/joulie"));
const choices: InstallChoices = { namespace: "joulie-system", chart: "./charts/joulie", helmArgs: [] };
const planOf = (facts: ClusterFacts, chosen: Partial<InstallChoices> = {}): InstallPlan =>
  planInstallation(facts, kinds, { ...choices, ...chosen });
const helmOf = ({ commands }: InstallPlan) => commands.find(({ tool }) => tool === "helm");
const valuesOf = (facts: ClusterFacts, chosen: Partial<InstallChoices> = {}) => helmOf(planOf(facts, chosen))?.input;
const findingOf = ({ findings }: InstallPlan, about: string) => findings.find(([name]) => name === about)?.[1];
/** The commands of kubectl, each as one line. */
const kubectlOf = ({ commands }: InstallPlan) =>
  commands.filter(({ tool }) => tool === "kubectl").map(({ args }) => args.join(" "));

const second = { scheduler: { enabled: true } };
const virtual = { agent: { host: { powercap: false } } };

describe("planInstallation", () => {
  it.each([
    ["kubeadm", "kubeadm v1.36.3, 2 nodes, 1 of the control plane", {}],
    ["k3s", "k3s v1.36.3+k3s1, 2 nodes, 1 of the control plane", {}],
    ["rke2", "RKE2 v1.36.3+rke2r1, 2 nodes, 1 of the control plane", {}],
    [
      "openshift",
      "OpenShift v1.36.3, 2 nodes, 1 of the control plane",
      { ...second, openshift: { scc: true }, monitoring: { enabled: true } },
    ],
    ["gke", "GKE v1.36.3-gke.1041000, 2 nodes, 0 of the control plane", { ...second, ...virtual }],
    ["eks", "EKS v1.36.3-eks-3abbec1, 2 nodes, 0 of the control plane", { ...second, ...virtual }],
    ["aks", "AKS v1.36.3, 2 nodes, 0 of the control plane", { ...second, ...virtual }],
    ["other", "Kubernetes v1.36.3, 2 nodes, 1 of the control plane", {}],
  ] as const)("INS-01 recognises %s and sets only the values that it needs", (name, text, values) => {
    expect(findingOf(planOf(clusters[name]), "cluster")).toBe(text);
    expect(valuesOf(clusters[name])).toEqual(values);
  });

  it.each([
    ["kubeadm", "/etc/kubernetes/scheduler.conf"],
    ["k3s", "/var/lib/rancher/k3s/server/cred/scheduler.kubeconfig"],
    ["rke2", "/var/lib/rancher/rke2/server/cred/scheduler.kubeconfig"],
  ] as const)("INS-02 says where the configuration of kube-scheduler goes with %s, as the guide does", (name, file) => {
    const { byHand } = planOf(clusters[name], { preset: "energy" });
    expect(byHand[0]?.line).toContain(
      `joulie scheduler-config --preset energy --namespace joulie-system --client-kubeconfig ${file} `,
    );
    const [path = ""] = /\/etc\/\S+joulie-scheduler\.yaml/.exec(byHand[0]?.why ?? "") ?? [];
    const guide = readFileSync(join(root, "docs/guides/scheduler.md"), "utf8");
    expect([guide.includes(file), guide.includes(path)]).toEqual([true, true]);
  });

  it.each(["openshift", "gke", "eks", "aks"] as const)("INS-02 leaves the kube-scheduler of %s alone", (name) => {
    const plan = planOf(clusters[name]);
    expect(findingOf(plan, "kube-scheduler")).toMatch(
      /^cannot be configured here: scheduler.enabled runs a second one/,
    );
    expect(plan.byHand.some(({ line }) => line.includes("scheduler-config"))).toBe(false);
  });

  it("INS-02 runs a second kube-scheduler where no node has the first", () => {
    const { nodes } = clusters.k3s;
    const plan = planOf({ ...clusters.k3s, nodes: nodes?.slice(1) });
    expect(findingOf(plan, "kube-scheduler")).toMatch(/^is on no node of this cluster/);
    expect(helmOf(plan)?.input).toEqual(second);
  });

  it("INS-03 labels nodes with GPUs and virtual machines as the chart tells them apart", () => {
    const plan = planOf(mixed);
    const labels = kubectlOf(plan).filter((line) => line.startsWith("label nodes") && !line.includes("joulie.io"));
    expect(labels).toEqual([
      "label nodes h100 nvidia.com/gpu.present=true",
      "label nodes mi300 feature.node.kubernetes.io/amd-gpu=true",
      "label nodes vm feature.node.kubernetes.io/cpu-cpuid.HYPERVISOR=true",
    ]);
    expect(findingOf(plan, "node features")).toContain("is installed; 1 node without its labels");
    const after = labels
      .map((line) => line.split(/[ =]/))
      .map(([, , name, label = "", value = ""]) => ({ name, label, value }));
    const nodes = mixed.nodes?.map((node) => ({
      ...node,
      labels: {
        ...node.labels,
        ...Object.fromEntries(after.filter(({ name }) => name === node.name).map(({ label, value }) => [label, value])),
      },
    }));
    expect(kubectlOf(planOf({ ...mixed, nodes })).filter((line) => /^label nodes (?!.*joulie)/.test(line))).toEqual([]);
  });

  it.each([
    [["nvidia"], undefined],
    [["runc"], { gpu: { nvidia: { runtimeClassName: "" } } }],
    [undefined, undefined],
  ])("INS-03 asks for the RuntimeClass nvidia unless it knows that there is none: %j", (runtimeClasses, agent) => {
    expect(valuesOf({ ...mixed, runtimeClasses })?.["agent"]).toEqual(agent);
  });

  it("INS-03 leaves nodes to the user who labelled some, and otherwise takes workers, or all that take pods", () => {
    const last = (facts: ClusterFacts) => kubectlOf(planOf(facts)).at(-1);
    expect(last(clusters.kubeadm)).toBe("label nodes worker joulie.io/managed=true");
    expect(last(clusters.eks)).toBe("label nodes --all joulie.io/managed=true");
    const [control, worker] = clusters.k3s.nodes ?? [];
    if (control === undefined || worker === undefined) throw new Error("no nodes");
    const single = { ...clusters.k3s, nodes: [{ ...control, hasNoScheduleTaint: false }] };
    expect(last(single)).toBe("label nodes --all joulie.io/managed=true");
    expect(last({ ...clusters.k3s, nodes: [control] })).toMatch(/^label namespace/);
    const chosen = { ...worker, labels: { ...worker.labels, "joulie.io/managed": "true" } };
    expect(last({ ...clusters.k3s, nodes: [control, chosen, { ...worker, name: "new" }] })).toMatch(/^label namespace/);
  });

  it("INS-04 connects Prometheus and its operator", () => {
    expect(valuesOf(mixed)).toMatchObject({
      operator: { env: { PROMETHEUS_ADDRESS: "http://prometheus-operated.monitoring:9090" } },
      monitoring: { enabled: true, labels: { release: "stack" } },
    });
    expect(findingOf(planOf(mixed), "Prometheus")).toContain("the first of 2");
    const plain = { ...clusters.kubeadm, prometheus: [{ address: "http://prometheus-server.web" }] };
    expect(valuesOf(plain)).toEqual({ operator: { env: { PROMETHEUS_ADDRESS: "http://prometheus-server.web" } } });
  });

  it("INS-04 imports the machines of Metal3 where nodes may sleep, and a list elsewhere", () => {
    const lines = (facts: ClusterFacts, preset: InstallChoices["preset"]) =>
      planOf(facts, { preset })
        .byHand.map(({ line }) => line)
        .filter((line) => line.startsWith("joulie power"));
    expect(lines(mixed, "energy-sleep")).toEqual([
      "joulie power import --metal3 edge",
      "joulie power import --metal3 metal3-system",
      "joulie power test --all",
    ]);
    expect(lines(clusters.k3s, "energy-sleep")[0]).toBe("joulie power import hosts.csv");
    expect(lines(mixed, "energy")).toEqual([]);
    expect(findingOf(planOf(mixed), "Metal3")).toBe(
      "1 host in edge, 2 hosts in metal3-system; they can let nodes sleep: --preset energy-sleep",
    );
  });

  it.each([
    [
      null,
      [
        "create namespace joulie-system",
        "label namespace joulie-system pod-security.kubernetes.io/enforce=privileged --overwrite",
      ],
    ],
    [
      { "pod-security.kubernetes.io/enforce": "baseline" },
      ["label namespace joulie-system pod-security.kubernetes.io/enforce=privileged --overwrite"],
    ],
    [{ "pod-security.kubernetes.io/enforce": "privileged" }, []],
  ])("INS-05 prepares the namespace with labels %j", (namespaceLabels, lines) => {
    expect(kubectlOf(planOf({ ...clusters.k3s, namespaceLabels })).slice(0, -1)).toEqual(lines);
  });

  it("INS-05 admits the priority classes on GKE with the quota of the guide", () => {
    const quota = planOf(clusters.gke).commands.find(({ args }) => args[0] === "apply")?.input;
    const guide = readFileSync(join(root, "docs/guides/install.md"), "utf8");
    expect(quota).toEqual(parse(/### GKE\n.*?```yaml\n(.*?)```/s.exec(guide)?.[1] ?? ""));
  });

  it("INS-06 upgrades a release, which keeps its values, with the CRDs", () => {
    const facts = { ...mixed, installed: { release: "green", preset: "energy-sleep" } } as const;
    const helm = helmOf(planOf(facts));
    expect(helm?.args.join(" ")).toBe(
      "upgrade green ./charts/joulie --reset-then-reuse-values --namespace joulie-system --values - --wait",
    );
    expect(helm?.input).toEqual({ crds: { upgrade: true } });
    expect(findingOf(planOf(facts), "preset")).toBe("energy-sleep");
    expect(valuesOf(facts, { preset: "observe" })).toEqual({ preset: "observe", crds: { upgrade: true } });
  });

  it("INS-06 refuses to upgrade what Helm did not install", () => {
    const plan = planOf({ ...clusters.k3s, installed: { release: undefined, preset: undefined } });
    expect(plan.problem).toBe("Helm did not install the Joulie in joulie-system: upgrade it as it was installed");
  });

  it("INS-09 names what a user may not read, and decides nothing from it", () => {
    const unread = { nodes: undefined, runtimeClasses: undefined, prometheus: undefined, bareMetalHosts: undefined };
    const plan = planOf({ ...mixed, ...unread, unread: ["nodes", "RuntimeClasses"] });
    expect(plan.problem).toBe("you may not read nodes: an administrator of the cluster has to install Joulie");
    expect(findingOf(plan, "not known")).toBe(
      "you may not read nodes, RuntimeClasses: what depends on it is missing below",
    );
    expect(helmOf(plan)?.input).toEqual({ monitoring: { enabled: true } });
    expect(findingOf(plan, "GPUs")).toBeUndefined();
  });

  it("INS-08 gives the flags of the cluster to both tools, and further arguments to helm", () => {
    const { commands } = planOf(clusters.k3s, { kubeconfig: "k", context: "c", helmArgs: ["--timeout", "9m"] });
    const ends = commands.map(({ tool, args }) => [tool, args.slice(-4).join(" ")]);
    const where = (flag: string) => `--kubeconfig k ${flag} c`;
    expect(ends).toEqual(commands.map(({ tool }) => [tool, where(tool === "helm" ? "--kube-context" : "--context")]));
    expect(helmOf({ ...planOf(clusters.k3s), commands })?.args).toContain("9m");
  });
});

describe("readImage", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  it.each([
    ["registry.example:5000/green/joulie:1.2.0", { repository: "registry.example:5000/green/joulie", tag: "1.2.0" }],
    [`registry.example/joulie@${digest}`, { repository: "registry.example/joulie", digest }],
    // The chart takes one of both.
    [`registry.example/joulie:1.2.0@${digest}`, { repository: "registry.example/joulie", digest }],
    ["localhost/joulie:dev", { repository: "localhost/joulie", tag: "dev", pullPolicy: "Never" }],
  ])("INS-07 reads %s", (text, value) => {
    expect(readImage(text)).toEqual({ ok: true, value });
  });

  it.each([
    ["joulie:latest", "the tag latest is a different image tomorrow; name a version"],
    [
      "registry.example:5000/joulie",
      "registry.example:5000/joulie lacks a tag, such as registry.example:5000/joulie:dev",
    ],
    ["a b:1", '"a b:1" is no image, such as localhost/joulie:dev'],
    ["joulie@sha256:12", '"joulie@sha256:12" is no image, such as localhost/joulie:dev'],
  ])("INS-07 refuses %s", (text, error) => {
    expect(readImage(text)).toEqual({ ok: false, error });
  });
});

describe("planText", () => {
  it.each([...Object.entries(clusters), ["mixed", mixed] as const])("fits 80 columns on %s", (_, facts) => {
    const lines = planText(planOf(facts, { preset: "energy-sleep" }), 80).split("\n");
    // A word that has no space to break at.
    expect(lines.filter((line) => line.length > 80 && line.trim().replace(/ \\$/, "").includes(" "))).toEqual([]);
  });

  it("quotes what a shell would obey", () => {
    expect(commandLines({ tool: "helm", args: ["--set", "a=$(b) 'c'"] }, 80)).toEqual([
      "helm --set 'a=$(b) '\\''c'\\'''",
    ]);
  });
});

it("finds the chart from the sources and from the parts of the bundle", () => {
  expect(chartFolder()).toBe("./charts/joulie");
  expect(chartFolder(`file://${root}/dist/parts/install.mjs`)).toBe("./charts/joulie");
  expect(chartFolder("file:///nowhere/at/all.mjs")).toBeUndefined();
});
