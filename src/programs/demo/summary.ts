import type { Joules, Seconds } from "../../core/units/index.ts";
import { printable } from "../../platform/log/index.ts";
import type { ClusterCheck, DrainCounts, PodCounts, SleepFigures } from "../audit/index.ts";
import { type EnergyFigures, formatKilowattHours, sleepText } from "./status-line.ts";

/** The result of a run, as printed with --json. */
export interface DemoSummary {
  readonly ok: boolean;
  readonly nodes: number;
  readonly preset: string;
  readonly policy: string;
  readonly seed: number;
  readonly seconds: number;
  readonly simulatedSeconds: Seconds;
  readonly speed: { readonly asked: number; readonly last: number };
  readonly classes: Readonly<Record<string, number>>;
  readonly drains: DrainCounts;
  readonly sleep?: SleepFigures;
  readonly pods: PodCounts;
  readonly power: { readonly watts: number; readonly cappedWatts: number; readonly uncappedWatts: number };
  readonly energy: {
    /** At the wall, used and not used, as the dashboard counts it; undefined if it counted nothing. */
    readonly account: EnergyFigures | undefined;
    /** What is true in the simulation: whole servers since the start, and with the same jobs without caps and always on. */
    readonly simulated: { readonly wallJoules: Joules; readonly alwaysOnJoules: Joules };
    readonly pue: number | undefined;
  };
  /** Real seconds until every node had a twin, and until every initial job had its first scheduling attempt. */
  readonly ready: { readonly twins: number | undefined; readonly jobs: number | undefined };
  readonly cores: number | undefined;
  readonly memory: { readonly rssBytes: number; readonly peakRssBytes: number };
  /** Event-loop delay: the median of the per-second medians, and the maximum. */
  readonly eventLoop: { readonly medianMs: number; readonly worstMs: number };
  readonly notices: readonly string[];
  readonly checks: readonly ClusterCheck[];
}

const MIB = 2 ** 20;

export function summaryText(summary: DemoSummary): string {
  const { drains, sleep, pods, energy, memory, checks } = summary;
  const lines = [
    `${summary.nodes} nodes with ${summary.preset} (${summary.policy}) for ${Math.round(summary.seconds)} s: ${hours(summary.simulatedSeconds)} simulated, ${pods.finished} jobs finished`,
    `${sleep === undefined ? drainText(drains) : sleepText(sleep)}; at most ${Math.round(memory.peakRssBytes / MIB)} MiB of memory`,
    energySummary(energy.account),
    ...summary.notices,
    ...checks.map(checkText),
  ];
  return `${lines.map(printable).join("\n")}\n`;
}

const drainText = ({ deferred, completed, takenBack }: DrainCounts): string =>
  `drains: ${deferred} deferred, ${completed} completed, ${takenBack} taken back`;

export function energySummary(account: EnergyFigures | undefined): string {
  if (account === undefined) return "energy at the wall: not counted";
  const { usedKwh, notUsedKwh, notUsedPct } = account;
  return `energy at the wall: ${formatKilowattHours(usedKwh)}; saved by caps and sleep: ${formatKilowattHours(notUsedKwh.estimate)} (${(notUsedPct?.estimate ?? 0).toFixed(1)} %), estimated as by \`joulie savings\``;
}

const hours = (seconds: Seconds): string =>
  seconds < 5400 ? `${Math.round(seconds / 60)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;

function checkText({ name, ok, note, figures }: ClusterCheck): string {
  const verdict = ok ? (note === undefined ? "ok    " : "-     ") : "FAILED";
  return `${verdict} ${name}${note === undefined ? "" : ` (${note})`}${ok ? "" : `: ${JSON.stringify(figures)}`}`;
}
