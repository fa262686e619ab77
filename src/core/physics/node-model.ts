import type { HardwareView } from "../inventory/index.ts";
import {
  type NodePowerModel,
  type NodeSpec,
  nodePowerModel,
  nodePowerModelOf,
  type PowerStateModel,
  powerStateModelOf,
  type RestOfServer,
  restOfServerOf,
} from "../power/index.ts";
import { type Celsius, celsius, type Seconds, seconds, type Watts } from "../units/index.ts";

/** A single thermal mass, heated by the node's power and cooled by the inlet air. */
interface ThermalModel {
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
  if (!(beyond > 0)) return seconds(Infinity);
  return seconds(model.timeConstant * Math.log1p(ahead / beyond));
}

/** The constant properties of a node. Nodes of one hardware type share one model. */
export interface NodeModel extends NodePowerModel {
  readonly thermal: ThermalModel;
  /** What the server draws at the wall beside its packages and boards. */
  readonly rest: RestOfServer;
  /** Speed of the boards at full clock; a job's time at full speed is that on boards of speed 1. */
  readonly gpuSpeed: number;
  /** How the machine is switched off and on. */
  readonly states: PowerStateModel;
}

/** How the temperature of a node follows its power. */
export const THERMAL_DEFAULTS = {
  /** Temperature rise at full power. Cooling is sized for the hardware, so the value is the same for all nodes. */
  riseAtFull: 45,
  timeConstant: seconds(120),
  throttleAt: celsius(85),
  resumeAt: celsius(80),
  hotClock: 0.6,
} as const;

/** Builds the model of a node from a specification. */
export const nodeModel = (spec: NodeSpec): NodeModel => withThermal(nodePowerModel(spec));

/** Builds the model of a node from its hardware view. */
export const nodeModelOf = (hardware: HardwareView, gpuSpeed = 1): NodeModel =>
  withThermal(nodePowerModelOf(hardware), gpuSpeed);

const withThermal = (power: NodePowerModel, gpuSpeed = 1): NodeModel => ({
  ...power,
  thermal: thermalModel(power.full),
  rest: restOfServerOf(power),
  gpuSpeed,
  states: powerStateModelOf(power),
});

function thermalModel(full: Watts): ThermalModel {
  const { riseAtFull, timeConstant, throttleAt, resumeAt, hotClock } = THERMAL_DEFAULTS;
  return {
    degreesPerWatt: full > 0 ? riseAtFull / full : 0,
    timeConstant: timeConstant,
    throttleAt: throttleAt,
    resumeAt: resumeAt,
    hotClock: hotClock,
  };
}
