import type { Command } from "commander";
import { Option } from "commander";
import type { CliEnvironment } from "./environment.ts";

export interface SchedulerConfigOptions {
  readonly namespace: string;
  readonly service: string;
  readonly port: string;
  /** Instead of the Service's DNS name, which the host of kube-scheduler may not resolve. */
  readonly address?: string;
  readonly schedulerName: string;
  readonly tls: boolean;
  readonly wholeNodes: boolean;
}

const HELP = `
The answer goes into a file that kube-scheduler reads with its flag for a configuration.
Pods name a second scheduler in spec.schedulerName.`;

/** `joulie scheduler-config`. */
export function defineSchedulerConfig(command: Command, world: CliEnvironment): void {
  command
    .description("Prints the KubeSchedulerConfiguration that makes kube-scheduler ask the installed extender.")
    .addOption(new Option("--namespace <name>", "namespace of the extender's Service").default("joulie-system"))
    .addOption(new Option("--service <name>", "name of the Service").default("joulie-scheduler-extender"))
    .addOption(new Option("--port <number>", "port of the Service").default("9876"))
    .addOption(new Option("--address <ip>", "the Service's cluster IP, where kube-scheduler cannot resolve its name"))
    .addOption(new Option("--scheduler-name <name>", "name of the scheduler's profile").default("default-scheduler"))
    .addOption(new Option("--tls", "the Service speaks HTTPS").default(false))
    .addOption(new Option("--whole-nodes", "send whole Nodes instead of names, which is slower").default(false))
    .addHelpText("after", HELP)
    .action((options: SchedulerConfigOptions) => world.out(schedulerConfigText(options)));
}

/** The configuration as YAML. */
export function schedulerConfigText(options: SchedulerConfigOptions): string {
  const scheme = options.tls ? "https" : "http";
  const { address } = options;
  const host =
    address === undefined
      ? `${options.service}.${options.namespace}.svc.cluster.local`
      : address.includes(":")
        ? `[${address}]`
        : address;
  return `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: ${options.schedulerName}
extenders:
  - urlPrefix: "${scheme}://${host}:${options.port}"
    filterVerb: "filter"
    prioritizeVerb: "prioritize"
    weight: 1
    enableHTTPS: ${options.tls}
    # The extender watches Nodes itself, so names are enough.
    nodeCacheCapable: ${!options.wholeNodes}
    # Without an answer kube-scheduler places pods as if Joulie were not there.
    ignorable: true
`;
}
