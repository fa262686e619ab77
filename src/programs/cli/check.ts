import { type Command, InvalidArgumentError, Option } from "commander";
import { labels } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { type InstalledProgram, programPermissions } from "../permissions.ts";
import { kubeconfigOption, onCluster, serverTimeOf, timeoutOption } from "./cluster-command.ts";
import type { CliEnvironment, CommandTools } from "./command-tools.ts";

interface Options {
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

const HELP = `
Looks for CRDs, the permissions of each program, an extender that answers, and current reports of operator
and agents about every labelled node. It waits for them, prints one line and changes nothing. The chart runs
it after it was installed or upgraded. Exits with 1 if something is missing.`;

/** `joulie check`. */
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
    .addHelpText("after", HELP)
    .action(async (options: Options) => exit(await run(options, world)));
}

async function run({ kubeconfig, reportOnly, ...options }: Options, world: CliEnvironment): Promise<number> {
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
