import { InvalidArgumentError, Option } from "commander";
import { type Profile, profiles } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { Program } from "../index.ts";
import { durationOf, timeoutOption } from "./cluster-command.ts";
import { type Add, inConsole } from "./console-commands.ts";
import {
  type ClusterOptions,
  clusterOptions,
  outputOption,
  type PrintOptions,
  selectorOption,
  sortOption,
} from "./console-options.ts";
import { type CliEnvironment, exitCodes } from "./environment.ts";
import { versionText } from "./version.ts";

type Exit = (code: number) => void;

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
      .description("Pins a node to a profile, and to caps if they are given.")
      .argument("<node>", "name of the node")
      .addOption(new Option("--profile <profile>", "performance or eco").choices(profiles).makeOptionMandatory())
      .addOption(new Option("--cpu-cap <cap>", "cap of each CPU package: 210W or 60%"))
      .addOption(new Option("--gpu-cap <cap>", "cap of each GPU: 300W or 60%"))
      .addOption(new Option("--for <duration>", "how long, such as 2h; unset = until unpin").argParser(durationOf))
      .addHelpText("after", PIN_HELP)
      .action(async (node: string, { for: duration, ...options }: PinCommandOptions) =>
        exit(
          await inConsole("pin", options, world, async (context, console) => {
            context.out(await console.pinNode(context, { ...options, node, duration }));
            return undefined;
          }),
        ),
      );
  });
  add("unpin", (command, world) => {
    clusterOptions(command)
      .description("Removes the pin of a node.")
      .argument("<node>", "name of the node")
      .action(async (node: string, options: ClusterOptions) =>
        exit(
          await inConsole("unpin", options, world, async (context, console) => {
            context.out(await console.unpinNode(context, node));
            return undefined;
          }),
        ),
      );
  });
  for (const [name, stopped, about] of [
    ["stop", true, "Stops Joulie: agents restore all original limits, and nothing changes until resume."],
    ["resume", false, "Lets Joulie work again after stop."],
  ] as const)
    add(name, (command, world) => {
      clusterOptions(command)
        .description(about)
        .action(async (options: ClusterOptions) =>
          exit(
            await inConsole(name, options, world, async (context, console) => {
              context.out(await console.setStopped(context, options.namespace, stopped));
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
  readonly window: Milliseconds;
  readonly interval: Milliseconds;
  readonly price?: number;
  readonly currency: string;
  readonly carbon?: number;
  readonly pue: number;
}

interface DoctorCommandOptions extends PrintOptions {
  readonly service: string;
}

const SAVINGS_HELP = `
Watches the twins for a while and adds their power up. Energy not used is a model: the same pods on uncapped nodes that
are always on. -o csv is for spreadsheets. Every output names the method and its bias.`;

/** The commands that look closely. */
export function addInspectingCommands(add: Add, exit: Exit, programs: readonly Program[]): void {
  add("top", (command, world) => {
    clusterOptions(command)
      .description("Shows nodes live: power, caps and trends, sorted, filtered and grouped by rack.")
      .addOption(selectorOption())
      .addOption(sortOption())
      .addOption(new Option("--filter <text>", "part of a name, class:eco, or labels").default(""))
      .addOption(new Option("--once", "print once, as in a pipe").default(false))
      .action(async (options: TopOptions) => exit(await runTopCommand(options, world)));
  });
  add("savings", (command, world) => {
    clusterOptions(command)
      .description("Reports energy by node and class, and energy not used compared with a model.")
      .addOption(timeoutOption("how long to watch", "1m", "--window"))
      .addOption(timeoutOption("time between two readings", "5s", "--interval"))
      .addOption(new Option("--price <number>", "price of a kilowatt-hour").argParser(positive))
      .addOption(new Option("--currency <name>", "currency of the price").default("EUR"))
      .addOption(new Option("--carbon <grams>", "grams of CO2 per kilowatt-hour").argParser(positive))
      .addOption(new Option("--pue <number>", "site energy per energy of the servers").argParser(positive).default(1))
      .addOption(new Option("-o, --output <format>", "wide, json, yaml, name, csv or jsonpath=TEMPLATE"))
      .addHelpText("after", SAVINGS_HELP)
      .action(async (options: SavingsCommandOptions) => exit(await runSavings(options, world)));
  });
  add("doctor", (command, world) => {
    clusterOptions(command)
      .description("Examines an installation: CRDs, permissions, extender, agents, twins, versions, clocks and mounts.")
      .addOption(new Option("--service <name>", "the extender's Service").default("joulie-scheduler-extender"))
      .addOption(outputOption())
      .addHelpText("after", "\nExits with 1 if something has to be done.")
      .action(async (options: DoctorCommandOptions) => exit(await runDoctor(options, world)));
  });
  add("support-bundle", (command, world) => {
    clusterOptions(command)
      .description("Writes a .tar.gz with what a maintainer asks for, without Secrets and credentials.")
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
  return inConsole("top", options, world, async (context, console) => {
    const { namespace, selector: nodeSelector, sortBy, filter, once } = options;
    const { client, clock, out, screen } = context;
    const read = async () => console.readCluster({ client, clock, namespace, nodeSelector });
    if (once || !world.machine.isTerminal) {
      const list = console.nodeListOf(await read(), { sortBy, headers: true, screen, filter });
      out(list.text(false));
    } else await console.runTop(context, read, console.processTerminal, { sortBy, filter }, console.untilInterrupted());
    return undefined;
  });
}

async function runSavings(options: SavingsCommandOptions, world: CliEnvironment): Promise<number> {
  return inConsole("savings", options, world, async (context, console) => {
    const { namespace, window, interval, price, currency, carbon, pue, output } = options;
    const { client, clock, out, screen } = context;
    const isCsv = output === "csv";
    const format = console.outputFormatOf(isCsv ? undefined : output);
    const read = async () => console.readCluster({ client, clock, namespace });
    const factors = { pricePerKilowattHour: price, currency, gramsCo2PerKilowattHour: carbon, pue };
    const report = await console.measureSavings(
      context,
      read,
      { window, interval, factors },
      console.untilInterrupted(),
    );
    out(isCsv ? console.savingsCsv(report) : await console.rendered(format, console.savingsText(report, screen)));
    return undefined;
  });
}

async function runDoctor(options: DoctorCommandOptions, world: CliEnvironment): Promise<number> {
  let needsAction = false;
  const code = await inConsole("doctor", options, world, async (context, console) => {
    const { namespace, service, output } = options;
    const objects = await console.readCluster({ client: context.client, clock: context.clock, namespace });
    const findings = await console.examineInstallation(context, objects, { namespace, service });
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
  return inConsole("support-bundle", options, world, async (context, console) => {
    const { namespace, service, file } = options;
    const { writeFile } = await import("node:fs/promises");
    const { variableNames } = await import("../../platform/config/index.ts");
    const known = new Set<string>();
    for (const program of programs) for (const name of variableNames(await program.config())) known.add(name);
    const objects = await console.readCluster({ client: context.client, clock: context.clock, namespace });
    const findings = await console.examineInstallation(context, objects, { namespace, service });
    const version: unknown = JSON.parse(versionText(true));
    const { archive, files } = await console.supportBundle(context, objects, {
      namespace,
      version,
      findings,
      isPlainVariable: (name) => known.has(name),
    });
    await writeFile(file, archive, { mode: 0o600 });
    context.out(
      `${file}: ${files.length} files, ${Math.ceil(archive.length / 1024)} KiB; look through it before you share it\n`,
    );
    return undefined;
  });
}
