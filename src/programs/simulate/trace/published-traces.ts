import * as z from "zod";
import { fail, parseNumber, type Result } from "../../../core/units/index.ts";
import { type JobRow, type Trace, traceOfJobs } from "./trace.ts";

/** Utilisation that traces without measurements are run with: the priors of the energy scoring. */
const UNKNOWN_CPU_UTIL = 0.6;
const UNKNOWN_GPU_UTIL = 0.7;

/** Columns of the pod list of Alibaba's cluster-trace-gpu-v2023 that are read. */
const COLUMNS = [
  "cpu_milli",
  "num_gpu",
  "gpu_milli",
  "qos",
  "creation_time",
  "deletion_time",
  "scheduled_time",
] as const;

/** Classes of service that ask for full speed. */
const PERFORMANCE_QOS: ReadonlySet<string> = new Set(["LS", "Guaranteed"]);

/** Milli-GPUs of a whole board. */
const WHOLE = 1000;

/** The place of each column; undefined if the header is not one of these pod lists. */
export function alibabaPlaces(header: readonly string[]): ReadonlyMap<string, number> | undefined {
  const places = new Map(COLUMNS.map((name) => [name as string, header.indexOf(name)]));
  return [...places.values()].includes(-1) ? undefined : places;
}

/**
 * A pod as a job. A pod that was never scheduled or has not ended has no duration and is left out: undefined. Pods that share
 * a board get a board of their own here, used in proportion to their share. The list has no utilisation.
 */
export function alibabaJob(cells: readonly string[], places: ReadonlyMap<string, number>): JobRow | undefined {
  const text = (name: (typeof COLUMNS)[number]): string => cells[places.get(name) ?? -1]?.trim() ?? "";
  const number = (name: (typeof COLUMNS)[number]): number => {
    const parsed = parseNumber(text(name));
    return parsed.ok ? parsed.value : Number.NaN;
  };
  const [created, scheduled, deleted] = [number("creation_time"), number("scheduled_time"), number("deletion_time")];
  const [milliCpu, gpus] = [number("cpu_milli"), number("num_gpu")];
  const durationSec = deleted - scheduled;
  if (!(created >= 0 && durationSec > 0 && milliCpu >= 0 && Number.isInteger(gpus) && gpus >= 0)) return undefined;
  const share = gpus === 1 ? Math.min(1, number("gpu_milli") / WHOLE) : 1;
  const performance = PERFORMANCE_QOS.has(text("qos"));
  return {
    submitSec: created,
    cores: milliCpu / 1000,
    gpus,
    performance,
    cpuUtil: UNKNOWN_CPU_UTIL,
    gpuUtil: gpus > 0 && share > 0 ? UNKNOWN_GPU_UTIL * share : 0,
    durationSec,
    // Whole boards train; shares of a board serve requests.
    computeBound: gpus > 0 ? share === 1 : performance,
  };
}

/** The job log of Microsoft's Philly traces names the GPUs of a job, not its cores. */
const CORES_PER_GPU = 8;

const attempt = z.object({
  start_time: z.string().nullish(),
  end_time: z.string().nullish(),
  detail: z.array(z.object({ gpus: z.array(z.string()) })).nullish(),
});
const philly = z.array(z.object({ submitted_time: z.string().nullish(), attempts: z.array(attempt).nullish() }));

/**
 * Reads `cluster_job_log` of the Philly traces. A job runs for the time of all its attempts, on the GPUs of the last one; one
 * that spread over several servers becomes a job for each server. Jobs that never ran are left out. The log has neither
 * classes nor utilisation: all jobs are standard training, see --performance-share.
 */
export function readPhilly(text: string): Result<Trace, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return fail(`it starts like JSON but is not: ${error instanceof Error ? error.message : String(error)}`);
  }
  const log = philly.safeParse(parsed);
  if (!log.success) {
    const [issue] = log.error.issues;
    return fail(`it is no Philly job log: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? "unknown problem"}`);
  }
  const jobs: JobRow[] = [];
  for (const { submitted_time, attempts } of log.data) {
    const submitSec = timeOf(submitted_time);
    const runs = (attempts ?? []).map(({ start_time, end_time }) => timeOf(end_time) - timeOf(start_time));
    const durationSec = runs.filter((run) => run > 0).reduce((sum, run) => sum + run, 0);
    if (Number.isNaN(submitSec) || durationSec === 0) continue;
    const last = attempts?.findLast(({ detail }) => (detail?.length ?? 0) > 0);
    for (const { gpus } of last?.detail ?? []) {
      if (gpus.length === 0) continue;
      jobs.push({
        submitSec,
        cores: CORES_PER_GPU * gpus.length,
        gpus: gpus.length,
        performance: false,
        cpuUtil: UNKNOWN_CPU_UTIL,
        gpuUtil: UNKNOWN_GPU_UTIL,
        durationSec,
        computeBound: true,
      });
    }
  }
  return jobs.length === 0 ? fail("it has no job that ran on a GPU") : traceOfJobs(jobs);
}

/** Seconds of "2017-10-07 01:11:39"; NaN for a missing time, which the log writes as None. */
const timeOf = (text: string | null | undefined): number =>
  text === undefined || text === null ? Number.NaN : Date.parse(`${text.replace(" ", "T")}Z`) / 1000;
