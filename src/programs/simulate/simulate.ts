import { basename } from "node:path";
import type { ErrorCode } from "../../core/api/index.ts";
import { inSeconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { printable, printableLine } from "../../platform/log/index.ts";
import { contendersFrom, type SimulateConfig } from "./config.ts";
import { type Contender, contenderName } from "./contenders.ts";
import type { Experiment, ExperimentRun, SleepOptions } from "./experiment.ts";
import { queueExperiment } from "./queue/experiment.ts";
import { compareArms } from "./report/compare.ts";
import { Progress } from "./report/progress.ts";
import { renderComparison, renderRuns } from "./report/render.ts";
import { openTrace } from "./trace/read.ts";
import { MAX_JOBS } from "./trace/trace.ts";

const TRACE_ERROR: ErrorCode = "JOULIE_E_TRACE";
const TOO_MANY_JOBS: ErrorCode = "JOULIE_E_TOO_MANY_JOBS";

/** Dependencies of a simulation on its process. */
export interface SimulateEnvironment {
  /** For wall time and progress only: results do not depend on it. */
  readonly clock: Pick<Clock, "monotonic">;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Where progress is shown; absent = nowhere. */
  readonly progress?: ((text: string) => void) | undefined;
}

/** An experiment to run, and what to print of it. */
export interface ExperimentRequest {
  /** The command, for error messages. */
  readonly command: string;
  readonly experiment: Experiment;
  /** Conditions printed before those of the experiment. */
  readonly conditions: Readonly<Record<string, string>>;
  readonly trace: string | undefined;
  readonly contenders: readonly Contender[];
  /** Compares the other contenders with the first. */
  readonly compares: boolean;
  readonly firstSeed: number;
  readonly seeds: number;
  readonly json: boolean;
}

/** Runs every arm on every seed, prints the results, and returns the exit code. */
export async function simulate(config: SimulateConfig, world: SimulateEnvironment): Promise<number> {
  const { TRACE, CLUSTER } = config;
  const opened = TRACE === undefined ? undefined : await openTrace(TRACE);
  if (opened?.ok === false) return traceFailed("joulie simulate", opened.error, world);
  const experiment = queueExperiment(CLUSTER, {
    trace: opened?.value,
    nodes: config.NODES,
    hours: config.HOURS,
    load: config.LOAD,
    wallPower: config.WALL_POWER,
    bindBoards: config.BIND_BOARDS,
    performanceShare: config.PERFORMANCE_SHARE,
    ecoMaxSlowdown: config.ECO_MAX_SLOWDOWN_PCT,
    ecoClockShare: config.ECO_CLOCK_SHARE,
    sleep: sleepOptionsOf(config),
  });
  const request: ExperimentRequest = {
    command: "joulie simulate",
    experiment,
    conditions: { cluster: CLUSTER },
    trace: TRACE,
    contenders: contendersFrom(config) ?? [],
    compares: config.COMPARE !== undefined,
    firstSeed: config.SEED,
    seeds: config.SEEDS,
    json: config.JSON,
  };
  return runExperiment(request, world);
}

/** Reports a trace that cannot be read, and returns the exit code. */
export function traceFailed(command: string, problem: string, world: SimulateEnvironment): number {
  world.err(printableLine(`${command}: ${problem} (${TRACE_ERROR})\n`));
  return 1;
}

/** Runs every contender on every seed and prints the results. Returns the exit code. */
export function runExperiment(request: ExperimentRequest, world: SimulateEnvironment): number {
  const { command, experiment } = request;
  const started = world.clock.monotonic();
  const jobs = experiment.expectedJobs;
  if (jobs > MAX_JOBS) {
    world.err(
      `${command}: about ${Math.round(jobs)} jobs are more than ${MAX_JOBS}; ask for fewer --hours or --nodes (${TOO_MANY_JOBS})\n`,
    );
    return 1;
  }
  const runs = runAll(request, new Progress(world.clock, world.progress));
  const seconds = (world.clock.monotonic() - started) / 1000;
  const conditions = {
    ...request.conditions,
    ...experiment.conditions,
    ...(request.trace === undefined ? {} : { trace: basename(request.trace) }),
  };
  const sleeps = runs.some(({ contender }) => contender.sleep === true);
  const figures = experiment.figures.filter(({ ofSleep }) => sleeps || ofSleep !== true);
  const comparison = request.compares ? compareArms(runs, figures) : undefined;
  if (request.json) {
    // `seconds` is wall time: the only value that differs between runs.
    world.out(
      `${JSON.stringify({ ...conditions, ...comparison, ...reported(runs, comparison !== undefined), seconds })}\n`,
    );
    return 0;
  }
  const facts = Object.entries(conditions).map(([name, value]) => `${name} ${legible(value)}`);
  world.out(`${printable(facts.join(", "))}\n\n`);
  world.out(comparison === undefined ? renderRuns(runs, figures) : renderComparison(comparison, figures));
  return 0;
}

const sleepOptionsOf = (config: SimulateConfig): SleepOptions => ({
  bootCpu: config.BOOT_CPU && inSeconds(config.BOOT_CPU),
  bootGpu: config.BOOT_GPU && inSeconds(config.BOOT_GPU),
  failedBoots: config.BOOT_FAILURES,
  reserveQuantile: config.SLEEP_RESERVE_QUANTILE,
  zoneShare: config.SLEEP_ZONE_SHARE,
  after: config.SLEEP_AFTER,
});

/** Seed by seed, so that paired runs follow each other. */
function runAll(request: ExperimentRequest, progress: Progress): readonly ExperimentRun[] {
  const { experiment, contenders, firstSeed: first, seeds } = request;
  const runs: ExperimentRun[] = [];
  const all = contenders.length * seeds;
  for (let index = 0; index < seeds; index++) {
    const seed = first + index;
    const trace = experiment.traceOf(seed);
    for (const contender of contenders) {
      const what = `${contenderName(contender)}, seed ${seed}`;
      runs.push(experiment.run(trace, contender, seed, (share) => progress.at((runs.length + share) / all, what)));
    }
  }
  return experiment.settle(runs);
}

/** Rounds: the hours of a trace are seldom a round number. */
const legible = (value: string | number): string =>
  typeof value === "number" ? String(Number(value.toPrecision(6))) : value;

/** A single run is printed flat, several as a list. */
function reported(runs: readonly ExperimentRun[], compared: boolean): object {
  const listed = runs.map(({ contender, seed, figures }) => ({ ...contender, seed, ...figures }));
  return listed.length === 1 && !compared ? { ...listed[0] } : { runs: listed };
}
