import * as z from "zod";
import { fail, ok, type Result } from "../../../core/units/index.ts";
import { UNKNOWN_CPU_UTIL, UNKNOWN_GPU_UTIL } from "./published-formats.ts";
import { type JobRow, type Trace, traceOfJobs } from "./trace.ts";

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
  return jobs.length === 0 ? fail("it has no job that ran on a GPU") : ok(traceOfJobs(jobs));
}

/** Seconds of "2017-10-07 01:11:39"; NaN for a missing time, which the log writes as None. */
const timeOf = (text: string | null | undefined): number =>
  text === undefined || text === null ? Number.NaN : Date.parse(`${text.replace(" ", "T")}Z`) / 1000;
