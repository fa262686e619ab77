import {
  type ClusterObjects,
  defaultReportSettings,
  EARLIER_NODES,
  EnergyAccount,
  type EnergyFactors,
  type EnergyTotals,
  energySampleOf,
  type FigureInterval,
  kilowattHours,
  REMOVED_NODES,
  type SavingsReport,
  savingsReport,
} from "../../../core/report/index.ts";
import {
  elapsed,
  formatDuration,
  type Instant,
  isoTime,
  type Milliseconds,
  milliseconds,
} from "../../../core/units/index.ts";
import { isApiError } from "../../../platform/kube/index.ts";
import { withPodsAndTwins } from "../cluster/cluster-reader.ts";
import { type ConsoleContext, ConsoleError, type Screen } from "../context.ts";
import type { Printable } from "../output/output.ts";
import { energyText, paintFor, wrap } from "../output/screen.ts";
import { renderColumns, type TableColumn } from "../output/table.ts";
import { endedBy } from "../output/watch.ts";

export interface SavingsOptions {
  readonly window: Milliseconds;
  readonly interval: Milliseconds;
  readonly factors: EnergyFactors;
}

export interface SourcedSavings {
  readonly report: SavingsReport;
  readonly source: string;
  readonly notes: readonly string[];
}

/** Watches the cluster for a while. The time of a failed reading is not covered; a first failure that stays ends it. */
export async function measureSavings(
  { clock }: Pick<ConsoleContext, "clock">,
  read: (signal: AbortSignal) => Promise<ClusterObjects>,
  { window, interval, factors }: SavingsOptions,
  signal: AbortSignal,
): Promise<SourcedSavings> {
  const account = new EnergyAccount();
  const started = clock.monotonic();
  let failure: unknown;
  let readings = 0;
  for (;;) {
    try {
      account.add(energySampleOf(withPodsAndTwins(await endedBy(signal, read(signal))), defaultReportSettings));
      readings++;
    } catch (error) {
      if (readings === 0 && isPermanent(error)) throw error;
      failure = signal.aborted ? new ConsoleError("it was interrupted before the first reading") : error;
    }
    if (signal.aborted || elapsed(started, clock.monotonic()) >= window) break;
    await clock.sleep(interval, signal).catch(() => undefined);
  }
  if (readings === 0) throw failure;
  const source = `${readings} readings of the twins in the API, from now on`;
  return { report: savingsReport(account.totals, factors), source, notes: [] };
}

const isPermanent = (error: unknown): boolean =>
  error instanceof ConsoleError || isApiError(error, "forbidden", "unauthorized", "badRequest", "notFound");

interface EnergyRow {
  readonly name: string;
  readonly used: number | undefined;
  readonly notUsed: FigureInterval | undefined;
}

const columns: readonly TableColumn<EnergyRow>[] = [
  { head: "", cell: ({ name }) => name, flexible: true },
  { head: "USED", cell: ({ used }) => (used === undefined ? "-" : energyText(used)), right: true },
  {
    head: "NOT USED",
    cell: ({ notUsed }) => (notUsed === undefined ? "-" : energyText(notUsed.estimate)),
    right: true,
  },
  {
    head: "INTERVAL",
    cell: ({ notUsed }) => (notUsed === undefined ? "-" : `${energyText(notUsed.low)} to ${energyText(notUsed.high)}`),
    right: true,
    drop: 1,
  },
];

/** Without any time with a reading the sums are unknown, not 0. */
const isCovered = ({ coverage }: EnergyTotals): boolean => coverage !== undefined && coverage > 0;

export function savingsText(savings: SourcedSavings, screen: Screen): Printable {
  const { report, source, notes } = savings;
  const { totals, notUsedPct } = report;
  const covers = isCovered(totals);
  const [cost, carbonKg] = covers ? [report.cost, report.carbonKg] : [];
  const unknown = [...(report.cost ? ["cost"] : []), ...(report.carbonKg ? ["carbon"] : [])];
  return {
    text: (wide) => {
      const paint = paintFor(screen);
      const { used, modelled, byClass, byNode, notUsed, byCause, coverage, from, to } = totals;
      const rows: EnergyRow[] = [
        { name: "all nodes", used: covers ? used : undefined, notUsed: covers ? notUsed : undefined },
        ...(["performance", "standard", "idle"] as const).map((name) => ({
          name: name === "idle" ? "  idle power" : `  ${name} pods`,
          used: covers ? byClass[name] : undefined,
          notUsed: undefined,
        })),
        ...(wide ? byNode : byNode.toSorted((a, b) => b.used - a.used).slice(0, NODES_SHOWN)).map((one) => ({
          name: one.node,
          used: one.used,
          notUsed: one.notUsed,
        })),
      ];
      const covered = covers ? `${Math.round((coverage ?? 0) * 100)} % of the time` : "no time";
      const lines = [
        `${windowText(from, to)}, ${covered} with readings`,
        ...(covers ? [] : [`${["energy", ...unknown].join(", ")}: unknown, because no time is covered`]),
        ...(covers ? [`at the wall${modelledText(used, modelled)}`] : []),
        ...(notUsedPct === undefined
          ? []
          : [
              `${notUsedPct.estimate.toFixed(1)} % not used (${notUsedPct.low.toFixed(1)} to ${notUsedPct.high.toFixed(1)} %): ${energyText(byCause.caps)} by caps, ${energyText(byCause.sleep)} by sleep`,
            ]),
        ...(cost === undefined
          ? []
          : [`cost: ${money(cost.used)} ${cost.currency} used, ${notUsedText(cost.notUsed)}`]),
        ...(carbonKg === undefined
          ? []
          : [`carbon: ${money(carbonKg.used)} kg used, ${notUsedText(carbonKg.notUsed, " kg")}`]),
      ];
      const hidden = byNode.length - NODES_SHOWN;
      if (!wide && hidden > 0) lines.push(`${hidden} more nodes: -o wide`);
      return [
        renderColumns(rows, columns, { columns: screen.columns, wide, headers: true }),
        ...lines.flatMap((line) => wrap(line, screen.columns)).map((line) => `${line}\n`),
        "\n",
        ...explanationsOf(savings)
          .flatMap((line) => wrap(line, screen.columns))
          .map((line) => `${paint.dim(line)}\n`),
      ].join("");
    },
    value: () => ({
      ...report,
      cost,
      carbonKg,
      source,
      notes,
      kilowattHours: covers
        ? { used: kilowattHours(totals.used), notUsed: kilowattHours(totals.notUsed.estimate) }
        : undefined,
    }),
    names: () => totals.byNode.flatMap(({ node }) => (isNodeName(node) ? `node/${node}` : [])),
  };
}

export function explanationsOf({ report: { method, bias }, source, notes }: SourcedSavings): readonly string[] {
  return [
    `Source: ${source}.`,
    ...notes,
    `Method: ${method}`,
    `Bias: in ${bias.runs} simulated runs the estimate was off by ${bias.meanPct} % of the counterfactual on average (${bias.lowestPct} to ${bias.highestPct} %), and the interval contained the truth in ${Math.round(bias.covered * 100)} % (${bias.command}).`,
  ];
}

function windowText(from: Instant | undefined, to: Instant | undefined): string {
  if (from === undefined || to === undefined) return "no readings";
  const length = milliseconds(Math.round((to - from) / 1000) * 1000);
  return `${formatDuration(length)} from ${isoTime(from)}`;
}

const NODES_SHOWN = 10;
const notUsedText = ({ estimate, low, high }: FigureInterval, unit = ""): string =>
  `${money(estimate)}${unit} not (${money(low)} to ${money(high)})`;
const money = (value: number): string => value.toFixed(Math.abs(value) < 1 ? 4 : 2);

function modelledText(used: number, modelled: number | undefined): string {
  if (modelled === undefined) return "; the source does not tell how much of it is modelled";
  if (modelled === 0) return ", read by meters of whole servers";
  return `: ${energyText(used - modelled)} read, ${energyText(modelled)} modelled: the rest of servers without a meter, and devices without a reading`;
}

const CSV_HEAD =
  "kind,name,from,to,used_kwh,not_used_kwh,not_used_low_kwh,not_used_high_kwh,currency,used_cost,not_used_cost,used_co2_kg,not_used_co2_kg";

interface CsvRow {
  readonly kind: "total" | "class" | "cause" | "node";
  readonly name: string;
  readonly used?: number;
  readonly notUsed?: Partial<FigureInterval> | undefined;
}

/** A row for all, and one for each class, cause and node. The columns are always the same; what is unknown is empty. */
export function savingsCsv({ report: { totals, perKilowattHour, cost } }: SourcedSavings): string {
  const { used, notUsed, byClass, byCause, byNode, from, to } = totals;
  const covers = isCovered(totals);
  const rows: CsvRow[] = [
    { kind: "total", name: "all", ...(covers && { used, notUsed }) },
    ...(["performance", "standard", "idle"] as const).map(
      (name): CsvRow => ({ kind: "class", name, ...(covers && { used: byClass[name] }) }),
    ),
    ...(["caps", "sleep"] as const).map(
      (name): CsvRow => ({ kind: "cause", name, ...(covers && { notUsed: { estimate: byCause[name] } }) }),
    ),
    ...byNode.map((node): CsvRow => ({ kind: "node", name: node.node, used: node.used, notUsed: node.notUsed })),
  ];
  const time = (at: Instant | undefined): string => (at === undefined ? "" : isoTime(at));
  const times = (energy: number | undefined, factor: number | undefined): number | undefined =>
    energy === undefined || factor === undefined ? undefined : kilowattHours(energy) * factor;
  const lines = rows.map(({ kind, name, used: energyUsed, notUsed: saved }) => [
    kind,
    name,
    time(from),
    time(to),
    ...[energyUsed, saved?.estimate, saved?.low, saved?.high].map((energy) => times(energy, 1)),
    cost?.currency,
    ...[energyUsed, saved?.estimate].map((energy) => times(energy, perKilowattHour.cost)),
    ...[energyUsed, saved?.estimate].map((energy) => times(energy, perKilowattHour.carbonKg)),
  ]);
  return `${[CSV_HEAD, ...lines.map((row) => row.map(csvCell).join(","))].join("\n")}\n`;
}

/** Rows of nodes that are no longer kept apart have a name that Kubernetes does not allow. */
const isNodeName = (name: string): boolean => name !== REMOVED_NODES && name !== EARLIER_NODES;

const csvCell = (value: string | number | undefined): string => {
  const text = typeof value === "number" ? String(Math.round(value * 1e6) / 1e6) : (value ?? "");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
