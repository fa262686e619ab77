import { type Command, InvalidArgumentError, Option } from "commander";
import { fieldManagers, labels } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { type InstalledProgram, programPermissions } from "../permissions.ts";
import {
  type CliEnvironment,
  type CommandTools,
  contextOption,
  kubeconfigOption,
  namespaceOption,
  onCluster,
  serverTimeOf,
  timeoutOption,
} from "./cluster-command.ts";

interface UninstallOptions {
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

const UNINSTALL_HELP = `
Sets the annotation joulie.io/stop on the namespace, waits until every sleeping node is awake and every agent
reports that the original limits are restored, and removes the operator's node labels and objects. The chart
runs it before it is uninstalled. If a node or an agent does not follow, it removes nothing and exits with 1.`;

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
    .addHelpText("after", UNINSTALL_HELP)
    .action(async (options: UninstallOptions) => exit(await runUninstall(options, world)));
}

async function runUninstall(options: UninstallOptions, world: CliEnvironment): Promise<number> {
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

const CRDS_HELP = `
Helm installs the CustomResourceDefinitions of a chart, but never upgrades them. This applies those of this
version by server-side apply. Existing objects stay. The chart runs it before an upgrade with crds.upgrade=true.`;

export function defineCrds(command: Command, { prepare, world, exit }: CommandTools): void {
  prepare(command.command("apply").helpCommand(false), "joulie crds apply")
    .description("Applies the CustomResourceDefinitions of this version.")
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", CRDS_HELP)
    .action(async (options: ApplyOptions) => exit(await apply(options, world)));
}

interface ApplyOptions {
  readonly context?: string;
  readonly kubeconfig?: string;
}

async function apply({ context, kubeconfig }: ApplyOptions, world: CliEnvironment): Promise<number> {
  const { applyCrds } = await import("../crds/index.ts");
  const command = { name: "crds apply", fieldManager: "joulie-crds", kubeconfig, context };
  return onCluster(command, world, async ({ client }) => {
    world.out(`joulie crds apply: applied ${(await applyCrds(client)).join(", ")}\n`);
    return undefined;
  });
}

interface CheckOptions {
  readonly namespace?: string;
  readonly name: string;
  readonly programs: readonly InstalledProgram[];
  readonly service: string;
  readonly nodeSelector: string;
  readonly timeout: Milliseconds;
  readonly reportOnly: boolean;
  readonly kubeconfig?: string;
}

/** Jobs of Helm are gone when it ends, and the rights of a fleet depend on the namespace of its workload. */
const unchecked: ReadonlySet<InstalledProgram> = new Set([
  "check",
  "crds",
  "uninstall",
  "uninstall-fleet",
  "fleet",
  "fleet-sleep",
]);
const checkedPrograms = (Object.keys(programPermissions) as InstalledProgram[]).filter(
  (program) => !unchecked.has(program),
);

const CHECK_HELP = `
Looks for CRDs, the permissions of each program, an extender that answers, and current reports of operator
and agents about every labelled node. It waits for them, prints one line and changes nothing. The chart runs
it after it was installed or upgraded. Exits with 1 if something is missing.`;

export function defineCheck(command: Command, { world, exit }: CommandTools): void {
  command
    .addOption(new Option("--namespace <name>", "namespace of the installation; found if not given"))
    .addOption(new Option("--name <name>", "the chart's name for its objects").default("joulie"))
    .addOption(
      new Option("--programs <names>", "installed programs, with commas")
        .argParser(programsOf)
        .default(programsOf("agent,operator,extender"), "agent,operator,extender"),
    )
    .addOption(new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender"))
    .addOption(new Option("--node-selector <labels>", "labels of managed nodes").default(`${labels.managed}=true`))
    .addOption(timeoutOption("how long to wait until nothing is missing", "1m"))
    .addOption(new Option("--report-only", "exit with 0 even if something is missing").default(false))
    .addOption(kubeconfigOption())
    .addHelpText("after", CHECK_HELP)
    .action(async (options: CheckOptions) => exit(await runCheck(options, world)));
}

async function runCheck({ kubeconfig, reportOnly, ...options }: CheckOptions, world: CliEnvironment): Promise<number> {
  const { check, summarize } = await import("../check/index.ts");
  const { announcedUrl, installationNamespace } = await import("../console/index.ts");
  const { plainReason } = await import("../../platform/kube/index.ts");
  const command = { name: "check", fieldManager: "joulie-check", kubeconfig };
  return onCluster(command, world, async (cluster) => {
    try {
      const [namespace, { clock }] = await Promise.all([
        installationNamespace(cluster.client, options.namespace),
        serverTimeOf(cluster),
      ]);
      const extenderUrl = await announcedUrl(cluster.client, namespace, "extender");
      const result = await check({ ...cluster, ...options, clock, namespace, extenderUrl });
      const line = summarize(result, options);
      if (result.missing.length > 0 && !reportOnly) return line;
      world.out(`joulie check: ${line}\n`);
      return undefined;
    } catch (error) {
      return plainReason(error);
    }
  });
}

function programsOf(text: string): InstalledProgram[] {
  return text.split(",").map((name) => {
    const known = checkedPrograms.find((program) => program === name);
    if (known === undefined) throw new InvalidArgumentError(`Programs are ${checkedPrograms.join(", ")}.`);
    return known;
  });
}
