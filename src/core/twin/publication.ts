import type { PowerMeasurement } from "../api/index.ts";
import type { TwinOutput } from "./predict.ts";

type Rounding = (value: number) => number;

const toPlaces =
  (places: number): Rounding =>
  (value) =>
    // Adding 0 turns -0 into 0.
    Number(value.toFixed(places)) + 0;

/** Positive values stay positive: a budget of 0 W would count as none. */
const positive =
  (round: Rounding): Rounding =>
  (value) =>
    round(value) || Number(value.toPrecision(1));

/** Below 100 W a whole watt is more than 1 % of the value. */
const power = positive((value) => toPlaces(value < 100 ? 1 : 0)(value));
const tenths = toPlaces(1);

const ofMeasurement = {
  measuredNodePowerW: power,
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
  predictedPsuStressScore: tenths,
  hardwareDensityScore: toPlaces(3),
  estimatedPUE: toPlaces(2),
} as const satisfies Partial<Record<keyof TwinOutput, Rounding>>;

const ofCaps = { cpuPct: positive(tenths), gpuPct: positive(tenths) } as const;

/**
 * The status as the operator publishes it. Values are rounded for `kubectl get nodetwins`, since no meter or model is exact to
 * 15 digits. Rounding happens only here; all computations use exact values.
 */
export function roundForPublication(output: TwinOutput): TwinOutput {
  const { effectiveCapState, powerMeasurement } = output;
  return {
    ...rounded(output, ofStatus),
    ...(effectiveCapState && { effectiveCapState: rounded(effectiveCapState, ofCaps) }),
    ...(powerMeasurement && { powerMeasurement: rounded(powerMeasurement, ofMeasurement) }),
  };
}

function rounded<Fields extends object>(fields: Fields, roundings: Readonly<Record<string, Rounding>>): Fields {
  const entries = Object.entries(fields).map(([name, value]: [string, unknown]): [string, unknown] => {
    const round = roundings[name];
    return [name, round !== undefined && typeof value === "number" ? round(value) : value];
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same fields, and numbers stay numbers
  return Object.fromEntries(entries) as Fields;
}
