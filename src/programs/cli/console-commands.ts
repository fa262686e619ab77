import { type Command, Option } from "commander";
import type * as consoleFunctions from "../console/index.ts";
import type { ConsoleContext, OutputFormat, Printable } from "../console/index.ts";
import { onCluster } from "./cluster-command.ts";
import {
  type ClusterOptions,
  clusterOptions,
  headersOption,
  outputOption,
  type PrintOptions,
  selectorOption,
  sortOption,
  type WatchOptions,
  watchOption,
} from "./console-options.ts";
import type { CliEnvironment } from "./environment.ts";

type Exit = (code: number) => void;
export type Add = (name: string, define: (command: Command, world: CliEnvironment) => void) => void;
type Console = typeof consoleFunctions;

/** Runs a command of the console on a cluster. `work` returns what failed. */
export async function inConsole(
  name: string,
  { kubeconfig, context }: Omit<ClusterOptions, "namespace">,
  world: CliEnvironment,
  work: (context: ConsoleContext, console: Console) => Promise<string | undefined>,
): Promise<number> {
  const command = { name, fieldManager: "joulie-cli", kubeconfig, context };
  return onCluster(command, world, async (cluster) => {
    const console = await import("../console/index.ts");
    const screen = console.screenOf({
      isTerminal: world.machine.isTerminal,
      columns: world.columns,
      env: world.env,
    });
    return work({ ...cluster, out: world.out, screen }, console);
  });
}

/** Prints once, or with --watch until Ctrl-C. */
async function print(
  { client, clock, out, screen, transport }: ConsoleContext,
  console: Console,
  options: Pick<PrintOptions, "output"> & { readonly watch?: boolean },
  make: (context: ConsoleContext) => Promise<Printable>,
): Promise<undefined> {
  const format: OutputFormat = console.outputFormatOf(options.output);
  const context = { client, clock, out, screen, transport };
  const text = async () => console.rendered(format, await make(context));
  if (options.watch !== true) out(await text());
  else await console.watchText(context, text, console.untilInterrupted());
  return undefined;
}

/** The commands that only read. */
export function addReadingCommands(add: Add, exit: Exit): void {
  add("status", (command, world) => {
    clusterOptions(command)
      .description("Shows problems first, each with the command that helps, then power, nodes and pods.")
      .addOption(outputOption())
      .addOption(watchOption())
      .action(async (options: WatchOptions) =>
        exit(
          await inConsole("status", options, world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen }) =>
              console.statusOf(await console.readCluster({ client, clock, namespace: options.namespace }), screen),
            ),
          ),
        ),
      );
  });
  add("node", (command, world) => {
    clusterOptions(command)
      .description("Lists nodes, or shows one: hardware, target, twin, control, pods and history.")
      .argument("[name]", "name of the node")
      .addOption(outputOption())
      .addOption(headersOption())
      .addOption(selectorOption())
      .addOption(sortOption())
      .addOption(watchOption())
      .action(async (name: string | undefined, options: NodeOptions) => exit(await runNode(name, options, world)));
  });
  add("why", (command, world) => {
    command
      .description("Explains why a pod is on its node, or why it has none, node by node.")
      .argument("<pod>", "name, or NAMESPACE/NAME")
      .argument("[node]", "explain this node only")
      .addOption(new Option("-n, --namespace <name>", "namespace of the pod").default("default"))
      .addOption(new Option("--installation <name>", "namespace of the installation").default("joulie-system"))
      .addOption(new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender"))
      .addOption(
        new Option("--extender-weight <n>", "weight of the extender in kube-scheduler's configuration").argParser(
          Number,
        ),
      )
      .addOption(new Option("--context <name>", "context of the kubeconfig"))
      .addOption(new Option("--kubeconfig <file>", "how to reach the cluster"))
      .addOption(outputOption())
      .action(async (pod: string, node: string | undefined, options: WhyCommandOptions) =>
        exit(
          await inConsole("why", options, world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen }) => {
              const objects = await console.readCluster({ client, clock, namespace: options.installation });
              const why = await console.explainPod(context, objects, { ...options, pod, node });
              return console.whyText(why, node, screen);
            }),
          ),
        ),
      );
  });
  add("plan", (command, world) => {
    clusterOptions(command)
      .description("Shows which nodes change next, and why.")
      .addOption(outputOption())
      .addOption(headersOption())
      .addOption(watchOption())
      .action(async (options: WatchOptions) =>
        exit(
          await inConsole("plan", options, world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen }) => {
              const { namespace, headers } = options;
              const objects = await console.readCluster({ client, clock, namespace });
              return console.planText(await console.planOf(context, objects, namespace), { screen, headers });
            }),
          ),
        ),
      );
  });
}

interface NodeOptions extends WatchOptions {
  readonly selector?: string;
  readonly sortBy: string;
}

interface WhyCommandOptions extends PrintOptions {
  readonly installation: string;
  readonly service: string;
  readonly extenderWeight?: number;
}

async function runNode(name: string | undefined, options: NodeOptions, world: CliEnvironment): Promise<number> {
  return inConsole("node", options, world, async (context, console) =>
    print(context, console, options, async ({ client, clock, screen }) => {
      const { namespace, selector: nodeSelector, sortBy, headers } = options;
      const objects = await console.readCluster({ client, clock, namespace, nodeSelector });
      if (name === undefined) return console.nodeListOf(objects, { sortBy, headers, screen });
      return console.nodeDetailsOf(name, objects, await console.eventsOf(client, name), screen);
    }),
  );
}
