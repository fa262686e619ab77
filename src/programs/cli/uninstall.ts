import { type Command, InvalidArgumentError, Option } from "commander";
import { fieldManagers, JoulieError, labels } from "../../core/api/index.ts";
import { type Milliseconds, parseDuration } from "../../core/units/index.ts";
import { type CliEnvironment, exitCodes } from "./environment.ts";

interface Options {
  readonly namespace: string;
  readonly keepObjects: boolean;
  readonly timeout: Milliseconds;
  readonly wakeTimeout: Milliseconds;
  readonly labels: string;
  readonly kubeconfig?: string;
  readonly clearStop?: string;
}

const HELP = `
Sets the annotation joulie.io/stop on the namespace, waits until every sleeping node is awake and every agent
reports that the original limits are restored, and removes the operator's node labels and objects. The chart
runs it before it is uninstalled. If a node or an agent does not follow, it removes nothing and exits with 1.`;

/** `joulie uninstall`. */
export function defineUninstall(command: Command, world: CliEnvironment, exit: (code: number) => void): void {
  const defaultLabels = [labels.powerProfile, labels.draining].join(",");
  command
    .description("Restores all original limits and removes what Joulie wrote to the cluster.")
    .addOption(new Option("--namespace <name>", "namespace of the installation").default("joulie-system"))
    .addOption(new Option("--keep-objects", "keep NodeTwin and NodeHardware objects").default(false))
    .addOption(
      new Option("--timeout <duration>", "how long agents may take to confirm")
        .argParser(durationOf)
        .default(durationOf("2m"), "2m"),
    )
    .addOption(
      new Option("--wake-timeout <duration>", "how long sleeping nodes may take to wake")
        .argParser(durationOf)
        .default(durationOf("35m"), "35m"),
    )
    .addOption(new Option("--labels <keys>", "the operator's node labels, with commas").default(defaultLabels))
    .addOption(new Option("--kubeconfig <file>", "how to reach the cluster; in a pod its service account"))
    .addOption(new Option("--clear-stop <selector>", "only remove the annotation, once no pod with these labels runs"))
    .addHelpText("after", HELP)
    .action(async (options: Options) => exit(await run(options, world)));
}

async function run(options: Options, world: CliEnvironment): Promise<number> {
  const { HttpTransport, KubeClient, loadIdentity } = await import("../../platform/kube/index.ts");
  const { systemClock: clock } = await import("../../platform/clock/index.ts");
  const { systemRandom: random } = await import("../../platform/random/index.ts");
  const { clearStop, uninstall } = await import("../uninstall/index.ts");
  const { namespace, keepObjects, timeout, wakeTimeout, clearStop: selector } = options;
  try {
    const kubeconfig = options.kubeconfig ?? world.env["KUBECONFIG"];
    const identity = await loadIdentity({ clock, kubeconfig, environment: world.env });
    const transport = new HttpTransport({ identity });
    try {
      const client = new KubeClient({ transport, clock, random, fieldManager: fieldManagers.operator });
      const base = { client, clock, namespace, timeout };
      const problem =
        selector === undefined
          ? await uninstall({ ...base, wakeTimeout, keepObjects, labels: options.labels.split(",") })
          : await clearStop({ ...base, selector });
      if (problem === undefined) return exitCodes.done;
      world.err(`joulie uninstall: ${problem}\n`);
    } finally {
      await transport.close();
    }
  } catch (error) {
    world.err(`joulie uninstall: ${error instanceof Error ? error.message : String(error)}\n`);
    if (error instanceof JoulieError) return exitCodes.misused;
  }
  return exitCodes.failed;
}

function durationOf(text: string): Milliseconds {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError("It is not a duration such as 30s or 2m.");
  return parsed.value;
}
