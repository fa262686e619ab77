import type { Joules, Seconds } from "../../core/units/index.ts";
import { printable } from "../../platform/log/index.ts";
import type { DemoCheck } from "./checks.ts";
import type { DrainCounts } from "./class-history.ts";
import type { PodCounts } from "./cluster-observer.ts";
import { kilowattHours } from "./view.ts";

/** What a run came to; with --json this is what is printed. */
export interface DemoSummary {
  readonly ok: boolean;
  readonly nodes: number;
  readonly policy: string;
  readonly seed: number;
  readonly seconds: number;
  readonly simulatedSeconds: Seconds;
  /** The speed that was asked for, and the one it ended with. */
  readonly speed: { readonly asked: number; readonly last: number };
  readonly classes: Readonly<Record<string, number>>;
  readonly drains: DrainCounts;
  readonly pods: PodCounts;
  readonly power: { readonly watts: number; readonly cappedWatts: number; readonly uncappedWatts: number };
  readonly energy: { readonly joules: Joules; readonly pue: number | undefined };
  /** In real seconds from the start: every node had its twin, and the jobs that were there at the start had been tried. */
  readonly ready: { readonly twins: number | undefined; readonly jobs: number | undefined };
  /** Cores that the process was busy with since then; undefined where it never came to that. */
  readonly cores: number | undefined;
  readonly memory: { readonly rssBytes: number; readonly peakRssBytes: number };
  /** How late it was: the median over seconds of the median of each, and the worst moment. */
  readonly eventLoop: { readonly medianMs: number; readonly worstMs: number };
  readonly notices: readonly string[];
  readonly checks: readonly DemoCheck[];
}

const MIB = 2 ** 20;

export function summaryText(summary: DemoSummary): string {
  const { drains, pods, energy, memory, checks } = summary;
  const lines = [
    `${summary.nodes} nodes under ${summary.policy} for ${Math.round(summary.seconds)} s: ${hours(summary.simulatedSeconds)} simulated, ${pods.finished} jobs finished, ${kilowattHours(energy.joules)}`,
    `drains: ${drains.deferred} deferred, ${drains.completed} completed, ${drains.takenBack} taken back; at most ${Math.round(memory.peakRssBytes / MIB)} MiB of memory`,
    ...summary.notices,
    ...checks.map(checkText),
  ];
  return `${lines.map(printable).join("\n")}\n`;
}

const hours = (seconds: Seconds): string =>
  seconds < 5400 ? `${Math.round(seconds / 60)} minutes` : `${(seconds / 3600).toFixed(1)} hours`;

function checkText({ name, ok, note, figures }: DemoCheck): string {
  const verdict = ok ? (note === undefined ? "ok    " : "-     ") : "FAILED";
  return `${verdict} ${name}${note === undefined ? "" : ` (${note})`}${ok ? "" : `: ${JSON.stringify(figures)}`}`;
}
