import { type Celsius, celsius, type Seconds, seconds, type Watts } from "../units/index.ts";

/** A single thermal mass, heated by the node's power and cooled by the inlet air. */
export interface ThermalModel {
  /** Steady-state temperature rise above the inlet air, per watt. */
  readonly degreesPerWatt: number;
  /** Time constant: 63 % of the way to the steady state. */
  readonly timeConstant: Seconds;
  /** Thresholds at which thermal throttling starts and stops. They differ to provide hysteresis. */
  readonly throttleAt: Celsius;
  readonly resumeAt: Celsius;
  /** The clock during thermal throttling. */
  readonly hotClock: number;
}

/** The steady-state temperature. */
export const settledAt = (model: ThermalModel, power: Watts, ambient: Celsius): Celsius =>
  celsius(ambient + model.degreesPerWatt * power);

/** The solution of dT/dt = (settled − T)/τ, exact for any time step. */
export const temperatureAfter = (model: ThermalModel, now: Celsius, settled: Celsius, time: Seconds): Celsius =>
  celsius(settled + (now - settled) * Math.exp((0 - time) / model.timeConstant));

/** The time until the temperature passes `mark` on its way to `settled`: 0 if it already has, Infinity if it never will. */
export function timeToReach(
  model: ThermalModel,
  now: Celsius,
  settled: Celsius,
  mark: Celsius,
  rising: boolean,
): Seconds {
  const ahead = rising ? mark - now : now - mark;
  if (ahead <= 0) return seconds(0);
  const beyond = rising ? settled - mark : mark - settled;
  if (!(beyond > 0)) return seconds(Number.POSITIVE_INFINITY);
  return seconds(model.timeConstant * Math.log1p(ahead / beyond));
}
