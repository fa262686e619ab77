// What an installation needs on a cluster, decided from facts alone.
import { labels as joulieLabels, type Labels } from "../../core/api/index.ts";
import type { PresetName } from "../../core/presets/index.ts";
import { hasControlPlaneRole } from "../../core/sleep/index.ts";
import type { ClusterFacts, NodeFacts } from "./cluster-facts.ts";
import { type Distribution, distributionOf, distributions } from "./distributions.ts";
import { type Image, imageText } from "./image.ts";

/** What the user chose. */
export interface InstallChoices {
  readonly namespace: string;
  readonly chart: string;
  /** Undefined = observe, or that of the installed release. */
  readonly preset?: PresetName | undefined;
  /** Undefined = that of the installed release. */
  readonly image?: Image | undefined;
  readonly helmArgs: readonly string[];
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/** The groups of nodes of the chart, by their labels: `agent.kinds` of its values. */
export interface NodeKinds {
  readonly gpus: readonly NodeKind[];
  readonly hosts: readonly NodeKind[];
}
interface NodeKind {
  readonly name: string;
  readonly labels: Labels;
}

type Value = string | boolean | Values | readonly Value[];
interface Values {
  readonly [name: string]: Value;
}

export interface ToolCommand {
  readonly tool: "kubectl" | "helm";
  readonly args: readonly string[];
  /** Standard input. */
  readonly input?: Values;
}

export interface InstallPlan {
  /** What was found, and what follows from it. */
  readonly findings: readonly Finding[];
  readonly commands: readonly ToolCommand[];
  /** What no command of a client can do. */
  readonly byHand: readonly Step[];
  /** Why the commands cannot work. */
  readonly problem?: string | undefined;
}
type Finding = readonly [about: string, text: string];
interface Step {
  readonly why: string;
  /** For a shell. */
  readonly line: string;
}

export function planInstallation(facts: ClusterFacts, kinds: NodeKinds, choices: InstallChoices): InstallPlan {
  const distribution = distributionOf(facts);
  const release = releasePart(facts, choices);
  const cluster = [
    clusterPart(facts, distribution),
    schedulerPart(facts, distribution, choices),
    namespacePart(facts, choices),
    ...(distribution === "openshift" ? [OPENSHIFT_PART] : []),
    ...(distribution === "gke" ? [gkePart(choices)] : []),
    gpuPart(facts, kinds),
    hostPart(facts, kinds),
    prometheusPart(facts, distribution),
    machinesPart(facts, choices),
    managedPart(facts),
  ];
  const parts = [release, ...cluster];
  const unread: Finding[] =
    facts.unread.length === 0
      ? []
      : [["not known", `you may not read ${facts.unread.join(", ")}: what depends on it is missing below`]];
  // An upgrade keeps the values of the release: an administrator may have chosen others.
  const valued = facts.installed ? [release] : parts;
  const helm = helmCommand(facts, choices, valued.map(({ values = {} }) => values).reduce(merge));
  const commands = [...parts.flatMap(({ before = [] }) => before), helm, ...parts.flatMap(({ after = [] }) => after)];
  return {
    findings: [...parts.flatMap(({ findings = [] }) => findings), ...unread],
    commands: commands.map((command) => onThisCluster(command, choices)),
    byHand: [...parts.flatMap(({ byHand = [] }) => byHand), { why: "Look at the result.", line: "joulie status" }],
    problem: problemOf(facts, choices),
  };
}

function problemOf({ installed, unread }: ClusterFacts, { namespace }: InstallChoices): string | undefined {
  if (unread.length > 0) return `you may not read ${unread[0]}: an administrator of the cluster has to install Joulie`;
  if (!installed || installed.release !== undefined) return undefined;
  return `Helm did not install the Joulie in ${namespace}: upgrade it as it was installed`;
}

interface PlanPart {
  readonly findings?: readonly Finding[];
  /** Only what differs from the chart's defaults. */
  readonly values?: Values;
  /** Commands before and after Helm's. */
  readonly before?: readonly ToolCommand[];
  readonly after?: readonly ToolCommand[];
  readonly byHand?: readonly Step[];
}

const kubectl = (...args: readonly string[]): ToolCommand => ({ tool: "kubectl", args });

function onThisCluster(command: ToolCommand, { kubeconfig, context }: InstallChoices): ToolCommand {
  const flag = command.tool === "helm" ? "--kube-context" : "--context";
  const where = [...(kubeconfig ? ["--kubeconfig", kubeconfig] : []), ...(context ? [flag, context] : [])];
  return { ...command, args: [...command.args, ...where] };
}

function helmCommand({ installed }: ClusterFacts, choices: InstallChoices, values: Values): ToolCommand {
  const { namespace, chart, helmArgs } = choices;
  const release = installed?.release;
  const action =
    release === undefined
      ? ["upgrade", "--install", "joulie", chart]
      : ["upgrade", release, chart, "--reset-then-reuse-values"];
  return {
    tool: "helm",
    args: [...action, "--namespace", namespace, "--values", "-", "--wait", ...helmArgs],
    input: values,
  };
}

/** An earlier installation, the preset and the image. */
function releasePart({ installed }: ClusterFacts, { namespace, preset, image }: InstallChoices): PlanPart {
  const findings = (state: string, ownPreset: string, ownImage: string): Finding[] => [
    ["installed", state],
    ["preset", preset ?? ownPreset],
    ["image", image === undefined ? ownImage : imageText(image)],
  ];
  const chosen = image === undefined ? {} : { image: { ...image } };
  if (!installed)
    return {
      findings: findings("no", "observe", "none"),
      values: { ...(preset !== undefined && preset !== "observe" && { preset }), ...chosen },
    };
  const { release = "not by Helm", preset: ownPreset = "that of the release" } = installed;
  return {
    findings: findings(
      `release ${release} in ${namespace}: an upgrade, which keeps its values`,
      ownPreset,
      "that of the release; --image names another",
    ),
    // Helm itself does not upgrade CRDs.
    values: { ...(preset !== undefined && { preset }), ...chosen, crds: { upgrade: true } },
  };
}

const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Workers; in a cluster without any the nodes that take pods. */
function agentNodes(nodes: readonly NodeFacts[]): readonly NodeFacts[] {
  const workers = nodes.filter((node) => !isControlPlane(node));
  return workers.length > 0 ? workers : nodes.filter(({ hasNoScheduleTaint }) => !hasNoScheduleTaint);
}

const isControlPlane = ({ labels }: NodeFacts): boolean => hasControlPlaneRole(labels);

function clusterPart({ version, nodes }: ClusterFacts, distribution: Distribution): PlanPart {
  const counted =
    nodes === undefined
      ? []
      : [countText(nodes.length, "node"), `${nodes.filter(isControlPlane).length} of the control plane`];
  return { findings: [["cluster", [`${distributions[distribution].name} ${version}`, ...counted].join(", ")]] };
}

/** Lets kube-scheduler ask, or a second one where the first cannot be configured. */
function schedulerPart(facts: ClusterFacts, distribution: Distribution, choices: InstallChoices): PlanPart {
  const { isManaged, scheduler } = distributions[distribution];
  const { nodes, installed } = facts;
  if (nodes === undefined && !isManaged) return {};
  if (isManaged || !nodes?.some(isControlPlane)) {
    const why = isManaged ? "cannot be configured here" : "is on no node of this cluster";
    return {
      findings: [["kube-scheduler", `${why}: scheduler.enabled runs a second one, which pods name in schedulerName`]],
      values: { scheduler: { enabled: true } },
    };
  }
  const { namespace, preset = installed?.preset ?? "observe" } = choices;
  const address = `$(kubectl --namespace ${namespace} get service joulie-scheduler-extender --output jsonpath={.spec.clusterIP})`;
  const client = scheduler === undefined ? "" : ` --client-kubeconfig ${scheduler.kubeconfig}`;
  const step = scheduler?.step ?? "give it this file with its flag --config";
  return {
    findings: [["kube-scheduler", "can ask Joulie: see By hand"]],
    byHand: [
      {
        why: `Let kube-scheduler ask Joulie: ${step} (docs/guides/scheduler.md, Register it).`,
        line: `joulie scheduler-config --preset ${preset} --namespace ${namespace}${client} --host "${address}" > joulie-scheduler.yaml`,
      },
    ],
  };
}

const ENFORCE = "pod-security.kubernetes.io/enforce";

/** Agents mount folders of the host, which the namespace has to admit. */
function namespacePart({ namespaceLabels }: ClusterFacts, { namespace }: InstallChoices): PlanPart {
  const level = namespaceLabels?.[ENFORCE];
  if (level === "privileged") return { findings: [["Pod Security", `${namespace} admits agents: privileged`]] };
  const state = namespaceLabels === null ? `${namespace} is missing` : `${namespace} has ${level ?? "no level"}`;
  return {
    findings: [["Pod Security", `${namespaceLabels === undefined ? "not known" : state}; agents need privileged`]],
    before: [
      ...(namespaceLabels === null ? [kubectl("create", "namespace", namespace)] : []),
      kubectl("label", "namespace", namespace, `${ENFORCE}=privileged`, "--overwrite"),
    ],
  };
}

const OPENSHIFT_PART: PlanPart = {
  findings: [["OpenShift", "openshift.scc gives agents a SecurityContextConstraints object"]],
  values: { openshift: { scc: true } },
  byHand: [
    {
      why: "Label the state folder on each node, as root or by a MachineConfig (docs/guides/install.md, SELinux).",
      line: "mkdir -p /var/lib/joulie && semanage fcontext -a -t container_file_t '/var/lib/joulie(/.*)?' && restorecon -R /var/lib/joulie",
    },
  ],
};

/** GKE rejects the priority classes of the chart outside of kube-system. */
const gkePart = ({ namespace }: InstallChoices): PlanPart => ({
  findings: [["GKE", "a ResourceQuota has to admit the priority classes of Joulie's pods"]],
  before: [{ tool: "kubectl", args: ["apply", "--filename", "-"], input: criticalPodsQuota(namespace) }],
});

const criticalPodsQuota = (namespace: string): Values => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "joulie-critical-pods", namespace },
  spec: {
    hard: { pods: "10000" },
    scopeSelector: {
      matchExpressions: [
        { scopeName: "PriorityClass", operator: "In", values: ["system-node-critical", "system-cluster-critical"] },
      ],
    },
  },
});

const hasOneOf = (node: NodeFacts, wanted: Labels): boolean =>
  Object.entries(wanted).some(([name, value]) => node.labels[name] === value);
const kindOf = (node: NodeFacts, kinds: readonly NodeKind[]): string | undefined =>
  kinds.find(({ labels }) => hasOneOf(node, labels))?.name;
const namesOf = (nodes: readonly NodeFacts[]): string[] => nodes.map(({ name }) => name);

/** GPUs that a device plugin offers, the kind of their nodes in the chart, and a label that says so. */
const OFFERED_GPUS = [
  { resource: /^nvidia\.com\/(gpu|mig-)/, kind: "nvidia", label: "nvidia.com/gpu.present=true" },
  { resource: /^amd\.com\/gpu/, kind: "drm", label: "feature.node.kubernetes.io/amd-gpu=true" },
  { resource: /^gpu\.intel\.com\//, kind: "drm", label: "intel.feature.node.kubernetes.io/gpu=true" },
] as const;

function gpuPart({ nodes, groups, runtimeClasses }: ClusterFacts, kinds: NodeKinds): PlanPart {
  if (nodes === undefined) return {};
  const rest = nodes.filter((node) => kindOf(node, kinds.gpus) === undefined);
  const unlabelled = OFFERED_GPUS.map(({ resource, kind, label }) => {
    const names = namesOf(rest.filter(({ resources }) => resources.some((name) => resource.test(name))));
    return { kind, label, names };
  }).filter(({ names }) => names.length > 0);
  const counts = kinds.gpus.map(({ name }) => {
    const offered = unlabelled.filter(({ kind }) => kind === name).flatMap(({ names }) => names);
    return [name, nodes.filter((node) => kindOf(node, kinds.gpus) === name).length + offered.length] as const;
  });
  const hasNvidia = counts.some(([name, count]) => name === "nvidia" && count > 0);
  const lacksClass = hasNvidia && runtimeClasses?.includes("nvidia") === false;
  const found = counts.filter(([, count]) => count > 0).map(([name, count]) => `${countText(count, "node")} (${name})`);
  const notes = [
    found.join(", ") || "none: no node has a label for them or offers one",
    ...(groups.has("nvidia.com") ? ["NVIDIA's GPU operator is installed"] : []),
    ...(lacksClass ? ["there is no RuntimeClass nvidia, so NVIDIA's runtime has to be the default there"] : []),
    ...unlabelled.map(({ names, label }) => `${countText(names.length, "node")} without the label ${label}`),
  ];
  return {
    findings: [["GPUs", notes.join("; ")]],
    values: lacksClass ? { agent: { gpu: { nvidia: { runtimeClassName: "" } } } } : {},
    before: unlabelled.map(({ names, label }) => kubectl("label", "nodes", ...names, label)),
  };
}

const NFD_PREFIX = "feature.node.kubernetes.io/";
const NO_RAPL_LABEL = `${NFD_PREFIX}cpu-cpuid.HYPERVISOR=true`;
const CLOUD = /^(aws|azure|digitalocean|gce|vsphere):/;
const isVirtual = ({ providerId, labels }: NodeFacts): boolean =>
  CLOUD.test(providerId) && !/metal/.test(labels["node.kubernetes.io/instance-type"] ?? "");

/** An agent that mounts the folder of RAPL does not start on a machine without it. */
function hostPart({ nodes, groups }: ClusterFacts, kinds: NodeKinds): PlanPart {
  if (nodes === undefined) return {};
  const hasFeatures = ({ labels }: NodeFacts) => Object.keys(labels).some((name) => name.startsWith(NFD_PREFIX));
  const hosts = agentNodes(nodes);
  const rest = hosts.filter((node) => kindOf(node, kinds.hosts) === undefined);
  const virtual = rest.filter(isVirtual);
  const unknown = rest.filter((node) => !isVirtual(node) && !hasFeatures(node)).length;
  const isInstalled = groups.has("nfd.k8s-sigs.io");
  const features = [
    `Node Feature Discovery is ${isInstalled ? "" : "not "}installed`,
    ...(unknown === 0
      ? []
      : [
          `${countText(unknown, "node")} without its labels: label AMD EPYC CPUs and machines without RAPL yourself (docs/guides/install.md, Mixed clusters)`,
        ]),
  ];
  const noRapl: Finding = ["no RAPL", `${countText(virtual.length, "virtual machine")} of a cloud: no CPU caps there`];
  const findings: readonly Finding[] = [["node features", features.join("; ")]];
  if (virtual.length === 0) return { findings };
  return hosts.every(isVirtual)
    ? { findings: [...findings, noRapl], values: { agent: { host: { powercap: false } } } }
    : {
        findings: [...findings, noRapl],
        before: [kubectl("label", "nodes", ...namesOf(virtual), NO_RAPL_LABEL)],
      };
}

function prometheusPart({ prometheus, groups }: ClusterFacts, distribution: Distribution): PlanPart {
  const isOperated = groups.has("monitoring.coreos.com");
  // OpenShift's own answers only with a token.
  const [server, ...others] = distribution === "openshift" ? [] : (prometheus ?? []);
  const { address, monitorLabels = {} } = server ?? {};
  const more = others.length === 0 ? "" : `, the first of ${others.length + 1}`;
  const texts = [
    ...(address === undefined ? [] : [`${address}${more}`]),
    ...(isOperated ? ["monitoring.enabled lets the Prometheus Operator read Joulie's metrics"] : []),
  ];
  return {
    findings: prometheus === undefined ? [] : [["Prometheus", texts.join("; ") || "none found"]],
    values: {
      ...(address !== undefined && { operator: { env: { PROMETHEUS_ADDRESS: address } } }),
      ...(isOperated && {
        monitoring: { enabled: true, ...(Object.keys(monitorLabels).length > 0 && { labels: { ...monitorLabels } }) },
      }),
    },
  };
}

/** Switches of machines, for the preset that lets nodes sleep. */
function machinesPart({ bareMetalHosts, installed }: ClusterFacts, { preset }: InstallChoices): PlanPart {
  const namespaces = Array.from(new Set(bareMetalHosts)).toSorted();
  const counts = namespaces.map(
    (namespace) =>
      `${countText(bareMetalHosts?.filter((other) => other === namespace).length ?? 0, "host")} in ${namespace}`,
  );
  const sleeps = (preset ?? installed?.preset) === "energy-sleep";
  const sources = namespaces.length === 0 ? ["hosts.csv"] : namespaces.map((namespace) => `--metal3 ${namespace}`);
  const offer = sleeps || counts.length === 0 ? "" : "; they can let nodes sleep: --preset energy-sleep";
  return {
    findings: bareMetalHosts === undefined ? [] : [["Metal3", `${counts.join(", ") || "no hosts"}${offer}`]],
    byHand: sleeps
      ? [
          ...sources.map((source) => ({
            why: "Say how machines are switched; --yes writes it (docs/guides/sleep.md).",
            line: `joulie power import ${source}`,
          })),
          { why: "Prove that each of them wakes.", line: "joulie power test --all" },
        ]
      : [],
  };
}

/** Joulie manages labelled nodes only. A node with the label means that the user chooses nodes. */
function managedPart({ nodes }: ClusterFacts): PlanPart {
  if (nodes === undefined) return {};
  const label = `${joulieLabels.managed}=true`;
  const managed = nodes.filter(({ labels }) => labels[joulieLabels.managed] === "true");
  const chosen = agentNodes(nodes);
  if (managed.length > 0 || chosen.length === 0)
    return { findings: [["managed", `${countText(managed.length, "node")} with the label ${label}`]] };
  const which = chosen.length === nodes.length ? ["--all"] : namesOf(chosen);
  return {
    findings: [["managed", `no node yet: ${countText(chosen.length, "node")} will get the label ${label}`]],
    after: [kubectl("label", "nodes", ...which, label)],
  };
}

/** Both, with the second one's where they differ. */
function merge(first: Values, second: Values): Values {
  const merged: Record<string, Value> = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const before = merged[name];
    merged[name] = isValues(before) && isValues(value) ? merge(before, value) : value;
  }
  return merged;
}

const isValues = (value: Value | undefined): value is Values => typeof value === "object" && !Array.isArray(value);
