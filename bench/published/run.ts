import type { Contender } from "../../src/programs/simulate/contenders.ts";
import {
  type ExperimentRun,
  type ReportFigure,
  ratio,
  withoutUndefined,
} from "../../src/programs/simulate/experiment.ts";
import { placementRandom } from "../../src/programs/simulate/placement/kube-placement.ts";
import { quantile } from "../../src/programs/simulate/report/interval.ts";
import type { Trace } from "../../src/programs/simulate/trace/trace.ts";
import type { Arm } from "./arms.ts";
import { type Cluster, STEP_SEC } from "./cluster.ts";
import { type Replay, replay } from "./replay.ts";

export const dropFigures: readonly ReportFigure[] = [
  { key: "dropped", title: "dropped", digits: 0 },
  { key: "accepted", title: "taken", digits: 0 },
  {
    key: "notSubmitted",
    title: "too late",
    digits: 0,
    about: "jobs that arrived after the last step began: neither accepted nor dropped",
  },
  { key: "coreHours", title: "core-h", digits: 0 },
  { key: "gpuHours", title: "GPU-h", digits: 0 },
  { key: "itKWh", title: "IT kWh", digits: 1, compared: "same work" },
  { key: "kWhPerJob", title: "kWh/job", digits: 4, compared: "always" },
  { key: "whPerCoreHour", title: "Wh/core-h", digits: 3, compared: "always" },
  { key: "peakKW", title: "peak kW", digits: 1 },
  { key: "stdKW", title: "std kW", digits: 1 },
  { key: "p99RampKW", title: "p99 ramp kW", digits: 1 },
];

export interface DropSetup {
  readonly trace: Trace;
  readonly cluster: Cluster;
  readonly steps: number;
  readonly seed: number;
}

export function runDrop(
  { trace, cluster, steps, seed }: DropSetup,
  contender: Contender & { readonly arm: Arm },
  onProgress: (share: number) => void,
): ExperimentRun {
  const random = placementRandom(seed);
  const onStep = (step: number): void => onProgress((step + 1) / steps);
  const result = replay({ trace, cluster, arm: contender.arm, steps, random, onStep });
  const figures = dropRunFigures(result);
  const work = workOf(trace, result, steps);
  return {
    contender,
    seed,
    figures: withoutUndefined({
      submitted: result.submitted,
      notSubmitted: trace.length - result.submitted,
      ...figures,
      ...work,
      kWhPerJob: ratio(figures.itKWh, figures.accepted),
      whPerCoreHour: ratio(figures.itKWh * 1000, work.coreHours),
    }),
    done: Uint8Array.from(result.placedOn, (node) => (node === -1 ? 0 : 1)),
  };
}

/** Work done within the steps; jobs still running are cut off at the end. */
function workOf(trace: Trace, { placedOn, submitted }: Replay, steps: number): { coreHours: number; gpuHours: number } {
  let coreSeconds = 0;
  let gpuSeconds = 0;
  for (let job = 0; job < submitted; job++) {
    if (placedOn[job] === -1) continue;
    const start = Math.ceil((trace.submitSec[job] as number) / STEP_SEC) * STEP_SEC;
    const ran = Math.min(trace.durationSec[job] as number, steps * STEP_SEC - start);
    coreSeconds += (trace.cores[job] as number) * ran;
    gpuSeconds += (trace.gpus[job] as number) * ran;
  }
  return { coreHours: coreSeconds / 3600, gpuHours: gpuSeconds / 3600 };
}

/** Results of a replay, from the power at the end of each step. */
interface DropFigures {
  readonly accepted: number;
  readonly dropped: number;
  readonly itKWh: number;
  readonly peakKW: number;
  readonly stdKW: number;
  readonly p99RampKW: number;
}

export function dropRunFigures({ submitted, placedOn, watts }: Replay): DropFigures {
  const accepted = placedOn.reduce((count, node) => (node === -1 ? count : count + 1), 0);
  const kilowatts = watts.map((power) => power / 1000);
  const ramps = kilowatts.subarray(1).map((power, index) => Math.abs(power - (kilowatts[index] as number)));
  return {
    accepted,
    dropped: submitted - accepted,
    itKWh: kilowatts.reduce((sum, power) => sum + power / (3600 / STEP_SEC), 0),
    peakKW: kilowatts.reduce((most, power) => Math.max(most, power), 0),
    stdKW: sampleDeviation(kilowatts),
    p99RampKW: quantile(ramps, 0.99),
  };
}

/** Sample standard deviation (n − 1); 0 for fewer than two values. */
function sampleDeviation(values: Float64Array): number {
  if (values.length < 2) return 0;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}
