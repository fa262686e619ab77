import { parseNumber } from "../../../core/units/index.ts";
import type { JobRow } from "./trace.ts";

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
