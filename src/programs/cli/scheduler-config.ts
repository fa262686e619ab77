import { type Command, Option } from "commander";
import { DEFAULT_PRESET, type PresetName, presetNames, presetVariables } from "../../core/presets/index.ts";
import type { CommandTools } from "./cluster-command.ts";

export interface SchedulerConfigOptions {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
  readonly schedulerName: string;
  readonly tls: boolean;
  /** Name or address of the Service, if kube-scheduler's host cannot resolve names of the cluster. */
  readonly host?: string;
  /** Files on kube-scheduler's host; only with HTTPS. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** kube-scheduler's own, on its host. */
  readonly clientKubeconfig?: string;
  readonly wholeNodes: boolean;
  readonly energy?: boolean;
}

const HELP = `
The answer goes into a file that kube-scheduler reads with its flag for a configuration.
Pods name a second scheduler in spec.schedulerName.`;

export function defineSchedulerConfig(command: Command, { world }: CommandTools): void {
  command
    .addOption(new Option("--namespace <name>", "namespace of the extender's Service").default("joulie-system"))
    .addOption(new Option("--service <name>", "name of the Service").default("joulie-scheduler-extender"))
    .addOption(new Option("--port <number>", "port of the Service").default("9876"))
    .addOption(new Option("--scheduler-name <name>", "name of the scheduler's profile").default("default-scheduler"))
    .addOption(new Option("--host <address>", "cluster IP of the Service, where its name cannot be resolved"))
    .addOption(new Option("--tls", "the Service speaks HTTPS").default(false))
    .addOption(new Option("--ca-file <file>", "certificate authority of the Service, for --tls").implies({ tls: true }))
    .addOption(new Option("--cert-file <file>", "kube-scheduler's certificate, for --tls").implies({ tls: true }))
    .addOption(new Option("--key-file <file>", "kube-scheduler's key, for --tls").implies({ tls: true }))
    .addOption(new Option("--client-kubeconfig <file>", "kube-scheduler's kubeconfig, which it then takes from here"))
    .addOption(new Option("--whole-nodes", "send whole Nodes instead of names, which is slower").default(false))
    .addOption(new Option("--preset <name>", "preset of the installation").choices(presetNames).default(DEFAULT_PRESET))
    .addOption(new Option("--energy", "for an extender with SCORING=energy, whatever the preset: its score decides"))
    .addHelpText("after", HELP)
    .action(({ preset, energy = scoringOf(preset) === "energy", ...options }: SchedulerConfigFlags) =>
      world.out(schedulerConfigText({ ...options, energy })),
    );
}

interface SchedulerConfigFlags extends SchedulerConfigOptions {
  readonly preset: PresetName;
}

const scoringOf = (preset: PresetName): string | undefined => presetVariables(preset, "extender")["SCORING"];

/** With fit_aware_v1 few nodes are performance, and kube-scheduler's sample of a large cluster can miss all of them. */
const ALL_NODES = "percentageOfNodesToScore: 100\n";

/** kube-scheduler's own plugins break ties towards full nodes instead of working against the score. */
const ENERGY_PROFILE = `    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources:
              - name: cpu
                weight: 1
              - name: memory
                weight: 1
    plugins:
      score:
        disabled:
          - name: NodeResourcesBalancedAllocation
`;

export function schedulerConfigText(options: SchedulerConfigOptions): string {
  const { host = `${options.service}.${options.namespace}.svc.cluster.local`, caFile, certFile, keyFile } = options;
  const address = `${host.includes(":") ? `[${host}]` : host}:${options.port}`;
  const files = Object.entries({ caFile, certFile, keyFile }).filter(([, file]) => file !== undefined);
  // The certificate names the Service: neither its address nor the domain of the cluster.
  const serverName = options.tls ? [["serverName", `${options.service}.${options.namespace}.svc`]] : [];
  const tls = [...serverName, ...files].map(([name, value]) => `\n      ${name}: ${JSON.stringify(value)}`).join("");
  return `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
${options.clientKubeconfig === undefined ? "" : `clientConnection:\n  kubeconfig: ${JSON.stringify(options.clientKubeconfig)}\n`}${options.energy ? ALL_NODES : ""}profiles:
  - schedulerName: ${options.schedulerName}
${options.energy ? ENERGY_PROFILE : ""}extenders:
  - urlPrefix: "${options.tls ? "https" : "http"}://${address}"
    filterVerb: "filter"
    prioritizeVerb: "prioritize"
    weight: ${options.energy ? 10 : 1}
    enableHTTPS: ${options.tls}${tls && `\n    tlsConfig:${tls}`}
    # The extender watches Nodes itself, so names are enough.
    nodeCacheCapable: ${!options.wholeNodes}
    # Without an answer kube-scheduler places pods as if Joulie were not there.
    ignorable: true
`;
}
