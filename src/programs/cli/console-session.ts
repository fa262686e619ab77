// What the commands of the console have in common: their options, as kubectl spells them, and the connection.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { ClusterObjects } from "../../core/report/index.ts";
import { ForwardCache, kubectlForwarder } from "../../platform/forward/index.ts";
import { createLogger } from "../../platform/log/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import {
  type ConsoleContext,
  installationNamespace,
  outputFormatOf,
  type PagedProgram,
  type Printable,
  readCluster,
  rendered,
  screenOf,
  sortKeys,
  untilInterrupted,
  WatchedCluster,
  watchText,
} from "../console/index.ts";
import { type CommandTools, contextOption, kubeconfigOption, onCluster, serverTimeOf } from "./cluster-command.ts";

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string | undefined;
}

export interface PrintOptions extends ClusterOptions {
  readonly output?: string;
  readonly headers: boolean;
}

export interface WatchFlags extends PrintOptions {
  readonly watch: boolean;
}

export const clusterOptions = (command: Command): Command =>
  command
    .addOption(new Option("-n, --namespace <name>", "namespace of the installation; found if not given"))
    .addOption(contextOption())
    .addOption(kubeconfigOption());

/** The address of a program's pages, for those who forward its port themselves. */
export const urlOption = (program: PagedProgram) =>
  new Option(
    `--${program} <url>`,
    `address of the ${program}; else it is asked through kubectl port-forward`,
  ).argParser(httpUrl);

export function httpUrl(text: string): string {
  const { protocol } = URL.parse(text) ?? {};
  if (protocol !== "http:" && protocol !== "https:")
    throw new InvalidArgumentError("It is not an address such as http://127.0.0.1:8090.");
  return text;
}

export const outputOption = () => new Option("-o, --output <format>", "wide, json, yaml, name or jsonpath=TEMPLATE");
/** The default is explicit: commander sets that of a negated option before the options of a command are loaded. */
export const headersOption = () => new Option("--no-headers", "print tables without their first line").default(true);
export const watchOption = () => new Option("-w, --watch", "print again when something changes").default(false);
export const selectorOption = () => new Option("-l, --selector <labels>", "only nodes with these labels");
export const sortOption = () =>
  new Option("--sort-by <column>", "column in lower case, or label:KEY").argParser(sortKeyOf).default("name");

function sortKeyOf(text: string): string {
  if (!sortKeys.includes(text) && !/^label:./.test(text))
    throw new InvalidArgumentError(`Use ${sortKeys.join(", ")} or label:KEY.`);
  return text;
}

export interface InstallationContext extends ConsoleContext {
  readonly namespace: string;
  readonly measureTime: () => Promise<void>;
  readonly contextNamespace: string | undefined;
}

/** Connects to the cluster that the options name, and runs a command there. `work` returns what failed. */
export async function inConsole(
  name: string,
  options: ClusterOptions & ConsoleContext["urls"],
  { world, exit }: CommandTools,
  work: (context: InstallationContext) => Promise<string | undefined>,
): Promise<void> {
  const { kubeconfig, context } = options;
  const command = { name, fieldManager: "joulie-cli", kubeconfig, context };
  const code = await onCluster(command, world, async (cluster) => {
    const screen = screenOf({ isTerminal: world.machine.isTerminal, columns: world.columns, env: world.env });
    const [namespace, time] = await Promise.all([
      installationNamespace(cluster.client, options.namespace),
      serverTimeOf(cluster),
    ]);
    const forwards = new ForwardCache(kubectlForwarder({ clock: cluster.clock, kubeconfig, context }));
    try {
      return await work({
        ...cluster,
        clock: time.clock,
        skew: time.skew,
        measureTime: async () => time.measure(),
        forward: forwards.forward,
        urls: options,
        target: { context, kubeconfig },
        out: world.out,
        screen,
        namespace,
      });
    } finally {
      await forwards.close();
    }
  });
  exit(code);
}

interface Printing extends Pick<PrintOptions, "output"> {
  readonly watch?: boolean;
  readonly nodeSelector?: string | undefined;
  /** The text is a list with one line per node. */
  readonly isList?: boolean;
}

/** Prints once, or with --watch until Ctrl-C. Then the objects come by watches: lists every few seconds would load the API server. */
export async function print(
  context: InstallationContext,
  { output, watch = false, nodeSelector, isList = false }: Printing,
  make: (objects: ClusterObjects) => Promise<Printable> | Printable,
): Promise<undefined> {
  const format = outputFormatOf(output);
  const { client, clock, namespace, out } = context;
  const text = async (objects: ClusterObjects) => rendered(format, await make(objects));
  if (!watch) {
    out(await text(await readCluster({ client, clock, namespace, nodeSelector })));
    return;
  }
  const rowsOnly = isList && (format.kind === "text" || format.kind === "wide" || format.kind === "name");
  await withWatchedCluster(context, nodeSelector, async (cluster, signal) => {
    const read = async () => {
      await context.measureTime();
      return text(await cluster.readAll(namespace, signal));
    };
    await watchText(context, read, signal, { rowsOnly });
  });
}

/** Watches the cluster until the work ends; the signal aborts at Ctrl-C. The commands show what fails, so nothing is logged. */
export async function withWatchedCluster<Result>(
  { client, clock }: InstallationContext,
  nodeSelector: string | undefined,
  work: (cluster: WatchedCluster, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const log = createLogger({ level: "silent", program: "console" });
  const cluster = new WatchedCluster({ client, clock, random: systemRandom, log, nodeSelector });
  cluster.start();
  try {
    return await work(cluster, untilInterrupted());
  } finally {
    await cluster.stop();
  }
}
