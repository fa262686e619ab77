import { type Command, InvalidArgumentError, Option } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import { variableNames } from "../../platform/config/index.ts";
import {
  doctorText,
  eventsOf,
  examineInstallation,
  explainPod,
  needsAction,
  nodeDetailsOf,
  nodeHistoryOf,
  nodeListOf,
  outputFormatOf,
  planOf,
  planText,
  processTerminal,
  readCluster,
  rendered,
  runTop,
  statusReport,
  supportBundle,
  whyText,
  writePrivately,
} from "../console/index.ts";
import { versionText } from "./built-in-commands.ts";
import { type CommandTools, contextOption, exitCodes, kubeconfigOption } from "./cluster-command.ts";
import {
  type ClusterOptions,
  clusterOptions,
  headersOption,
  inConsole,
  outputOption,
  type PrintOptions,
  print,
  selectorOption,
  sortOption,
  urlOption,
  type WatchFlags,
  watchOption,
  withWatchedCluster,
} from "./console-session.ts";

const { version } = packageJson;

export function defineStatus(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .addOption(outputOption())
    .addOption(watchOption())
    .action(async (options: WatchFlags) =>
      inConsole("status", options, tools, async (context) =>
        print(context, options, (objects) => statusReport(objects, context)),
      ),
    );
}

interface NodeOptions extends WatchFlags {
  readonly selector?: string;
  readonly sortBy: string;
  readonly dashboard?: string;
}

export function defineNode(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .argument("[name]", "name of the node")
    .addOption(urlOption("dashboard"))
    .addOption(outputOption())
    .addOption(headersOption())
    .addOption(selectorOption())
    .addOption(sortOption())
    .addOption(watchOption())
    .action(async (name: string | undefined, options: NodeOptions) => {
      const { selector: nodeSelector, sortBy, headers } = options;
      const printing = { ...options, nodeSelector, isList: name === undefined };
      await inConsole("node", options, tools, async (context) =>
        print(context, printing, async (objects) => {
          const { client, screen, namespace } = context;
          if (name === undefined) return nodeListOf(objects, { sortBy, headers, screen });
          const history = await nodeHistoryOf(context, namespace, name);
          return nodeDetailsOf(name, objects, { events: await eventsOf(client, name), history }, context);
        }),
      );
    });
}

interface WhyOptions extends PrintOptions {
  readonly namespace?: string;
  readonly installation?: string;
  readonly extender?: string;
  readonly extenderWeight?: number;
}

export function defineWhy(command: Command, tools: CommandTools): void {
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
    .addOption(kubeconfigOption())
    .addOption(outputOption())
    .action(async (pod: string, node: string | undefined, options: WhyOptions) => {
      const { installation, extenderWeight } = options;
      await inConsole("why", { ...options, namespace: installation }, tools, async (context) =>
        print(context, options, async (objects) => {
          const { namespace = context.contextNamespace ?? "default" } = options;
          const asked = { pod, node, namespace, extenderWeight, installation: context.namespace };
          return whyText(await explainPod(context, objects, asked), node, context.screen);
        }),
      );
    });
}

function weightOf(text: string): number {
  const weight = Number(text);
  if (!(Number.isSafeInteger(weight) && weight > 0))
    throw new InvalidArgumentError("It is not a whole number above 0.");
  return weight;
}

export function definePlan(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .addOption(urlOption("operator"))
    .addOption(outputOption())
    .addOption(headersOption())
    .addOption(watchOption())
    .action(async (options: WatchFlags) =>
      inConsole("plan", options, tools, async (context) =>
        print(context, options, async (objects) => {
          const { screen, namespace } = context;
          return planText(await planOf(context, objects, namespace), { screen, headers: options.headers });
        }),
      ),
    );
}

interface TopOptions extends ClusterOptions {
  readonly selector?: string;
  readonly sortBy: string;
  readonly filter: string;
  readonly once: boolean;
}

export function defineTop(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .addOption(selectorOption())
    .addOption(sortOption())
    .addOption(new Option("--filter <text>", "part of a name, class:eco, or labels").default(""))
    .addOption(new Option("--once", "print once, as in a pipe").default(false))
    .action(async (options: TopOptions) => {
      const { selector: nodeSelector, sortBy, filter, once } = options;
      await inConsole("top", options, tools, async (context) => {
        const { client, clock, out, screen, namespace } = context;
        if (once || !tools.world.machine.isTerminal) {
          const objects = await readCluster({ client, clock, namespace, nodeSelector });
          out(nodeListOf(objects, { sortBy, headers: true, screen, filter }).text(false));
          return undefined;
        }
        return withWatchedCluster(context, nodeSelector, async (cluster, stopped) => {
          const read = async (signal: AbortSignal) => {
            await context.measureTime();
            return cluster.read(signal);
          };
          await runTop(context, read, processTerminal, { sortBy, filter }, stopped);
          return undefined;
        });
      });
    });
}

const serviceOption = () =>
  new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender");

interface DoctorOptions extends PrintOptions {
  readonly service: string;
}

export function defineDoctor(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .addOption(serviceOption())
    .addOption(outputOption())
    .addHelpText("after", "\nExits with 1 if something has to be done.")
    .action(async (options: DoctorOptions) => {
      let isActionNeeded = false;
      await inConsole("doctor", options, tools, async (context) => {
        const { client, clock, namespace, out, screen } = context;
        const objects = await readCluster({ client, clock, namespace });
        const findings = await examineInstallation(context, objects, { namespace, service: options.service, version });
        isActionNeeded = needsAction(findings);
        out(await rendered(outputFormatOf(options.output), doctorText(findings, screen)));
        return undefined;
      });
      if (isActionNeeded) tools.exit(exitCodes.failed);
    });
}

interface BundleOptions extends ClusterOptions {
  readonly service: string;
  readonly file: string;
}

export function defineSupportBundle(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .addOption(serviceOption())
    .addOption(new Option("--file <file>", "where to write it").default("joulie-support.tar.gz"))
    .action(async (options: BundleOptions) =>
      inConsole("support-bundle", options, tools, async (context) => {
        const { service, file } = options;
        const { client, clock, namespace, out } = context;
        const configs = await Promise.all(tools.programs.map(async (program) => program.config()));
        const known = new Set(configs.flatMap(variableNames));
        const objects = await readCluster({ client, clock, namespace });
        const findings = await examineInstallation(context, objects, { namespace, service, version });
        const facts: unknown = JSON.parse(versionText(true));
        const { archive, files } = await supportBundle(context, objects, {
          namespace,
          version: facts,
          findings,
          isPlainVariable: (name) => known.has(name),
        });
        await writePrivately(file, archive);
        const size = `${files.length} files, ${Math.ceil(archive.length / 1024)} KiB`;
        out(`${file}: ${size}; look through it before you share it\n`);
        return undefined;
      }),
    );
}
