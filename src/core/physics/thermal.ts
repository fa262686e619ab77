import { type Celsius, celsius, type Seconds, seconds, type Watts } from "../units/index.ts";

/** One body that is warmed by the node's power and cooled by the air it breathes. */
export interface ThermalModel {
  /** Degrees above the air for every watt, once settled. */
  readonly degreesPerWatt: number;
  /** How long 63 % of the way to the settled temperature takes. */
  readonly timeConstant: Seconds;
  /** Where the hardware starts to slow itself down, and where it stops: apart, so that it does not flicker. */
  readonly throttleAt: Celsius;
  readonly resumeAt: Celsius;
  /** The clock it allows itself while hot. */
  readonly hotClock: number;
}

/** Where temperature ends up if nothing changes. */
export const settledAt = (model: ThermalModel, power: Watts, ambient: Celsius): Celsius =>
  celsius(ambient + model.degreesPerWatt * power);

/** dT/dt = (settled − T)/τ, solved: no step is too long for it. */
export const temperatureAfter = (model: ThermalModel, now: Celsius, settled: Celsius, time: Seconds): Celsius =>
  celsius(settled + (now - settled) * Math.exp((0 - time) / model.timeConstant));

/** When a temperature on its way to `settled` passes `mark`: 0 if it is there or beyond, Infinity if it never gets there. */
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
