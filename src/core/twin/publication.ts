import type { PowerMeasurement } from "../api/index.ts";
import type { TwinOutput } from "./predict.ts";

type Rounding = (value: number) => number;

const toPlaces =
  (places: number): Rounding =>
  (value) =>
    // Adding 0 makes 0 of -0.
    Number(value.toFixed(places)) + 0;

/** What is above 0 stays above 0: a budget of 0 W would be none at all. */
const positive =
  (round: Rounding): Rounding =>
  (value) =>
    round(value) || Number(value.toPrecision(1));

/** Below 100 W a whole watt would be more than 1 % of the figure. */
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
 * The status as the operator publishes it. People read these figures in `kubectl get nodetwins`, and no meter or model is exact
 * to 15 digits. The computation itself stays exact: figures are rounded here and nowhere else.
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
