import { presetNames, presets } from "../../src/core/presets/index.ts";
import { inSeconds } from "../../src/core/units/index.ts";
import { type ConfigSchema, removedFrom } from "../../src/platform/config/index.ts";
import { maxShutdown } from "../../src/programs/agent/loop/shutdown-times.ts";
import {
  choice,
  duration,
  flag,
  integer,
  intOrPercent,
  list,
  object,
  type Section,
  section,
  stringMap,
  text,
  variables,
} from "./annotated.ts";

export interface ProgramConfigs {
  readonly operator: ConfigSchema;
  readonly agent: ConfigSchema;
  readonly extender: ConfigSchema;
  readonly fleet: ConfigSchema;
  readonly power: ConfigSchema;
  readonly dashboard: ConfigSchema;
}

/** Set by the templates, from other values or from the pod. */
export const reservedVariables: ReadonlySet<string> = new Set([
  "PRESET",
  "POD_NAME",
  "POD_NAMESPACE",
  "NODE_NAME",
  "KUBECONFIG",
  "METRICS_ADDR",
  "AGENT_MODE",
  "SIMULATE_ONLY",
  "STATE_DIR",
  "HOST_SYS_ROOT",
  "HOST_PROC_ROOT",
  "POOL_SHARDS",
  "POOL_SHARD_ID",
  "EXTENDER_ADDR",
  "EXTENDER_TLS_CERT_FILE",
  "EXTENDER_TLS_KEY_FILE",
  "EXTENDER_TLS_CLIENT_CA_FILE",
  "SIMULATOR_ADDR",
  "DASHBOARD_ADDR",
  "HISTORY_FILE",
  "DEBUG_TOKEN_FILE",
  "SLEEP_MODE",
  "REDFISH_ADDRESS",
]);

/** An agent needs this long to stop, and a moment to notice the signal. */
export const shortestGrace = Math.ceil(inSeconds(maxShutdown)) + 3;

const placement = (what: string) => ({
  nodeSelector: stringMap({}, `Labels of the nodes that may run ${what}.`),
  tolerations: list([], `Taints that ${what} tolerates.`),
  affinity: object({}, `Affinity of ${what}; its replicas spread over nodes in any case.`),
  priorityClassName: text("system-cluster-critical", `Priority class of ${what}.`),
});

const extras = (what: string) => ({
  podAnnotations: stringMap({}, `Annotations of the pods of ${what}.`),
  podLabels: stringMap({}, `Labels of the pods of ${what}.`),
  extraVolumes: list([], `Volumes added to the pods of ${what}.`),
  extraVolumeMounts: list([], `Mounts added to the container of ${what}.`),
});

const resources = (cpu: string, memory: string, limit: string) =>
  object(
    { requests: { cpu, memory }, limits: { memory: limit } },
    "Requests and limits, from the benchmarks at 5,000 nodes.",
  );

const presetsText = Object.entries(presets)
  .map(([name, { about }]) => `${name}: ${about.replaceAll("`", "")}`)
  .join(" ");

const kindSchema = {
  type: "object",
  required: ["name", "labels"],
  properties: {
    name: { type: "string", pattern: "^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$" },
    labels: { type: "object", minProperties: 1, additionalProperties: { type: "string" } },
    host: { type: "object" },
    gpu: { type: "object" },
    resources: { type: "object" },
  },
  additionalProperties: false,
};

const NFD = "feature.node.kubernetes.io";
const present = (...devices: readonly string[]) =>
  Object.fromEntries(devices.map((device) => [`${NFD}/pci-${device}.present`, "true"]));

/** Labels of the GPU operators, the device plugins and Node Feature Discovery. PCI classes 03 are displays, 12 accelerators. */
const gpuKinds = [
  {
    name: "nvidia",
    labels: { "nvidia.com/gpu.present": "true", ...present("10de", "0300_10de", "0302_10de") },
    gpu: { nvidia: { enabled: true } },
  },
  {
    name: "drm",
    labels: {
      [`${NFD}/amd-gpu`]: "true",
      "intel.feature.node.kubernetes.io/gpu": "true",
      ...present("1200_1002", "0380_1002", "0300_1002", "0380_8086"),
    },
    host: { drm: true },
  },
];

/** ARM servers and virtual machines have no RAPL. EPYC CPUs take caps through HSMP. */
const hostKinds = [
  {
    name: "no-rapl",
    labels: { "kubernetes.io/arch": "arm64", [`${NFD}/cpu-cpuid.HYPERVISOR`]: "true" },
    host: { powercap: false },
  },
  { name: "amd", labels: { [`${NFD}/cpu-model.vendor_id`]: "AMD" }, host: { hsmp: true } },
];

/** Every value of the chart. `npm run generate` writes values.yaml, values.schema.json and the reference from it. */
export const chartValues = (configs: ProgramConfigs): Section => {
  const env = (program: keyof ProgramConfigs) =>
    variables(
      `Variables of joulie ${program}, as in the configuration reference, for example LOG_LEVEL: debug.`,
      configs[program],
      { reserved: reservedVariables, removed: removedFrom(program) },
    );
  return section("Values of the chart.", {
    nameOverride: text("", "Replaces the chart's name in the names of objects."),
    fullnameOverride: text("", "Replaces the release's and the chart's name in the names of objects."),
    preset: choice("observe", presetNames, `What the installation is for. ${presetsText}`),
    mode: choice(
      "",
      ["", "observe", "enforce"],
      "Overrides the preset. observe: no power cap is set. enforce: agents set power caps; with the preset observe it means partition. Empty = as the preset.",
    ),
    image: section("The container image of all programs.", {
      repository: text(
        "",
        "Repository of the image. Required: no image is published yet, `npm run image` builds one.",
        {
          pattern: "^[A-Za-z0-9._:/@\\[\\]-]*$",
        },
      ),
      tag: text("", "Tag of the image; empty = the chart's appVersion. `latest` is rejected."),
      digest: text("", "Digest of the image instead of a tag.", { pattern: "^(sha256:[0-9a-f]{64})?$" }),
      pullPolicy: choice("IfNotPresent", ["Always", "IfNotPresent", "Never"], "When the kubelet pulls the image."),
      pullSecrets: list([], "Secrets for the registry, each as {name: …}; also for scheduler.image."),
    }),
    commonLabels: stringMap({}, "Labels of all objects."),
    agent: section("The agent, which sets power caps and reports hardware and power.", {
      enabled: flag(true, "Whether agents are installed."),
      mode: choice(
        "daemonset",
        ["daemonset", "pool"],
        "daemonset: one agent per node. pool: few agents control nodes over HTTP.",
      ),
      daemonset: section("Settings of mode daemonset.", {
        nodeSelector: stringMap({ "joulie.io/managed": "true" }, "Labels of the nodes that run an agent."),
        maxUnavailable: intOrPercent(
          "10%",
          "Agents that an update replaces at once: a number, or a percentage, which rounds up. Nodes without a working agent count, sleeping ones too.",
        ),
      }),
      pool: section("Settings of mode pool.", {
        replicas: integer(1, "Number of agents; they share the nodes, and POOL_SHARDS equals it.", 1),
        nodeSelector: stringMap({}, "Labels of the nodes that may run the agents."),
      }),
      tolerations: list(
        [
          { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
          { key: "amd.com/gpu", operator: "Exists", effect: "NoSchedule" },
          // An agent that was updated while its node slept must start before the node is used.
          { key: "joulie.io/asleep", operator: "Exists", effect: "NoSchedule" },
        ],
        "Taints that agents tolerate.",
      ),
      affinity: object({}, "Affinity of agents."),
      priorityClassName: text("system-node-critical", "Priority class of agents."),
      terminationGracePeriodSeconds: integer(
        45,
        `Time to restore the original limits when an agent stops; at least ${shortestGrace}.`,
        1,
      ),
      resources: resources("10m", "100Mi", "192Mi"),
      kinds: section(
        "Kinds of nodes, in mode daemonset. Each kind gets a DaemonSet of its own, which asks for no more than its nodes have. A node is of the first group in each list of which it has a label, and of none otherwise.",
        {
          gpus: list(
            gpuKinds,
            "Groups of nodes by their GPUs: name, labels, and the values of agent that differ there.",
            kindSchema,
          ),
          hosts: list(hostKinds, "Groups of nodes by their host, likewise.", kindSchema),
        },
      ),
      host: section("What an agent sees of its host. Each folder is mounted on its own, outside of /sys.", {
        sysPath: text("/sys", "The host's sysfs. Tests name a copy."),
        powercap: flag(true, "Mount devices/virtual/powercap: RAPL power caps and energy."),
        cpufreq: flag(true, "Mount devices/system/cpu: topology and frequency limits."),
        hsmp: flag(
          false,
          "Mount devices/platform: power caps of AMD EPYC CPUs, with kernel 6.16 or newer. See the guide to hardware.",
        ),
        drm: flag(false, "Mount bus/pci/devices and the folders below: power caps of AMD and Intel GPUs."),
        drmFolders: list(
          ["devices"],
          "Writable folders for GPUs. Where they are differs between machines; devices fits all, but lets an agent write every device's files. Narrower: devices/pci0000:17.",
          { type: "string", pattern: "^devices(/[A-Za-z0-9:._@-]+)*$" },
        ),
        procPath: text("", "The host's procfs; empty = the container's, which has the same cpuinfo."),
        statePath: text(
          "/var/lib/joulie",
          "Host folder in which the original limits are kept until they are restored.",
        ),
      }),
      gpu: section("Access to GPUs.", {
        nvidia: section("NVIDIA GPUs through NVML.", {
          enabled: flag(
            false,
            "Adds the runtime class, NVIDIA_VISIBLE_DEVICES=all and CAP_SYS_ADMIN, which NVML needs for caps; bus/pci/devices and devices, read-only, show which GPUs there are.",
          ),
          runtimeClassName: text("nvidia", "Runtime class that gives the container NVIDIA's libraries; empty = none."),
        }),
      }),
      seLinuxType: text(
        "",
        "SELinux type of agents. Empty = the runtime's, which may not write sysfs, or with openshift.scc container_device_plugin_t.",
      ),
      env: env("agent"),
      ...extras("agents"),
    }),
    operator: section("The operator, which plans profiles and publishes twins.", {
      enabled: flag(true, "Whether the operator is installed."),
      replicas: integer(2, "Replicas; one leads.", 1),
      ...placement("the operator"),
      resources: resources("50m", "256Mi", "512Mi"),
      env: env("operator"),
      ...extras("the operator"),
    }),
    extender: section("The extender, which kube-scheduler asks.", {
      replicas: integer(2, "Replicas; 0 is rejected.", 0),
      ...placement("the extender"),
      resources: resources("100m", "160Mi", "512Mi"),
      minAvailable: integer(
        1,
        "Replicas that a voluntary disruption leaves, in a PodDisruptionBudget; without effect unless there are more.",
        0,
      ),
      service: section("The Service that kube-scheduler asks.", {
        name: text("joulie-scheduler-extender", "Its name."),
        port: integer(9876, "Its port.", 1, 65_535),
      }),
      tls: section("HTTPS for kube-scheduler.", {
        enabled: flag(false, "Serve HTTPS."),
        secretName: text(
          "",
          "Secret with tls.crt and tls.key. It needs ca.crt as well with verifyClients, and with scheduler.enabled.",
        ),
        verifyClients: flag(false, "Only clients with a certificate of ca.crt may ask."),
      }),
      env: env("extender"),
      ...extras("the extender"),
    }),
    sleep: section("Sleeping nodes: idle machines are switched off. Read the guide first.", {
      mode: choice(
        "",
        ["", "off", "recommend", "on"],
        "Overrides the preset. off: no node sleeps. recommend: the operator reports its decisions as Events. on: nodes with joulie.io/may-sleep=true and a proven wake sleep. Other values than off also install the power program. In a values file quote it, because YAML reads on and off as booleans. Empty = as the preset.",
      ),
    }),
    power: section("The power program, which switches sleeping nodes off and on. It reads the Secrets of BMCs.", {
      enabled: flag(
        false,
        "Whether it is installed although no node sleeps yet, to prove wakes. Without it no machine is ever switched. Once installed it stays while there are PowerEndpoints.",
      ),
      replicas: integer(1, "Replicas; one leads.", 1),
      ...placement("the power program"),
      egress: list(
        [],
        "Peers that it may reach, as in a NetworkPolicy: the network of the BMCs. It may also reach DNS, and any address on apiServerPorts. Empty = all.",
      ),
      apiServerPorts: list(
        [443, 6443],
        "Ports of the API server, for egress: of the Service and of the hosts behind it.",
        { type: "integer", minimum: 1, maximum: 65_535 },
      ),
      resources: resources("20m", "100Mi", "256Mi"),
      env: env("power"),
      ...extras("the power program"),
    }),
    dashboard: section("The dashboard: a live page of the cluster, read-only.", {
      enabled: flag(false, "Whether it is installed."),
      historyClaim: text(
        "",
        "PersistentVolumeClaim for the last 24 hours of power and the energy account; empty = they are kept over a restart of the container only.",
      ),
      ...placement("the dashboard"),
      affinity: object({}, "Affinity of the dashboard."),
      priorityClassName: text("", "Priority class of the dashboard."),
      from: list(
        [],
        "Peers that may reach its page, as in a NetworkPolicy. Empty = all; they need a token in any case.",
      ),
      resources: resources("50m", "200Mi", "512Mi"),
      env: env("dashboard"),
      ...extras("the dashboard"),
    }),
    scheduler: section("A second kube-scheduler that asks the extender, where the cluster's own cannot be changed.", {
      enabled: flag(false, "Whether it is installed."),
      name: text("joulie-scheduler", "Its name; pods choose it with spec.schedulerName."),
      image: text("", "Image of kube-scheduler; empty = registry.k8s.io/kube-scheduler of the cluster's version."),
      nodeSelector: stringMap({}, "Labels of the nodes that may run it."),
      tolerations: list([], "Taints that it tolerates."),
      resources: resources("100m", "128Mi", "1Gi"),
    }),
    fleet: section("Simulated nodes, for test clusters only.", {
      enabled: flag(false, "Whether a simulated fleet is installed."),
      nodes: integer(10, "Number of simulated nodes.", 1),
      sleep: flag(false, "Whether they are switched off and on over Redfish, with PowerEndpoints and proven wakes."),
      namespace: text("default", "Namespace of the simulated workload."),
      resources: resources("100m", "256Mi", "512Mi"),
      env: env("fleet"),
    }),
    check: section(
      "After an installation or upgrade, a Job runs `joulie check` and prints in one line what is missing.",
      {
        enabled: flag(true, "Whether the Job runs. It changes nothing."),
        timeout: duration(
          "1m",
          "How long it waits until nothing is missing. Helm needs a --timeout of 4m more, in which a node may pull the image.",
        ),
        strict: flag(
          false,
          "Fail the installation or upgrade if something is missing. Otherwise the Job only reports it.",
        ),
      },
    ),
    crds: section("Helm installs the CustomResourceDefinitions in crds/, but never upgrades them.", {
      upgrade: flag(false, "Before an upgrade, a Job runs `joulie crds apply`. It may change Joulie's CRDs only."),
    }),
    uninstall: section("Before `helm uninstall` a Job restores all original limits and removes what Joulie wrote.", {
      enabled: flag(true, "Whether the Job runs. Without it agents still restore limits when they stop."),
      keepObjects: flag(false, "Keep NodeTwin and NodeHardware objects."),
      timeout: duration(
        "2m",
        "How long agents may take to confirm. Then `helm uninstall` fails, and nothing is removed.",
      ),
      wakeTimeout: duration(
        "35m",
        "How long sleeping nodes may take to wake. While nodes sleep, `helm uninstall` needs a --timeout of this, the other timeout and 3m: by default 40m.",
      ),
    }),
    rbac: section("Access to the Kubernetes API.", {
      create: flag(
        true,
        "Create ServiceAccounts, roles and bindings, with the fewest rights that work. Otherwise create them yourself, under the same names.",
      ),
      serviceAccountAnnotations: stringMap({}, "Annotations of the ServiceAccounts."),
    }),
    admissionPolicies: section("ValidatingAdmissionPolicies.", {
      ownNodeOnly: flag(true, "Reject writes of an agent's token to objects of other nodes. In daemonset mode only."),
      powerEndpoints: flag(
        true,
        "Reject a PowerEndpoint whose author may neither get nor use the Secrets that it names, or may not patch its BareMetalHost. With the power program only.",
      ),
      workloadClass: choice(
        "none",
        ["none", "Warn", "Deny"],
        "What happens to pods with an unknown joulie.io/workload-class.",
      ),
    }),
    networkPolicies: section("NetworkPolicies for incoming connections.", {
      enabled: flag(true, "Allow only the ports that programs serve."),
      metricsFrom: list(
        [],
        "Peers that may read metrics, as in a NetworkPolicy; empty = all. `joulie check` asks through the API server.",
      ),
      schedulerFrom: list(
        [],
        "Peers that may ask the extender; empty = all. kube-scheduler often uses a host's address.",
      ),
    }),
    monitoring: section("Objects of the Prometheus Operator.", {
      enabled: flag(false, "Create PodMonitors and a ServiceMonitor."),
      interval: text("30s", "How often Prometheus reads metrics."),
      labels: stringMap({}, "Labels by which Prometheus finds the objects."),
      rules: flag(false, "Create a PrometheusRule with alerts. Prometheus has to read the metrics: see enabled."),
      grafana: flag(
        false,
        "Create a ConfigMap with the Grafana dashboard, labelled grafana_dashboard for its sidecar.",
      ),
    }),
    openshift: section("OpenShift.", {
      scc: flag(
        false,
        "Create a SecurityContextConstraints object for agents. The other programs fit restricted-v2: OpenShift chooses their user and groups.",
      ),
    }),
  });
};
