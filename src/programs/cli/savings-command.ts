import { type Command, InvalidArgumentError, Option } from "commander";
import { errorMessageOf, JoulieError } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { PrometheusClient } from "../../platform/telemetry/index.ts";
import {
  explanationsOf,
  measureSavings,
  outputFormatOf,
  rendered,
  type SourcedSavings,
  savingsCsv,
  savingsFromDashboard,
  savingsFromPrometheus,
  savingsText,
} from "../console/index.ts";
import { type CommandTools, durationOf, positiveDurationOf, timeoutOption } from "./cluster-command.ts";
import {
  clusterOptions,
  httpUrl,
  type InstallationContext,
  inConsole,
  type PrintOptions,
  urlOption,
  withWatchedCluster,
} from "./console-session.ts";

interface SavingsOptions extends PrintOptions {
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

const HELP = `
Reads what the dashboard has counted in the last 24 hours, or Prometheus for longer times. Without either it says so and
watches the twins for a minute. Energy not used is a model: the same pods on uncapped nodes that are always on. -o csv
is for spreadsheets. Every output names the source, the method and its bias; -o csv names them on standard error.`;
const DEFAULT_SINCE = durationOf("24h");
const DEFAULT_WINDOW = durationOf("1m");
const PROMETHEUS_CALL = durationOf("30s");

export function defineSavings(command: Command, tools: CommandTools): void {
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
    .addHelpText("after", HELP)
    .action(async (options: SavingsOptions) =>
      inConsole("savings", options, tools, async (context) => {
        const { screen, out } = context;
        const isCsv = options.output === "csv";
        const format = outputFormatOf(isCsv ? undefined : options.output);
        const savings = await savingsOf(options, context);
        out(isCsv ? savingsCsv(savings) : await rendered(format, savingsText(savings, screen)));
        // A table takes no comments.
        if (isCsv) tools.world.err(`${explanationsOf(savings).join("\n")}\n`);
        return undefined;
      }),
    );
}

const sinceOf = (text: string): Milliseconds | "all" => (text === "all" ? text : positiveDurationOf(text));

function positive(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && Number.isFinite(value))) throw new InvalidArgumentError("It is not a number of 0 or more.");
  return value;
}

async function savingsOf(
  { since, dashboard, prometheus, window, interval, ...options }: SavingsOptions,
  context: InstallationContext,
): Promise<SourcedSavings> {
  const { price, currency, carbon, pue } = options;
  const { clock, namespace } = context;
  const factors = { pricePerKilowattHour: price, currency, gramsCo2PerKilowattHour: carbon, pue };
  const watch = async (length: Milliseconds) =>
    withWatchedCluster(context, undefined, async (cluster, stopped) => {
      const read = async (signal: AbortSignal) => cluster.read(signal);
      return measureSavings(context, read, { window: length, interval, factors }, stopped);
    });
  if (window !== undefined) return watch(window);
  if (prometheus !== undefined) {
    if (since === "all") throw new JoulieError("JOULIE_E_USAGE", "--since all is for the dashboard; name a duration");
    const server = new PrometheusClient({ clock, timeout: PROMETHEUS_CALL, address: prometheus });
    try {
      const asked = { url: prometheus, since: since ?? DEFAULT_SINCE, now: clock.now() };
      return await savingsFromPrometheus(server, asked, factors);
    } finally {
      await server.close();
    }
  }
  try {
    const back = since === "all" ? undefined : (since ?? DEFAULT_SINCE);
    return await savingsFromDashboard(context, namespace, back, factors);
  } catch (error) {
    // A user who names a time or a dashboard gets that, or an error.
    if (since !== undefined || dashboard !== undefined) throw error;
    const why = errorMessageOf(error);
    const watched = await watch(DEFAULT_WINDOW);
    const note = `There is no history: ${why}. This is what was seen now. For the past install the dashboard (dashboard.enabled=true), or name it with --dashboard or --prometheus.`;
    return { ...watched, notes: [note, ...watched.notes] };
  }
}
