import { isSameSpare, type NodeTwinStatus, type PowerMeasurement } from "../api/index.ts";
import { isMeasurementWorthPublishing } from "./measurement.ts";
import type { TwinOutput } from "./predict.ts";

type Rounding = (value: number) => number;

/** The same values as `toFixed` gives, most of them without its text. */
function toPlaces(places: number): Rounding {
  const scale = 10 ** places;
  return (value) => {
    if (Number.isInteger(value)) return value + 0;
    const scaled = value * scale;
    // The product may be rounded across a tie, and large ones are not exact: `toFixed` decides those.
    const isClear = Math.abs(scaled) < 1e9 && Math.abs(Math.abs(scaled % 1) - 0.5) > 1e-6;
    // Adding 0 turns -0 into 0.
    return (isClear ? Math.round(scaled) / scale : Number(value.toFixed(places))) + 0;
  };
}

/** Positive values stay positive: a budget of 0 W would count as none. */
const positive =
  (round: Rounding): Rounding =>
  (value) =>
    round(value) || Number(value.toPrecision(1));

const tenths = toPlaces(1);
const units = toPlaces(0);
/** Below 100 W a whole watt is more than 1 % of the value. */
const power = positive((value) => (value < 100 ? tenths(value) : units(value)));

const ofMeasurement = {
  measuredNodePowerW: power,
  estimatedGpuPowerW: power,
  serverPowerW: power,
  cpuCappedPowerW: power,
  gpuCappedPowerW: power,
  nodeCappedPowerW: power,
  cpuTdpW: power,
  gpuTdpW: power,
  nodeTdpW: power,
  powerTrendWPerMin: tenths,
} as const satisfies Partial<Record<keyof PowerMeasurement, Rounding>>;

const ofStatus = {
  predictedPowerHeadroomScore: tenths,
  predictedCoolingStressScore: tenths,
  coolingStressNow: tenths,
  predictedPsuStressScore: tenths,
  expectedSlowdownPct: tenths,
  hardwareDensityScore: toPlaces(3),
  estimatedPUE: toPlaces(2),
} as const satisfies Partial<Record<keyof TwinOutput, Rounding>>;

const ofCaps = { cpuPct: positive(tenths), gpuPct: positive(tenths) } as const;

/** As the operator publishes it. Rounding happens only here; all computations use exact values. */
export function roundForPublication(output: TwinOutput): TwinOutput {
  const { effectiveCapState, powerMeasurement } = output;
  const status = rounded(output, ofStatus);
  if (effectiveCapState !== undefined) status.effectiveCapState = rounded(effectiveCapState, ofCaps);
  if (powerMeasurement !== undefined) status.powerMeasurement = rounded(powerMeasurement, ofMeasurement);
  return status;
}

function rounded<Fields extends object>(fields: Fields, roundings: Readonly<Record<string, Rounding>>): Fields {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- for access by name
  const copy = { ...fields } as Record<string, unknown>;
  for (const name in roundings) {
    const value = copy[name];
    if (typeof value === "number") copy[name] = roundings[name]?.(value);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same fields, and numbers stay numbers
  return copy as Fields;
}

/**
 * Scores depend on the totals of whole racks and on the weather, so smaller changes wait for the heartbeat. The PUE is published
 * with two decimals and must change by two hundredths: it may alternate between two neighbours, on every node at once.
 */
const SCORE_THAT_MATTERS = 1;
const PUE_THAT_MATTERS = 0.015;
const scores = [
  "predictedPowerHeadroomScore",
  "predictedCoolingStressScore",
  "predictedPsuStressScore",
] as const satisfies readonly (keyof TwinOutput)[];

/** Whether a status must be written before the next heartbeat. This is the only such rule; compare with the published status. */
export const isTwinWorthPublishing = (
  published: NodeTwinStatus | undefined,
  next: TwinOutput & Pick<NodeTwinStatus, "awaitedBy">,
): boolean =>
  published === undefined ||
  published.awaitedBy?.uid !== next.awaitedBy?.uid ||
  published.awaitedBy?.until !== next.awaitedBy?.until ||
  !isSameSpare(published.awaitedBy?.spare, next.awaitedBy?.spare) ||
  published.schedulableClass !== next.schedulableClass ||
  published.hardwareDensityScore !== next.hardwareDensityScore ||
  published.effectiveCapState?.cpuPct !== next.effectiveCapState?.cpuPct ||
  published.effectiveCapState?.gpuPct !== next.effectiveCapState?.gpuPct ||
  isMeasurementWorthPublishing(published.powerMeasurement, next.powerMeasurement) ||
  hasMoved(published.estimatedPUE, next.estimatedPUE, PUE_THAT_MATTERS) ||
  hasStressMoved(published, next) ||
  scores.some((score) => hasMoved(published[score], next[score], SCORE_THAT_MATTERS));

/** It appears with a new class or reading, which are worth publishing. An older CRD drops it: then no pass may write it again. */
const hasStressMoved = ({ coolingStressNow: from }: NodeTwinStatus, { coolingStressNow: to }: TwinOutput): boolean =>
  from !== undefined && hasMoved(from, to, SCORE_THAT_MATTERS);

const hasMoved = (from: number | undefined, to: number | undefined, by: number): boolean =>
  from === undefined || to === undefined ? from !== to : Math.abs(to - from) >= by;
