import type { Need } from "../../../core/sleep/index.ts";
import { type ReportFigure, ratio, withoutUndefined } from "../experiment.ts";
import { quantile } from "../report/interval.ts";
import type { Trace } from "../trace/trace.ts";
import type { IdleShares } from "./idle-account.ts";
import type { ClusterEnergy, SimulatedNodeState } from "./simulated-cluster.ts";
import type { Promotion } from "./simulated-operator.ts";

/** Energy and work up to a moment. */
export interface ProgressMark {
  readonly atSec: number;
  readonly energy: ClusterEnergy;
  /** Joules that the work would take at the rating of the cores and boards that jobs hold; see `ratedWatts`. */
  readonly ratedJoules: number;
  readonly sleeps: number;
}

/** Raw results of a run. */
export interface QueueRunRecord {
  readonly trace: Trace;
  /** Node of each job; −1 = none. */
  readonly placedOn: Int32Array;
  /** NaN = never. */
  readonly startedAt: Float64Array;
  readonly endedAt: Float64Array;
  readonly endSec: number;
  readonly energy: ClusterEnergy;
  /** Start and end of the window; fewer if the run ended before. */
  readonly marks: readonly ProgressMark[];
  /** Power of the idle cluster at the end. */
  readonly idleWatts: number;
  readonly wattsByMinute: Float64Array;
  readonly peakWatts: number;
  readonly nodes: number;
  /** Changes of nodes from eco to performance; absent without an operator. */
  readonly promotions?: readonly Promotion[] | undefined;
  readonly sleep?: SleepRecord;
}

interface SleepRecord {
  readonly sleeps: number;
  readonly failedBoots: number;
  /** By what the woken nodes were needed for. */
  readonly wakes: Readonly<Record<Need | "other", number>>;
  /** Within the window; absent without one. */
  readonly idle?: IdleShares | undefined;
}

/** A performance job misses its SLO if waiting plus running takes this much longer than at full speed. */
const SLO_SLOWDOWN = 1.05;
/** Lower bound for durations in slowdowns, so that short jobs do not dominate. */
const SHORTEST_SEC = 10;
const KWH = 3.6e6;
const DAY_SEC = 86_400;

export const queueFigures: readonly ReportFigure[] = [
  {
    key: "windowKWhPerWork",
    title: "kWh/work",
    digits: 4,
    compared: "same work",
    about:
      "energy over work, both from a third of the arrival time to its end; work is what the cores and boards of jobs would draw at their rating, in kWh",
  },
  { key: "completed", title: "done", digits: 0 },
  { key: "unfinished", title: "not done", digits: 0 },
  { key: "itKWh", title: "IT kWh", digits: 1, compared: "same work" },
  {
    key: "sameTimeKWh",
    title: "kWh, same time",
    digits: 1,
    compared: "same work",
    besideOthers: true,
    about: "including idle power until the slowest run of the same jobs ends",
  },
  { key: "emptyNodesPct", title: "% by empty nodes", digits: 1 },
  { key: "kWhPerCoreHour", title: "CPU kWh/core-h", digits: 5, compared: "same work" },
  { key: "kWhPerGpuHour", title: "GPU kWh/GPU-h", digits: 4, compared: "same work" },
  { key: "peakKW", title: "peak kW", digits: 1, compared: "same work" },
  { key: "p99RampKW", title: "p99 ramp kW", digits: 1 },
  { key: "waitMeanSec", title: "wait s", digits: 0 },
  { key: "waitP95Sec", title: "wait p95", digits: 0 },
  { key: "performanceWaitMeanSec", title: "perf. wait s", digits: 0, about: "performance jobs only" },
  { key: "performanceWaitP95Sec", title: "perf. p95", digits: 0 },
  { key: "performanceWaitP99Sec", title: "perf. p99", digits: 0, compared: "absolute" },
  {
    key: "slowdownMean",
    title: "slowdown",
    digits: 3,
    compared: "same work",
    about: `mean of (waiting + running) / time at full speed, with a minimum of ${SHORTEST_SEC} s for the latter`,
  },
  { key: "standardSlowdownMean", title: "std. slowdown", digits: 3, compared: "same work", about: "of standard jobs" },
  {
    key: "sloMissPct",
    title: "SLO miss %",
    digits: 2,
    compared: "absolute",
    about: `performance jobs with a slowdown above ${SLO_SLOWDOWN}: because they waited or ran slower`,
  },
  {
    key: "slowedByCapsPct",
    title: "slowed %",
    digits: 2,
    about: `performance jobs that ran more than ${Math.round((SLO_SLOWDOWN - 1) * 100)} % longer than at full speed, not counting waits`,
  },
  {
    key: "ranLongerPct",
    title: "ran longer %",
    digits: 3,
    about: "additional run time of all jobs compared with full speed: the effect of caps",
  },
  { key: "ranLongerMostPct", title: "at most %", digits: 1, about: "the same of the job that was slowed most" },
  { key: "makespanHours", title: "hours", digits: 2 },
  {
    key: "asleepMean",
    title: "asleep",
    digits: 1,
    ofSleep: true,
    about:
      "mean number of nodes that were off; this and the next three columns are from a third of the arrival time to its end",
  },
  { key: "cyclesPerNodeDay", title: "cycles", digits: 2, ofSleep: true, about: "sleeps per node and day" },
  { key: "offPct", title: "% off", digits: 2, ofSleep: true, about: "share of the energy that nodes drew while off" },
  {
    key: "transitionPct",
    title: "% transitions",
    digits: 2,
    ofSleep: true,
    about: "share of the energy that nodes drew while they shut down, booted or hung after a failed boot",
  },
  { key: "wakesForPending", title: "wakes, pending", digits: 1, ofSleep: true, about: "nodes woken for pending jobs" },
  { key: "wakesForReserve", title: "wakes, reserve", digits: 1, ofSleep: true, about: "nodes woken for the reserve" },
  { key: "wakesForOther", title: "wakes, other", digits: 1, ofSleep: true },
  { key: "failedBoots", title: "failed boots", digits: 1, ofSleep: true },
  {
    key: "fullSpeedPct",
    title: "% full speed",
    digits: 1,
    ofSleep: true,
    about:
      "share of the energy of nodes that run jobs without a cap; this and the next columns are from a third of the arrival time to its end",
  },
  {
    key: "cappedPct",
    title: "% capped",
    digits: 1,
    ofSleep: true,
    about: "the same of nodes that run jobs under eco caps",
  },
  {
    key: "emptyReservePct",
    title: "% reserve",
    digits: 2,
    ofSleep: true,
    about:
      "share of empty nodes that are on for the reserve; it and the next three are of the power at each full minute",
  },
  { key: "emptyFamilyPct", title: "% family", digits: 2, ofSleep: true, about: "of those that their family keeps on" },
  {
    key: "emptyZonePct",
    title: "% zone",
    digits: 2,
    ofSleep: true,
    about: "of those that nothing needs, while half of their zone is asleep",
  },
  {
    key: "emptyOtherPct",
    title: "% other empty",
    digits: 2,
    ofSleep: true,
    about: "of other empty nodes, most of which have not been empty for long enough",
  },
  {
    key: "freeBoards",
    title: "free boards",
    digits: 1,
    ofSleep: true,
    about: "mean number of GPUs without a job on nodes that run jobs",
  },
];

export function queueRunFigures(story: QueueRunRecord): {
  figures: Record<string, number>;
  done: Uint8Array;
} {
  const { trace, startedAt, endedAt, endSec, energy, marks, idleWatts, wattsByMinute, peakWatts } = story;
  const done = Uint8Array.from(endedAt, (end) => (Number.isNaN(end) ? 0 : 1));
  const waits: number[] = [];
  const performanceWaits: number[] = [];
  const standardSlowdowns: number[] = [];
  const slowdowns: number[] = [];
  let coreSeconds = 0;
  let gpuSeconds = 0;
  let ran = 0;
  let durations = 0;
  let missed = 0;
  let slowed = 0;
  let ranLongest = 1;
  for (let job = 0; job < trace.length; job++) {
    if (done[job] === 0) continue;
    const start = startedAt[job] as number;
    const end = endedAt[job] as number;
    const submit = trace.submitSec[job] as number;
    const duration = trace.durationSec[job] as number;
    coreSeconds += (trace.cores[job] as number) * duration;
    gpuSeconds += (trace.gpus[job] as number) * duration;
    waits.push(start - submit);
    ran += end - start;
    // Rounding of times hides nothing longer than this.
    if (duration >= SHORTEST_SEC) ranLongest = Math.max(ranLongest, (end - start) / duration);
    durations += duration;
    const slowdown = Math.max(1, (end - submit) / Math.max(duration, SHORTEST_SEC));
    slowdowns.push(slowdown);
    if (trace.performance[job] !== 1) {
      standardSlowdowns.push(slowdown);
      continue;
    }
    performanceWaits.push(start - submit);
    if (slowdown > SLO_SLOWDOWN) missed++;
    if (end - start > duration * SLO_SLOWDOWN) slowed++;
  }
  const ramps = wattsByMinute.subarray(1).map((power, index) => Math.abs(power - (wattsByMinute[index] as number)));
  const joules = energy.total;
  const [opened, closed] = marks;
  return {
    done,
    figures: withoutUndefined({
      jobs: trace.length,
      completed: waits.length,
      windowKWhPerWork:
        opened && closed && ratio(closed.energy.total - opened.energy.total, closed.ratedJoules - opened.ratedJoules),
      windowHours: opened && closed && (closed.atSec - opened.atSec) / 3600,
      unfinished: trace.length - waits.length,
      coreHours: coreSeconds / 3600,
      gpuHours: gpuSeconds / 3600,
      itKWh: joules / KWH,
      sameTimeKWh: joules / KWH,
      emptyNodesPct: ratio(energy.byState.empty * 100, joules),
      kWhPerCoreHour: ratio(energy.cpu / KWH, coreSeconds / 3600),
      kWhPerGpuHour: ratio(energy.gpu / KWH, gpuSeconds / 3600),
      peakKW: peakWatts / 1000,
      p99RampKW: quantile(ramps, 0.99) / 1000,
      waitMeanSec: mean(waits),
      waitP95Sec: p95(waits),
      performanceWaitMeanSec: mean(performanceWaits),
      performanceWaitP95Sec: p95(performanceWaits),
      performanceWaitP99Sec: quantileOf(performanceWaits, 0.99),
      slowdownMean: mean(slowdowns),
      standardSlowdownMean: mean(standardSlowdowns),
      sloMisses: missed,
      sloMissPct: ratio(missed * 100, performanceWaits.length),
      slowedByCaps: slowed,
      slowedByCapsPct: ratio(slowed * 100, performanceWaits.length),
      // Rounding of sums could give a negative zero-like difference.
      ranLongerPct: ratio(Math.max(0, ran - durations) * 100, durations),
      ranLongerMostPct: (ranLongest - 1) * 100,
      makespanHours: endSec / 3600,
      idleKW: idleWatts / 1000,
      ...sleepFigures(story),
    }),
  };
}

const NOTHING_YET: Pick<ProgressMark, "atSec" | "sleeps"> & { readonly energy: undefined } = {
  atSec: 0,
  sleeps: 0,
  energy: undefined,
};

/** Without a window of the whole run. */
function sleepFigures({ sleep, marks, endSec, energy, nodes }: QueueRunRecord): Record<string, number | undefined> {
  if (sleep === undefined) return {};
  const [opened, closed] = marks;
  const first = opened && closed ? opened : NOTHING_YET;
  const last = closed ?? { atSec: endSec, energy, sleeps: sleep.sleeps };
  const time = last.atSec - first.atSec;
  const joulesIn = (...states: readonly SimulatedNodeState[]): number =>
    states.reduce((sum, state) => sum + last.energy.byState[state] - (first.energy?.byState[state] ?? 0), 0);
  const total = last.energy.total - (first.energy?.total ?? 0);
  const { pending, waiting, reserve, learning, family, zone, swap, other } = sleep.wakes;
  return {
    asleepMean: ratio(last.energy.offSeconds - (first.energy?.offSeconds ?? 0), time),
    cyclesPerNodeDay: ratio((last.sleeps - first.sleeps) * DAY_SEC, nodes * time),
    offPct: ratio(joulesIn("off") * 100, total),
    transitionPct: ratio(joulesIn("stopping", "waking", "failed") * 100, total),
    wakesForPending: pending + waiting,
    wakesForReserve: reserve + learning,
    wakesForOther: family + zone + swap + other,
    failedBoots: sleep.failedBoots,
    fullSpeedPct: ratio(joulesIn("full") * 100, total),
    cappedPct: ratio(joulesIn("eco") * 100, total),
    emptyReservePct: sleep.idle?.empty.reserve,
    emptyFamilyPct: sleep.idle?.empty.family,
    emptyZonePct: sleep.idle?.empty.zone,
    emptyOtherPct: sleep.idle?.empty.other,
    freeBoards: sleep.idle?.freeBoards,
    ...Object.fromEntries(
      (["off", "stopping", "waking", "failed"] as const).map((state) => [`${state}KWh`, energy.byState[state] / KWH]),
    ),
  };
}

const quantileOf = (values: readonly number[], share: number): number | undefined =>
  values.length > 0 ? quantile(Float64Array.from(values), share) : undefined;
const p95 = (values: readonly number[]): number | undefined => quantileOf(values, 0.95);

const mean = (values: readonly number[]): number | undefined =>
  ratio(
    values.reduce((sum, value) => sum + value, 0),
    values.length,
  );
