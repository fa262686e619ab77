import type { SchedulableClass } from "../../core/api/index.ts";
import { counted } from "../../core/report/index.ts";
import { type Instant, isoTime, type Milliseconds, milliseconds, type Watts } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";
import type { DrainCounts, PodCounts, SleepFigures } from "../audit/index.ts";
import type { SavingsAnswer } from "../dashboard/index.ts";

export interface DemoStatus {
  /** Simulated time. */
  readonly time: Instant;
  readonly speed: { readonly reached: number; readonly wanted: number };
  /** Real time. */
  readonly running: Milliseconds;
  readonly duration: Milliseconds | undefined;
  /** Of processors and boards, as caps limit it. */
  readonly power: { readonly drawn: Watts; readonly capped: number };
  readonly pue: number | undefined;
  readonly classes: Readonly<Record<SchedulableClass, number>>;
  readonly betweenStates: number;
  readonly sleep: SleepFigures | undefined;
  readonly drains: DrainCounts | undefined;
  readonly pods: PodCounts;
  readonly energy: EnergyFigures | undefined;
  readonly notice: string | undefined;
}

/** Energy at the wall, used and not used, as the dashboard and `joulie savings --since all` show it. */
export type EnergyFigures = Pick<SavingsAnswer, "usedKwh" | "notUsedKwh" | "notUsedPct">;

/** Below this share of the wanted speed the reached one is named as well. */
const SLOWED = 0.9;

export function statusLine({ time, speed, running, duration, energy, pue, notice }: DemoStatus): string {
  const clock = duration === undefined ? clockText(running) : `${clockText(running)} of ${clockText(duration)}`;
  return [
    `demo ${timeOfDay(time)} ${speedText(speed)}`,
    clock,
    savedText(energy),
    ...(pue === undefined ? [] : [`PUE ${pue.toFixed(2)}`]),
    ...(notice === undefined ? [] : [notice]),
  ].join(" | ");
}

export function plainLine(status: DemoStatus): string {
  const { drains, sleep, pods, classes, power, betweenStates } = status;
  const { performance, eco, draining, asleep } = classes;
  return [
    `${timeOfDay(status.time)} ${speedText(status.speed)}`,
    `${kilowatts(power.drawn)} of ${kilowatts(power.capped)}`,
    `${performance} performance, ${eco} eco${sleep === undefined ? `, ${draining} draining` : `, ${asleep - betweenStates} asleep, ${betweenStates} between`}`,
    ...(drains === undefined ? [] : [`drains ${drains.deferred} deferred, ${drains.completed} completed`]),
    ...(sleep === undefined ? [] : [`sleeps ${sleep.sleeps}, wakes ${sleep.wakes}`]),
    `pods ${pods.running} running, ${pods.waiting} waiting, ${pods.finished} finished`,
    savedText(status.energy),
  ].join(" | ");
}

function savedText(energy: EnergyFigures | undefined): string {
  if (energy === undefined) return "no energy counted yet";
  const share = (energy.notUsedPct?.estimate ?? 0).toFixed(1);
  return `${formatKilowattHours(energy.usedKwh)}, ${formatKilowattHours(energy.notUsedKwh.estimate)} saved (${share} %)`;
}

export function sleepText({ sleeps, wakes, failedWakes, ...waits }: SleepFigures): string {
  const { podsThatWaited, longestWaitSeconds: longest, longestPerformanceWaitSeconds: performance } = waits;
  if (sleeps === 0) return "none yet: a node sleeps when it has been empty for five minutes of the cluster's time";
  const failed = failedWakes > 0 ? `, ${failedWakes} failed` : "";
  const waited =
    longest === undefined
      ? "no pod waited for a wake"
      : `${counted(podsThatWaited, "pod")} waited for a wake, longest ${minutes(longest)}${performance === undefined ? "" : ` (performance ${minutes(performance)})`}`;
  return `${counted(sleeps, "sleep")}, ${counted(wakes, "wake")}${failed}; ${waited}`;
}

/** Names both speeds where less is reached than wanted: time waits for late programs. */
function speedText({ reached, wanted }: DemoStatus["speed"]): string {
  const isReached = reached > SLOWED * wanted;
  if (wanted === 1 && isReached) return "in real time";
  const speed = Number(reached.toPrecision(2));
  return isReached ? `at ${speed} times the speed` : `at ${speed}x of ${wanted}x`;
}

/** Adding 0 makes 0 of -0. */
export const formatKilowattHours = (energy: number): string => `${(Math.round(energy * 10) / 10 + 0).toFixed(1)} kWh`;
const kilowatts = (watts: number): string => `${(watts / 1000).toFixed(1)} kW`;
const timeOfDay = (at: Instant): string => isoTime(at).slice(11, 19);
const minutes = (seconds: number): string => `${(seconds / 60).toFixed(1)} min`;

function clockText(length: Milliseconds): string {
  const seconds = Math.floor(length / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Client of the dashboard's account of energy. The demo counts none of its own, so that there is one figure. */
export class SavingsPage {
  readonly #url: URL;
  readonly #http = new HttpClient({ clock: systemClock, timeout: milliseconds(2000) });
  #latest: EnergyFigures | undefined;

  constructor(dashboard: string) {
    this.#url = new URL("/api/savings", dashboard);
  }

  get latest(): EnergyFigures | undefined {
    return this.#latest;
  }

  async read(): Promise<void> {
    try {
      const answer = (await this.#http.json({ url: this.#url })) as SavingsAnswer;
      if (answer.coverage !== null && answer.coverage > 0) this.#latest = answer;
    } catch {
      // The dashboard is busy or about to stop.
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}
