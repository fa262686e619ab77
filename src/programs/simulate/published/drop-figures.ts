import { quantile } from "../report/quantile.ts";
import type { Replay } from "./replay.ts";
import { STEP_SEC } from "./step.ts";

/** Results of a `drop` replay, from the power at the end of each step. */
export interface DropFigures {
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
