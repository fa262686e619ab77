import {
  type EnergyFactors,
  type EnergyTotals,
  type JoulesInterval,
  readEnergyAccountAnswer,
  savingsReport,
} from "../../../core/report/index.ts";
import {
  formatDuration,
  inSeconds,
  instant,
  joules,
  type Milliseconds,
  milliseconds,
} from "../../../core/units/index.ts";
import type { PrometheusClient, PrometheusSample } from "../../../platform/telemetry/index.ts";
import { publicUrl, readProgramPages } from "../cluster/program-pages.ts";
import { type ConsoleContext, ConsoleError } from "../context.ts";
import type { SourcedSavings } from "./savings.ts";

const HOUR = milliseconds(3_600_000);
/** How far the dashboard's hours reach back. */
const DAY = milliseconds(24 * HOUR);

/** What the dashboard has counted. `since` is a time back from now; undefined: since its account began. */
export async function savingsFromDashboard(
  context: ConsoleContext,
  namespace: string,
  since: Milliseconds | undefined,
  factors: EnergyFactors,
): Promise<SourcedSavings> {
  if (since !== undefined && since > DAY)
    throw new ConsoleError(
      `the dashboard keeps the last 24 hours, and --since is ${formatDuration(since)}; --prometheus URL reads further back, --since all shows everything since its account began`,
    );
  const query = since === undefined ? "" : `?hours=${since / HOUR}`;
  const { answers, why } = await readProgramPages(context, namespace, "dashboard", `api/energy-account${query}`);
  const [first] = answers;
  if (first === undefined) throw new ConsoleError(`the dashboard cannot be asked: ${why}`);
  const answer = readEnergyAccountAnswer(first.value);
  if (answer === undefined) throw new ConsoleError(`${first.from} is not a dashboard of this version`);
  const { totals } = answer;
  if (totals.from === undefined) throw new ConsoleError(`${first.from} has not counted anything yet`);
  return {
    report: savingsReport(totals, withDefaults(factors, answer.factors)),
    source: `the account of the ${first.from}`,
    // In the dashboard's own time, which a demo accelerates.
    notes: shorterNote(totals, since, totals.to),
  };
}

/** What the user did not ask for is as on the dashboard's page, so that both show one figure. */
const withDefaults = (factors: EnergyFactors, ofDashboard: EnergyFactors): EnergyFactors => ({
  ...(factors.pricePerKilowattHour === undefined ? ofDashboard : factors),
  gramsCo2PerKilowattHour: factors.gramsCo2PerKilowattHour ?? ofDashboard.gramsCo2PerKilowattHour,
  pue: factors.pue ?? ofDashboard.pue,
});

const WORTH_TELLING = milliseconds(HOUR / 12);

/** Whole hours may begin before the window; a start well after it, or an end well before now, means that history is missing. */
function shorterNote({ from, to }: EnergyTotals, since: Milliseconds | undefined, now: number | undefined): string[] {
  if (since === undefined || from === undefined || to === undefined || now === undefined) return [];
  const late = from - (now - since);
  const early = now - to;
  const notes: string[] = [];
  if (late > WORTH_TELLING)
    notes.push(`The account begins ${minutes(late)} after the asked time; what was before is unknown and not counted.`);
  if (early > WORTH_TELLING)
    notes.push(`The account ends ${minutes(early)} ago; what came after is unknown and not counted.`);
  return notes;
}

const minutes = (length: number): string => formatDuration(milliseconds(Math.round(length / 60_000) * 60_000));

/** The counters that are asked. The dashboard serves the model's, the operator those of nodes. */
export const counters = {
  classes: "joulie_dashboard_energy_joules_total",
  used: "joulie_dashboard_used_energy_joules_total",
  counterfactual: "joulie_dashboard_counterfactual_energy_joules_total",
  asleep: "joulie_dashboard_asleep_energy_joules_total",
  nodes: "joulie_operator_node_energy_joules_total",
} as const;

/** The steps in which Prometheus is asked whether it has readings. */
const STEPS = 200;
const FINEST = milliseconds(15_000);

/** What Prometheus has stored, by `increase` over the window. */
export async function savingsFromPrometheus(
  client: Pick<PrometheusClient, "query" | "queryRange">,
  { url, since, now }: { readonly url: string; readonly since: Milliseconds; readonly now: number },
  factors: EnergyFactors,
): Promise<SourcedSavings> {
  const window = `[${Math.round(inSeconds(since))}s]`;
  const increase = async (by: string, name: string) => client.query(`sum by (${by}) (increase(${name}${window}))`);
  const step = milliseconds(Math.max(FINEST, Math.ceil(since / STEPS / 1000) * 1000));
  const range = { from: instant(now - since), to: instant(now), step };
  const [classes, used, counterfactual, asleep, nodes, present] = await Promise.all([
    increase("class", counters.classes),
    increase("job", counters.used),
    increase("bound", counters.counterfactual),
    increase("job", counters.asleep),
    increase("node", counters.nodes),
    client.queryRange(`count(${counters.used})`, range),
  ]);
  if (used.length === 0 || counterfactual.length === 0 || present.length === 0)
    throw new ConsoleError(
      `Prometheus has no ${used.length === 0 ? counters.used : counters.counterfactual} in the last ${formatDuration(since)}; the dashboard counts it: install it (dashboard.enabled=true) and let Prometheus read its metrics`,
    );
  const sumOf = (samples: readonly PrometheusSample[]): number =>
    samples.reduce((sum, { value }) => sum + (Number.isFinite(value) ? value : 0), 0);
  const of = (samples: readonly PrometheusSample[], label: string, value: string): number =>
    sumOf(samples.filter(({ labels }) => labels[label] === value));
  const all = sumOf(used);
  // Prometheus extrapolates each series on its own: classes share what was used.
  const ofClass = (name: string) => joules((all * of(classes, "class", name)) / (sumOf(classes) || 1));
  const byClass = { performance: ofClass("performance"), standard: ofClass("standard"), idle: ofClass("idle") };
  const bound = (name: string) => joules(of(counterfactual, "bound", name) - all);
  const notUsed: JoulesInterval = { estimate: bound("estimate"), low: bound("low"), high: bound("high") };
  const sleep = sumOf(asleep);
  const totals: EnergyTotals = {
    from: present[0]?.at,
    to: present.at(-1)?.at,
    used: joules(all),
    modelled: undefined,
    byClass,
    byNode: nodes
      .map(({ labels, value, at }) => ({
        node: labels["node"] ?? "",
        used: joules(sumOf([{ labels, value, at }])),
        notUsed: undefined,
      }))
      .toSorted((one, other) => (one.node < other.node ? -1 : 1)),
    notUsed,
    byCause: { caps: joules(notUsed.estimate - sleep), sleep: joules(sleep) },
    coverage: Math.min(1, present.length / (Math.floor(since / step) + 1)),
  };
  return {
    report: savingsReport(totals, factors),
    source: `Prometheus at ${publicUrl(url)}, by increase over ${formatDuration(since)} of the dashboard's counters, and of the operator's for single nodes`,
    notes: [
      ...shorterNote(totals, since, now),
      "Prometheus extrapolates to the ends of the window. Energy not used is not stored by node.",
    ],
  };
}
