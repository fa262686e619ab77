import { type Command, InvalidArgumentError, Option } from "commander";
import type * as consoleFunctions from "../console/index.ts";
import type { ConsoleContext, NodeHistory, OutputFormat, Printable } from "../console/index.ts";
import { onCluster } from "./cluster-command.ts";
import {
  type ClusterOptions,
  clusterOptions,
  headersOption,
  outputOption,
  type PrintOptions,
  selectorOption,
  sortOption,
  urlOption,
  type WatchOptions,
  watchOption,
} from "./console-options.ts";
import type { CliEnvironment } from "./environment.ts";

type Exit = (code: number) => void;
export type Add = (name: string, define: (command: Command, world: CliEnvironment) => void) => void;
export type Console = typeof consoleFunctions;

/** The context of a command, and the namespace of the installation. */
export interface InstallationContext extends ConsoleContext {
  readonly namespace: string;
}

interface ConsoleCommand {
  readonly name: string;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Namespace of the installation; found if absent. */
  readonly installation?: string | undefined;
  readonly urls?: ConsoleContext["urls"];
}

/** Runs a command of the console on a cluster. `work` returns what failed. */
export async function inConsole(
  { name, kubeconfig, context, installation, urls }: ConsoleCommand,
  world: CliEnvironment,
  work: (context: InstallationContext, console: Console) => Promise<string | undefined>,
): Promise<number> {
  const command = { name, fieldManager: "joulie-cli", kubeconfig, context };
  return onCluster(command, world, async (cluster) => {
    const [console, { shiftedClock }, { clockSkewOf }, { ForwardCache, kubectlForwarder }] = await Promise.all([
      import("../console/index.ts"),
      import("../../platform/clock/index.ts"),
      import("../../platform/kube/index.ts"),
      import("../../platform/forward/index.ts"),
    ]);
    const screen = console.screenOf({
      isTerminal: world.machine.isTerminal,
      columns: world.columns,
      env: world.env,
    });
    const { client, transport } = cluster;
    const [namespace, skew] = await Promise.all([
      console.installationNamespace(client, installation),
      clockSkewOf(transport, cluster.clock).catch(() => undefined),
    ]);
    // Ages and ends of pins are in the API server's time. Its answer has whole seconds.
    const isShifted = skew !== undefined && Math.abs(skew) > EXACT_TO;
    const clock = isShifted ? shiftedClock(cluster.clock, skew) : cluster.clock;
    const forwards = new ForwardCache(kubectlForwarder({ clock: cluster.clock, kubeconfig, context }));
    const { forward } = forwards;
    try {
      return await work({ ...cluster, clock, skew, forward, urls, out: world.out, screen, namespace }, console);
    } finally {
      await forwards.close();
    }
  });
}

const EXACT_TO = 2000;

/** The usual options of a command whose `-n` is the installation's. */
export const named = (name: string, { kubeconfig, context, namespace }: ClusterOptions): ConsoleCommand => ({
  name,
  kubeconfig,
  context,
  installation: namespace,
});

/** Prints once, or with --watch until Ctrl-C. */
async function print(
  context: InstallationContext,
  console: Console,
  options: Pick<PrintOptions, "output"> & { readonly watch?: boolean },
  make: (context: InstallationContext) => Promise<Printable>,
): Promise<undefined> {
  const format: OutputFormat = console.outputFormatOf(options.output);
  const text = async () => console.rendered(format, await make(context));
  if (options.watch !== true) context.out(await text());
  else await console.watchText(context, text, console.untilInterrupted());
  return undefined;
}

/** The commands that only read. */
export function addReadingCommands(add: Add, exit: Exit): void {
  add("status", (command, world) => {
    clusterOptions(command)
      .addOption(outputOption())
      .addOption(watchOption())
      .action(async (options: WatchOptions) =>
        exit(
          await inConsole(named("status", options), world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen, namespace }) =>
              console.statusOf(await console.readCluster({ client, clock, namespace }), screen),
            ),
          ),
        ),
      );
  });
  add("node", (command, world) => {
    clusterOptions(command)
      .argument("[name]", "name of the node")
      .addOption(urlOption("dashboard"))
      .addOption(outputOption())
      .addOption(headersOption())
      .addOption(selectorOption())
      .addOption(sortOption())
      .addOption(watchOption())
      .action(async (name: string | undefined, options: NodeOptions) => exit(await runNode(name, options, world)));
  });
  add("why", (command, world) => {
    command
      .argument("<pod>", "name, or NAMESPACE/NAME")
      .argument("[node]", "explain this node only")
      .addOption(new Option("-n, --namespace <name>", "namespace of the pod").default("default"))
      .addOption(new Option("--installation <name>", "namespace of the installation; found if not given"))
      .addOption(urlOption("extender"))
      .addOption(
        new Option("--extender-weight <n>", "weight of the extender in kube-scheduler's configuration").argParser(
          weightOf,
        ),
      )
      .addOption(new Option("--context <name>", "context of the kubeconfig"))
      .addOption(new Option("--kubeconfig <file>", "how to reach the cluster"))
      .addOption(outputOption())
      .action(async (pod: string, node: string | undefined, options: WhyCommandOptions) =>
        exit(
          await inConsole({ ...options, name: "why", urls: options }, world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen, namespace: installation }) => {
              const objects = await console.readCluster({ client, clock, namespace: installation });
              const { namespace, extenderWeight } = options;
              const asked = { pod, node, namespace, extenderWeight, installation };
              const why = await console.explainPod(context, objects, asked);
              return console.whyText(why, node, screen);
            }),
          ),
        ),
      );
  });
  add("plan", (command, world) => {
    clusterOptions(command)
      .addOption(urlOption("operator"))
      .addOption(outputOption())
      .addOption(headersOption())
      .addOption(watchOption())
      .action(async (options: WatchOptions & { readonly operator?: string }) =>
        exit(
          await inConsole({ ...named("plan", options), urls: options }, world, async (context, console) =>
            print(context, console, options, async ({ client, clock, screen, namespace }) => {
              const { headers } = options;
              const objects = await console.readCluster({ client, clock, namespace });
              return console.planText(await console.planOf(context, objects, namespace), { screen, headers });
            }),
          ),
        ),
      );
  });
}

/** As kube-scheduler accepts it. */
function weightOf(text: string): number {
  const weight = Number(text);
  if (!(Number.isSafeInteger(weight) && weight > 0))
    throw new InvalidArgumentError("It is not a whole number above 0.");
  return weight;
}

interface NodeOptions extends WatchOptions {
  readonly selector?: string;
  readonly sortBy: string;
  readonly dashboard?: string;
}

interface WhyCommandOptions extends PrintOptions {
  /** Of the pod. */
  readonly namespace: string;
  readonly installation?: string;
  readonly extender?: string;
  readonly extenderWeight?: number;
}

async function runNode(name: string | undefined, options: NodeOptions, world: CliEnvironment): Promise<number> {
  let history: NodeHistory | undefined;
  return inConsole({ ...named("node", options), urls: options }, world, async (context, console) =>
    print(context, console, options, async ({ client, clock, screen, namespace }) => {
      const { selector: nodeSelector, sortBy, headers } = options;
      const objects = await console.readCluster({ client, clock, namespace, nodeSelector });
      if (name === undefined) return console.nodeListOf(objects, { sortBy, headers, screen });
      // Once: a watch would open a way to the dashboard every two seconds.
      history ??= await console.nodeHistoryOf(context, namespace, name);
      return console.nodeDetailsOf(name, objects, { events: await console.eventsOf(client, name), history }, screen);
    }),
  );
}
