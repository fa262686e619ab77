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

export interface Values {
  readonly [name: string]: string | boolean | Values;
}

export interface ToolCommand {
  readonly tool: "kubectl" | "helm";
  readonly args: readonly string[];
  /** Standard input. */
  readonly input?: Values;
}

export interface InstallPlan {
  /** What was found, and what follows from it. */
  readonly findings: readonly (readonly [about: string, text: string])[];
  /** Only what differs from the chart's defaults. */
  readonly values: Values;
  readonly commands: readonly ToolCommand[];
  /** What no command of a client can do. */
  readonly byHand: readonly Step[];
  /** Why the commands cannot work. */
  readonly problem?: string | undefined;
}
interface Step {
  readonly why: string;
  /** For a shell. */
  readonly line: string;
}

export function planInstallation(facts: ClusterFacts, kinds: NodeKinds, choices: InstallChoices): InstallPlan {
  const distribution = distributionOf(facts);
  const parts = [
    installedPart(facts, choices),
    clusterPart(facts, distribution),
    schedulerPart(facts, distribution, choices),
    podSecurityPart(facts, distribution, choices),
    gpuPart(facts, kinds),
    hostPart(facts, kinds),
    prometheusPart(facts, distribution),
    machinesPart(facts, choices),
    managedPart(facts),
  ];
  const ofParts = <Item>(pick: (part: PlanPart) => readonly Item[] | undefined) =>
    parts.flatMap((part) => pick(part) ?? []);
  const unread = facts.unread.length === 0 ? undefined : `you may not read ${facts.unread.join(", ")}`;
  const isUpgrade = facts.installed?.release !== undefined;
  const found = parts.map((part) => part.values ?? {});
  // An upgrade keeps the values of the release: an administrator may have chosen others.
  const values = isUpgrade ? (found[0] ?? {}) : found.reduce(merge, {});
  return {
    findings: [
      ...ofParts(({ findings }) => findings),
      ...(unread === undefined ? [] : [["not known", `${unread}; what depends on it is missing below`] as const]),
    ],
    values,
    commands: [
      ...ofParts(({ before }) => before),
      helmCommand(facts, choices, values),
      ...ofParts(({ after }) => after),
    ].map((command) => onThisCluster(command, choices)),
    byHand: [...ofParts(({ byHand }) => byHand), { why: "Look at the result.", line: "joulie status" }],
    problem:
      facts.installed?.release === undefined && facts.installed
        ? `Joulie is in ${choices.namespace} already, but Helm did not install it: upgrade it as it was installed`
        : unread && `${unread}: an administrator of the cluster has to install Joulie`,
  };
}

interface PlanPart {
  readonly findings?: readonly (readonly [about: string, text: string])[];
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
function installedPart({ installed }: ClusterFacts, { namespace, preset, image }: InstallChoices): PlanPart {
  const release = installed?.release;
  const chosen = preset ?? (release === undefined ? "observe" : (installed?.preset ?? "its own"));
  const imageFrom = image === undefined ? "that of the release; --image names another" : imageText(image);
  return {
    findings: [
      [
        "installed",
        release === undefined ? "no" : `release ${release} in ${namespace}: it is upgraded and keeps its values`,
      ],
      ["preset", chosen],
      ["image", imageFrom],
    ],
    values: {
      ...(preset !== undefined && (preset !== "observe" || release !== undefined) && { preset }),
      ...(image !== undefined && { image: { ...image } }),
      // Helm does not upgrade them by itself.
      ...(release !== undefined && { crds: { upgrade: true } }),
    },
  };
}

const countText = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;
const areOrIs = (count: number): string => (count === 1 ? "is" : "are");

const isControlPlane = ({ labels }: NodeFacts): boolean => hasControlPlaneRole(labels);

function clusterPart({ version, nodes }: ClusterFacts, distribution: Distribution): PlanPart {
  const counted =
    nodes === undefined
      ? []
      : [countText(nodes.length, "node"), `${nodes.filter(isControlPlane).length} of the control plane`];
  return { findings: [["cluster", [`${distributions[distribution].name} ${version}`, ...counted].join(", ")]] };
}

/** Asks kube-scheduler, or a second one where the first cannot be configured. */
function schedulerPart(facts: ClusterFacts, distribution: Distribution, choices: InstallChoices): PlanPart {
  const { isManaged, scheduler } = distributions[distribution];
  const { nodes, installed } = facts;
  if (nodes === undefined && !isManaged) return {};
  if (isManaged || !nodes?.some(isControlPlane)) {
    const why = isManaged ? "cannot be configured here" : "is on no node of this cluster";
    return {
      findings: [["kube-scheduler", `${why}: a second one runs, and pods name it: schedulerName: joulie-scheduler`]],
      values: { scheduler: { enabled: true } },
    };
  }
  const { namespace } = choices;
  const preset = choices.preset ?? installed?.preset ?? "observe";
  const address = `"$(kubectl --namespace ${namespace} get service joulie-scheduler-extender --output jsonpath={.spec.clusterIP})"`;
  const client = scheduler === undefined ? "" : ` --client-kubeconfig ${scheduler.kubeconfig}`;
  return {
    findings: [["kube-scheduler", "can ask Joulie: see By hand"]],
    byHand: [
      {
        why: `Let kube-scheduler ask Joulie: ${scheduler?.step ?? "give it this file with its flag --config"} (docs/guides/scheduler.md).`,
        line: `joulie scheduler-config --preset ${preset} --namespace ${namespace}${client} --host ${address} > joulie-scheduler.yaml`,
      },
    ],
  };
}

const ENFORCE = "pod-security.kubernetes.io/enforce";

/** What the namespace needs before pods of agents are admitted. */
function podSecurityPart(facts: ClusterFacts, distribution: Distribution, { namespace }: InstallChoices): PlanPart {
  const { namespaceLabels, groups } = facts;
  const isOpenShift = groups.has("security.openshift.io");
  const level = namespaceLabels?.[ENFORCE];
  const state = namespaceLabels === null ? "is created, with" : level === undefined ? "gets" : `has ${level} and gets`;
  return {
    findings: [
      ...(namespaceLabels === undefined
        ? []
        : [
            [
              "Pod Security",
              `${namespace} ${level === "privileged" ? "has" : state} the level privileged: agents mount folders of the host`,
            ] as const,
          ]),
      ...(isOpenShift
        ? [["OpenShift", "agents get a SecurityContextConstraints object (openshift.scc)"] as const]
        : []),
      ...(distribution === "gke"
        ? [["GKE", "a ResourceQuota admits the priority classes of Joulie's pods"] as const]
        : []),
    ],
    values: isOpenShift ? { openshift: { scc: true } } : {},
    before: [
      ...(namespaceLabels === null ? [kubectl("create", "namespace", namespace)] : []),
      ...(level === "privileged"
        ? []
        : [kubectl("label", "namespace", namespace, `${ENFORCE}=privileged`, "--overwrite")]),
      ...(distribution === "gke"
        ? [{ tool: "kubectl", args: ["apply", "--filename", "-"], input: criticalPodsQuota(namespace) } as const]
        : []),
    ],
    byHand: isOpenShift
      ? [
          {
            why: "Label the state folder on each node, as root or by a MachineConfig (docs/guides/install.md, SELinux).",
            line: "semanage fcontext -a -t container_file_t '/var/lib/joulie(/.*)?' && restorecon -R /var/lib/joulie",
          },
        ]
      : [],
  };
}

/** GKE rejects these priority classes outside of kube-system without it. */
const criticalPodsQuota = (namespace: string) =>
  ({
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "joulie-critical-pods", namespace },
    spec: {
      hard: { pods: "10000" },
      scopeSelector: {
        matchExpressions: [
          {
            scopeName: "PriorityClass",
            operator: "In",
            values: ["system-node-critical", "system-cluster-critical"],
          },
        ],
      },
    },
  }) as unknown as Values;

const hasOneOf = (node: NodeFacts, wanted: Labels): boolean =>
  Object.entries(wanted).some(([name, value]) => node.labels[name] === value);
const kindOf = (node: NodeFacts, kinds: readonly NodeKind[]): string | undefined =>
  kinds.find(({ labels }) => hasOneOf(node, labels))?.name;
const namesOf = (nodes: readonly NodeFacts[]): string[] => nodes.map(({ name }) => name);

/** GPUs that a device plugin offers, and the label that says so to the chart. */
const GPU_RESOURCES = [
  { resource: /^nvidia\.com\/(gpu|mig-)/, label: "nvidia.com/gpu.present=true" },
  { resource: /^amd\.com\/gpu/, label: "feature.node.kubernetes.io/amd-gpu=true" },
  { resource: /^gpu\.intel\.com\//, label: "intel.feature.node.kubernetes.io/gpu=true" },
] as const;
const NVIDIA = "nvidia";

function gpuPart({ nodes, groups, runtimeClasses }: ClusterFacts, kinds: NodeKinds): PlanPart {
  if (nodes === undefined) return {};
  const unlabelled = GPU_RESOURCES.map(({ resource, label }) => ({
    label,
    nodes: nodes.filter(
      (node) => node.resources.some((name) => resource.test(name)) && kindOf(node, kinds.gpus) === undefined,
    ),
  })).filter((group) => group.nodes.length > 0);
  const [nvidiaLabel] = GPU_RESOURCES;
  const nvidia =
    nodes.filter((node) => kindOf(node, kinds.gpus) === NVIDIA).length +
    (unlabelled.find(({ label }) => label === nvidiaLabel.label)?.nodes.length ?? 0);
  const others =
    nodes.filter((node) => ![undefined, NVIDIA].includes(kindOf(node, kinds.gpus))).length +
    unlabelled.filter(({ label }) => label !== nvidiaLabel.label).flatMap((group) => group.nodes).length;
  const lacksClass = nvidia > 0 && runtimeClasses?.includes("nvidia") === false;
  const counts = [
    ...(nvidia > 0 ? [`NVIDIA on ${countText(nvidia, "node")}`] : []),
    ...(others > 0 ? [`AMD or Intel on ${countText(others, "node")}`] : []),
  ];
  const notes = [
    ...(groups.has("nvidia.com") ? ["NVIDIA's GPU operator"] : []),
    ...(lacksClass ? ["no RuntimeClass nvidia, so the default runtime has to be NVIDIA's"] : []),
    ...unlabelled.map((group) => `${group.nodes.length} without a label, which a command below sets`),
  ];
  const seen = counts.length === 0 ? "no node offers or is labelled with one" : counts.join(", ");
  return {
    findings: [["GPUs", [seen, ...notes].join("; ")]],
    values: lacksClass ? { agent: { gpu: { nvidia: { runtimeClassName: "" } } } } : {},
    before: unlabelled.map((group) => kubectl("label", "nodes", ...namesOf(group.nodes), group.label)),
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
  const unlabelled = nodes.filter((node) => kindOf(node, kinds.hosts) === undefined);
  const virtual = unlabelled.filter(isVirtual);
  const unknown = unlabelled.filter(
    (node) => !isVirtual(node) && !Object.keys(node.labels).some((name) => name.startsWith(NFD_PREFIX)),
  );
  const isAllVirtual = nodes.length > 0 && nodes.every(isVirtual);
  const installed = groups.has("nfd.k8s-sigs.io") ? "is installed" : "is not installed";
  const findings: (readonly [string, string])[] = [
    [
      "node features",
      unknown.length === 0
        ? "every node's kind is known"
        : `Node Feature Discovery ${installed}, and ${countText(unknown.length, "node")} ${areOrIs(unknown.length)} without its labels: label AMD EPYC CPUs and machines without RAPL as docs/guides/install.md says under Mixed clusters`,
    ],
  ];
  if (virtual.length > 0)
    findings.push(["no RAPL", `${countText(virtual.length, "node")} ${areOrIs(virtual.length)} virtual: no CPU caps`]);
  return {
    findings,
    values: virtual.length > 0 && isAllVirtual ? { agent: { host: { powercap: false } } } : {},
    before: virtual.length > 0 && !isAllVirtual ? [kubectl("label", "nodes", ...namesOf(virtual), NO_RAPL_LABEL)] : [],
  };
}

function prometheusPart({ prometheus, groups }: ClusterFacts, distribution: Distribution): PlanPart {
  const isOperated = groups.has("monitoring.coreos.com");
  // OpenShift's own answers only with a token.
  const [server, ...others] = (distribution === "openshift" ? [] : (prometheus ?? [])).toSorted(byAddress);
  const { address, monitorLabels = {} } = server ?? {};
  const more = others.length === 0 ? "" : `, the first of ${others.length + 1}`;
  const texts = [
    ...(address === undefined ? [] : [`${address}${more}`]),
    ...(isOperated ? ["the Prometheus Operator reads Joulie's metrics (monitoring.enabled)"] : []),
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

const byAddress = (a: { readonly address: string }, b: { readonly address: string }): number =>
  a.address < b.address ? -1 : 1;

/** Switches of machines, for the preset that lets nodes sleep. */
function machinesPart({ bareMetalHosts, installed }: ClusterFacts, { preset }: InstallChoices): PlanPart {
  const namespaces = Array.from(new Set(bareMetalHosts)).toSorted();
  const counts = namespaces.map(
    (namespace) => `${bareMetalHosts?.filter((other) => other === namespace).length ?? 0} hosts in ${namespace}`,
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
  const workers = nodes.filter((node) => !isControlPlane(node));
  const chosen = workers.length > 0 ? workers : nodes.filter(({ hasNoScheduleTaint }) => !hasNoScheduleTaint);
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
  const merged: Record<string, string | boolean | Values> = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const before = merged[name];
    merged[name] = typeof before === "object" && typeof value === "object" ? merge(before, value) : value;
  }
  return merged;
}
