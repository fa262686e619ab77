import { InvalidArgumentError, Option } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import { JoulieError, type Profile, profiles } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { SourcedSavings } from "../console/index.ts";
import type { Program } from "../index.ts";
import { durationOf, positiveDurationOf, timeoutOption } from "./cluster-command.ts";
import { type CliEnvironment, exitCodes } from "./command-tools.ts";
import {
  type Add,
  type Console,
  type InstallationContext,
  inConsole,
  named,
  watchedCluster,
} from "./console-commands.ts";
import {
  type ClusterOptions,
  clusterOptions,
  httpUrl,
  outputOption,
  type PrintOptions,
  selectorOption,
  sortOption,
  urlOption,
} from "./console-options.ts";
import { versionText } from "./version.ts";

type Exit = (code: number) => void;
const { version } = packageJson;

interface PinCommandOptions extends ClusterOptions {
  readonly profile: Profile;
  readonly cpuCap?: string;
  readonly gpuCap?: string;
  readonly for?: Milliseconds;
}

const PIN_HELP = `
Caps are watts per CPU package or GPU (210W) or percent of the maximum (60%). Without caps the node has those of the
profile. The operator plans the other nodes around the pin. With --for the operator ignores the pin after that time.`;

/** The commands that change something: pins and the stop switch. */
export function addChangingCommands(add: Add, exit: Exit): void {
  add("pin", (command, world) => {
    clusterOptions(command)
      .argument("<node>", "name of the node")
      .addOption(new Option("--profile <profile>", "performance or eco").choices(profiles).makeOptionMandatory())
      .addOption(new Option("--cpu-cap <cap>", "cap of each CPU package: 210W or 60%"))
      .addOption(new Option("--gpu-cap <cap>", "cap of each GPU: 300W or 60%"))
      .addOption(
        new Option("--for <duration>", "how long, such as 2h; unset = until unpin").argParser(positiveDurationOf),
      )
      .addHelpText("after", PIN_HELP)
      .action(async (node: string, { for: duration, ...options }: PinCommandOptions) =>
        exit(
          await inConsole(named("pin", options), world, async (context, console) => {
            context.out(await console.pinNode(context, { ...options, node, duration }));
            return undefined;
          }),
        ),
      );
  });
  add("unpin", (command, world) => {
    clusterOptions(command)
      .argument("<node>", "name of the node")
      .action(async (node: string, options: ClusterOptions) =>
        exit(
          await inConsole(named("unpin", options), world, async (context, console) => {
            context.out(await console.unpinNode(context, node));
            return undefined;
          }),
        ),
      );
  });
  for (const [name, stopped] of [
    ["stop", true],
    ["resume", false],
  ] as const)
    add(name, (command, world) => {
      clusterOptions(command).action(async (options: ClusterOptions) =>
        exit(
          await inConsole(named(name, options), world, async (context, console) => {
            context.out(await console.setStopped(context, context.namespace, stopped));
            return undefined;
          }),
        ),
      );
    });
}

interface TopOptions extends ClusterOptions {
  readonly selector?: string;
  readonly sortBy: string;
  readonly filter: string;
  readonly once: boolean;
}

interface SavingsCommandOptions extends PrintOptions {
  readonly since?: Milliseconds | "all";
  readonly dashboard?: string;
  readonly prometheus?: string;
  readonly window?: Milliseconds;
  readonly interval: Milliseconds;
  readonly price?: number;
  readonly currency?: string;
  readonly carbon?: number;
  readonly pue?: number;
}

interface DoctorCommandOptions extends PrintOptions {
  readonly service: string;
}

const SAVINGS_HELP = `
Reads what the dashboard has counted in the last 24 hours, or Prometheus for longer times. Without either it says so and
watches the twins for a minute. Energy not used is a model: the same pods on uncapped nodes that are always on. -o csv
is for spreadsheets. Every output names the source, the method and its bias; -o csv names them on standard error.`;
const DEFAULT_SINCE = durationOf("24h");
const DEFAULT_WINDOW = durationOf("1m");
const PROMETHEUS_CALL = durationOf("30s");

/** The commands that look closely. */
export function addInspectingCommands(add: Add, exit: Exit, programs: readonly Program[]): void {
  add("top", (command, world) => {
    clusterOptions(command)
      .addOption(selectorOption())
      .addOption(sortOption())
      .addOption(new Option("--filter <text>", "part of a name, class:eco, or labels").default(""))
      .addOption(new Option("--once", "print once, as in a pipe").default(false))
      .action(async (options: TopOptions) => exit(await runTopCommand(options, world)));
  });
  add("savings", (command, world) => {
    clusterOptions(command)
      .addOption(new Option("--since <duration>", "how far back, such as 24h, or all").argParser(sinceOf))
      .addOption(urlOption("dashboard"))
      .addOption(
        new Option("--prometheus <url>", "read the counters of this Prometheus server instead")
          .argParser(httpUrl)
          .conflicts("dashboard"),
      )
      .addOption(
        new Option("--window <duration>", "watch from now on for this time instead")
          .argParser(positiveDurationOf)
          .conflicts(["since", "dashboard", "prometheus"]),
      )
      .addOption(timeoutOption("time between two readings", "5s", "--interval").argParser(positiveDurationOf))
      .addOption(new Option("--price <number>", "price of a kilowatt-hour").argParser(positive))
      .addOption(new Option("--currency <name>", "currency of the price; EUR if not named"))
      .addOption(new Option("--carbon <grams>", "grams of CO2 per kilowatt-hour").argParser(positive))
      .addOption(new Option("--pue <number>", "site energy per energy of the servers").argParser(positive))
      .addOption(new Option("-o, --output <format>", "wide, json, yaml, name, csv or jsonpath=TEMPLATE"))
      .addHelpText("after", SAVINGS_HELP)
      .action(async (options: SavingsCommandOptions) => exit(await runSavings(options, world)));
  });
  add("doctor", (command, world) => {
    clusterOptions(command)
      .addOption(new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender"))
      .addOption(outputOption())
      .addHelpText("after", "\nExits with 1 if something has to be done.")
      .action(async (options: DoctorCommandOptions) => exit(await runDoctor(options, world)));
  });
  add("support-bundle", (command, world) => {
    clusterOptions(command)
      .addOption(new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender"))
      .addOption(new Option("--file <file>", "where to write it").default("joulie-support.tar.gz"))
      .action(async (options: DoctorCommandOptions & { readonly file: string }) =>
        exit(await runBundle(options, world, programs)),
      );
  });
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && Number.isFinite(value))) throw new InvalidArgumentError("It is not a number of 0 or more.");
  return value;
}

async function runTopCommand(options: TopOptions, world: CliEnvironment): Promise<number> {
  return inConsole(named("top", options), world, async (context, console) => {
    const { selector: nodeSelector, sortBy, filter, once } = options;
    const { client, clock, out, screen, namespace } = context;
    if (once || !world.machine.isTerminal) {
      const objects = await console.readCluster({ client, clock, namespace, nodeSelector });
      out(console.nodeListOf(objects, { sortBy, headers: true, screen, filter }).text(false));
      return undefined;
    }
    const cluster = await watchedCluster(context, console, nodeSelector);
    cluster.start();
    try {
      const read = async (signal: AbortSignal) => {
        await context.measureTime();
        return cluster.read(signal);
      };
      await console.runTop(context, read, console.processTerminal, { sortBy, filter }, console.untilInterrupted());
    } finally {
      await cluster.stop();
    }
    return undefined;
  });
}

const sinceOf = (text: string): Milliseconds | "all" => (text === "all" ? text : positiveDurationOf(text));

async function runSavings(options: SavingsCommandOptions, world: CliEnvironment): Promise<number> {
  return inConsole({ ...named("savings", options), urls: options }, world, async (context, console) => {
    const { screen, out } = context;
    const isCsv = options.output === "csv";
    const format = console.outputFormatOf(isCsv ? undefined : options.output);
    const savings = await savingsOf(options, context, console);
    out(isCsv ? console.savingsCsv(savings) : await console.rendered(format, console.savingsText(savings, screen)));
    // A table takes no comments.
    if (isCsv)
      world.err(
        console
          .explanationsOf(savings)
          .map((line) => `${line}\n`)
          .join(""),
      );
    return undefined;
  });
}

async function savingsOf(
  { since, dashboard, prometheus, window, interval, ...options }: SavingsCommandOptions,
  context: InstallationContext,
  console: Console,
): Promise<SourcedSavings> {
  const { price, currency, carbon, pue } = options;
  const { clock, namespace } = context;
  const factors = { pricePerKilowattHour: price, currency, gramsCo2PerKilowattHour: carbon, pue };
  const watch = async (length: Milliseconds) => {
    const cluster = await watchedCluster(context, console, undefined);
    const asked = { window: length, interval, factors };
    cluster.start();
    try {
      const read = async (signal: AbortSignal) => cluster.read(signal);
      return await console.measureSavings(context, read, asked, console.untilInterrupted());
    } finally {
      await cluster.stop();
    }
  };
  if (window !== undefined) return watch(window);
  if (prometheus !== undefined) {
    if (since === "all") throw new JoulieError("JOULIE_E_USAGE", "--since all is for the dashboard; name a duration");
    const { PrometheusClient } = await import("../../platform/telemetry/index.ts");
    const server = new PrometheusClient({ clock, timeout: PROMETHEUS_CALL, address: prometheus });
    try {
      const asked = { url: prometheus, since: since ?? DEFAULT_SINCE, now: clock.now() };
      return await console.savingsFromPrometheus(server, asked, factors);
    } finally {
      await server.close();
    }
  }
  try {
    const back = since === "all" ? undefined : (since ?? DEFAULT_SINCE);
    return await console.savingsFromDashboard(context, namespace, back, factors);
  } catch (error) {
    // A user who names a time or a dashboard gets that, or an error.
    if (since !== undefined || dashboard !== undefined) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const watched = await watch(DEFAULT_WINDOW);
    const note = `There is no history: ${why}. This is what was seen now. For the past install the dashboard (dashboard.enabled=true), or name it with --dashboard or --prometheus.`;
    return { ...watched, notes: [note, ...watched.notes] };
  }
}

async function runDoctor(options: DoctorCommandOptions, world: CliEnvironment): Promise<number> {
  let needsAction = false;
  const code = await inConsole(named("doctor", options), world, async (context, console) => {
    const { service, output } = options;
    const { namespace } = context;
    const objects = await console.readCluster({ client: context.client, clock: context.clock, namespace });
    const findings = await console.examineInstallation(context, objects, { namespace, service, version });
    needsAction = console.needsAction(findings);
    context.out(await console.rendered(console.outputFormatOf(output), console.doctorText(findings, context.screen)));
    return undefined;
  });
  return code === exitCodes.done && needsAction ? exitCodes.failed : code;
}

async function runBundle(
  options: DoctorCommandOptions & { readonly file: string },
  world: CliEnvironment,
  programs: readonly Program[],
): Promise<number> {
  return inConsole(named("support-bundle", options), world, async (context, console) => {
    const { service, file } = options;
    const { namespace } = context;
    const { variableNames } = await import("../../platform/config/index.ts");
    const known = new Set<string>();
    for (const program of programs) for (const name of variableNames(await program.config())) known.add(name);
    const objects = await console.readCluster({ client: context.client, clock: context.clock, namespace });
    const findings = await console.examineInstallation(context, objects, { namespace, service, version });
    const facts: unknown = JSON.parse(versionText(true));
    const { archive, files } = await console.supportBundle(context, objects, {
      namespace,
      version: facts,
      findings,
      isPlainVariable: (name) => known.has(name),
    });
    await console.writePrivately(file, archive);
    context.out(
      `${file}: ${files.length} files, ${Math.ceil(archive.length / 1024)} KiB; look through it before you share it\n`,
    );
    return undefined;
  });
}
