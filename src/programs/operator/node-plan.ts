import type { PowerReading, TwinOutput } from "../../core/twin/index.ts";
import type { Celsius, Instant, Watts, WattsPerMinute } from "../../core/units/index.ts";
import type { Target } from "./target.ts";

/** All that was decided about one node, and why. The very same object as in the pass before where nothing is another. */
export interface NodePlan extends Target {
  readonly status: TwinOutput;
}

/** What surrounds a node: the air it breathes, and what cooling costs there. */
export interface Surroundings {
  readonly ambient: Celsius;
  readonly pue: number;
}

/** The figures a twin is computed from, beside its target. */
export interface TwinFigures extends Surroundings {
  readonly reading: PowerReading | undefined;
  readonly trend: WattsPerMinute;
  readonly supplyTotal: Watts | undefined;
}

/** A plan, and what it was made from. */
export interface Twinned {
  readonly plan: NodePlan;
  readonly target: Target;
  readonly figures: TwinFigures;
}

/** What a plan says of a node at a moment. */
export function asOf({ powerMeasurement, ...rest }: TwinOutput, now: Instant): TwinOutput {
  if (powerMeasurement?.source !== "static")
    return powerMeasurement === undefined ? rest : { ...rest, powerMeasurement };
  return { ...rest, powerMeasurement: { ...powerMeasurement, measuredAt: new Date(now).toISOString() } };
}
