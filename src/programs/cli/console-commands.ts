import { type Command, InvalidArgumentError, Option } from "commander";
import type { ClusterObjects } from "../../core/report/index.ts";
import type * as consoleFunctions from "../console/index.ts";
import type { ConsoleContext, OutputFormat, Printable, WatchedCluster } from "../console/index.ts";
import { contextOption, onCluster, serverTimeOf } from "./cluster-command.ts";
import type { CliEnvironment } from "./command-tools.ts";
import {
  type ClusterOptions,
  clusterOptions,
  headersOption,
  outputOption,
  type PrintOptions,
  selectorOption,
  sortOption,
  urlOption,
  type WatchFlags,
  watchOption,
} from "./console-options.ts";

type Exit = (code: number) => void;
export type Add = (name: string, define: (command: Command, world: CliEnvironment) => void) => void;
export type Console = typeof consoleFunctions;

/** The context of a command, and the namespace of the installation. */
export interface InstallationContext extends ConsoleContext {
  readonly namespace: string;
  /** Compares this machine's clock with the API server's again. */
  readonly measureTime: () => Promise<void>;
  /** That of the kubeconfig's context, if it names one. */
  readonly contextNamespace: string | undefined;
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
    const [console, { ForwardCache, kubectlForwarder }] = await Promise.all([
      import("../console/index.ts"),
      import("../../platform/forward/index.ts"),
    ]);
    const screen = console.screenOf({
      isTerminal: world.machine.isTerminal,
      columns: world.columns,
      env: world.env,
    });
    const { client } = cluster;
    const [namespace, time] = await Promise.all([
      console.installationNamespace(client, installation),
      serverTimeOf(cluster),
    ]);
    const { clock, skew } = time;
    const measureTime = async () => time.measure();
    const forwards = new ForwardCache(kubectlForwarder({ clock: cluster.clock, kubeconfig, context }));
    const { forward } = forwards;
    try {
      const { out } = world;
      const target = { context, kubeconfig };
      return await work(
        { ...cluster, clock, skew, measureTime, forward, urls, target, out, screen, namespace },
        console,
      );
    } finally {
      await forwards.close();
    }
  });
}

/** The usual options of a command whose `-n` is the installation's. */
export const named = (name: string, { kubeconfig, context, namespace }: ClusterOptions): ConsoleCommand => ({
  name,
  kubeconfig,
  context,
  installation: namespace,
});

interface Printing extends Pick<PrintOptions, "output"> {
  readonly watch?: boolean;
  readonly nodeSelector?: string | undefined;
  /** The text is a list with one line per node. */
  readonly isList?: boolean;
}

/** Prints once, or with --watch until Ctrl-C. Then the objects come by watches: lists every few seconds would load the API server. */
async function print(
  context: InstallationContext,
  console: Console,
  { output, watch = false, nodeSelector, isList = false }: Printing,
  make: (objects: ClusterObjects) => Promise<Printable> | Printable,
): Promise<undefined> {
  const format: OutputFormat = console.outputFormatOf(output);
  const { client, clock, namespace, out } = context;
  const text = async (objects: ClusterObjects) => console.rendered(format, await make(objects));
  if (!watch) {
    out(await text(await console.readCluster({ client, clock, namespace, nodeSelector })));
    return undefined;
  }
  const cluster = await watchedCluster(context, console, nodeSelector);
  const signal = console.untilInterrupted();
  const rowsOnly = isList && (format.kind === "text" || format.kind === "wide" || format.kind === "name");
  cluster.start();
  try {
    const read = async () => {
      await context.measureTime();
      return text(await cluster.readAll(namespace, signal));
    };
    await console.watchText(context, read, signal, { rowsOnly });
  } finally {
    await cluster.stop();
  }
  return undefined;
}

/** The commands show what fails, so nothing is logged. */
export async function watchedCluster(
  { client, clock }: InstallationContext,
  console: Console,
  nodeSelector: string | undefined,
): Promise<WatchedCluster> {
  const { createLogger } = await import("../../platform/log/index.ts");
  const { systemRandom: random } = await import("../../platform/random/index.ts");
  const log = createLogger({ level: "silent", program: "console" });
  return new console.WatchedCluster({ client, clock, random, log, nodeSelector });
}

/** The commands that only read. */
export function addReadingCommands(add: Add, exit: Exit): void {
  add("status", (command, world) => {
    clusterOptions(command)
      .addOption(outputOption())
      .addOption(watchOption())
      .action(async (options: WatchFlags) =>
        exit(
          await inConsole(named("status", options), world, async (context, console) =>
            print(context, console, options, (objects) => console.statusReport(objects, context)),
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
      .addOption(new Option("-n, --namespace <name>", "namespace of the pod; else that of the context, or default"))
      .addOption(new Option("--installation <name>", "namespace of the installation; found if not given"))
      .addOption(urlOption("extender"))
      .addOption(
        new Option("--extender-weight <n>", "weight of the extender in kube-scheduler's configuration").argParser(
          weightOf,
        ),
      )
      .addOption(contextOption())
      .addOption(new Option("--kubeconfig <file>", "how to reach the cluster"))
      .addOption(outputOption())
      .action(async (pod: string, node: string | undefined, options: WhyCommandOptions) =>
        exit(
          await inConsole({ ...options, name: "why", urls: options }, world, async (context, console) =>
            print(context, console, options, async (objects) => {
              const { screen, namespace: installation } = context;
              const { namespace = context.contextNamespace ?? "default", extenderWeight } = options;
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
      .action(async (options: WatchFlags & { readonly operator?: string }) =>
        exit(
          await inConsole({ ...named("plan", options), urls: options }, world, async (context, console) =>
            print(context, console, options, async (objects) => {
              const { screen, namespace } = context;
              const { headers } = options;
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

interface NodeOptions extends WatchFlags {
  readonly selector?: string;
  readonly sortBy: string;
  readonly dashboard?: string;
}

interface WhyCommandOptions extends PrintOptions {
  /** Of the pod. */
  readonly namespace?: string;
  readonly installation?: string;
  readonly extender?: string;
  readonly extenderWeight?: number;
}

async function runNode(name: string | undefined, options: NodeOptions, world: CliEnvironment): Promise<number> {
  const { selector: nodeSelector, sortBy, headers } = options;
  const printing = { ...options, nodeSelector, isList: name === undefined };
  return inConsole({ ...named("node", options), urls: options }, world, async (context, console) =>
    print(context, console, printing, async (objects) => {
      const { client, screen, namespace } = context;
      if (name === undefined) return console.nodeListOf(objects, { sortBy, headers, screen });
      const history = await console.nodeHistoryOf(context, namespace, name);
      return console.nodeDetailsOf(name, objects, { events: await console.eventsOf(client, name), history }, context);
    }),
  );
}
