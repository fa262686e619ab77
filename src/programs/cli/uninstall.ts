import { type Command, Option } from "commander";
import { fieldManagers, labels } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { kubeconfigOption, namespaceOption, onCluster, timeoutOption } from "./cluster-command.ts";
import type { CliEnvironment, CommandTools } from "./command-tools.ts";

interface Options {
  readonly namespace: string;
  readonly keepObjects: boolean;
  readonly timeout: Milliseconds;
  readonly wakeTimeout: Milliseconds;
  readonly labels: string;
  readonly kubeconfig?: string;
  readonly clearStop?: string;
  readonly lease: string;
  readonly powerLease: string;
  readonly fleet?: string;
  readonly fleetPods: string;
}

/** It makes four calls for each of thousands of nodes. */
const CALLS = 500;

const HELP = `
Sets the annotation joulie.io/stop on the namespace, waits until every sleeping node is awake and every agent
reports that the original limits are restored, and removes the operator's node labels and objects. The chart
runs it before it is uninstalled. If a node or an agent does not follow, it removes nothing and exits with 1.`;

/** `joulie uninstall`. */
export function defineUninstall(command: Command, { world, exit }: CommandTools): void {
  const defaultLabels = [labels.powerProfile, labels.draining].join(",");
  command
    .addOption(namespaceOption())
    .addOption(new Option("--keep-objects", "keep NodeTwin and NodeHardware objects").default(false))
    .addOption(timeoutOption("how long agents may take to confirm", "2m"))
    .addOption(timeoutOption("how long sleeping nodes may take to wake", "35m", "--wake-timeout"))
    .addOption(new Option("--labels <keys>", "the operator's node labels, with commas").default(defaultLabels))
    .addOption(kubeconfigOption())
    .addOption(
      new Option("--clear-stop <selector>", "only remove annotation and Leases, once no pod with these labels runs"),
    )
    .addOption(new Option("--lease <name>", "the operator's Lease, for --clear-stop").default("joulie-operator"))
    .addOption(
      new Option("--power-lease <name>", "the power program's Lease, for --clear-stop").default("joulie-power"),
    )
    .addOption(new Option("--fleet <deployment>", "the simulated fleet, which deletes its nodes as it stops"))
    .addOption(
      new Option("--fleet-pods <selector>", "labels of its pods, for --fleet").default(
        "app.kubernetes.io/component=fleet",
      ),
    )
    .addHelpText("after", HELP)
    .action(async (options: Options) => exit(await run(options, world)));
}

async function run(options: Options, world: CliEnvironment): Promise<number> {
  const { namespace, keepObjects, timeout, kubeconfig, clearStop: selector, fleet: name, fleetPods } = options;
  const { clearStop, uninstall } = await import("../uninstall/index.ts");
  const command = { name: "uninstall", fieldManager: fieldManagers.operator, kubeconfig, callsPerSecond: CALLS };
  return onCluster(command, world, async ({ client, clock }) => {
    const base = { client, clock, namespace, timeout };
    const fleet = name === undefined ? {} : { fleet: { name, podSelector: fleetPods } };
    return selector === undefined
      ? uninstall({
          ...base,
          ...fleet,
          wakeTimeout: options.wakeTimeout,
          keepObjects,
          labels: options.labels.split(","),
        })
      : clearStop({ ...base, selector, leases: [options.lease, options.powerLease] });
  });
}
