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
}

/** The steady-state temperature. */
export const settledAt = (model: ThermalModel, power: Watts, ambient: Celsius): Celsius =>
  celsius(ambient + model.degreesPerWatt * power);

/** The solution of dT/dt = (settled − T)/τ, exact for any time step. */
export const temperatureAfter = (model: ThermalModel, now: Celsius, settled: Celsius, time: Seconds): Celsius =>
  celsius(settled + (now - settled) * Math.exp((0 - time) / model.timeConstant));

/** The constant properties of a node. Nodes of one hardware type share one model. */
export interface NodeModel extends NodePowerModel {
  readonly thermal: ThermalModel;
  /** What the server draws at the wall beside its packages and boards. */
  readonly rest: RestOfServer;
  /** How the machine is switched off and on. */
  readonly states: PowerStateModel;
}

/** How the temperature of a node follows its power. */
export const THERMAL_DEFAULTS = {
  /** Temperature rise at full power. Cooling is sized for the hardware, so the value is the same for all nodes. */
  riseAtFull: 45,
  timeConstant: seconds(120),
} as const;

export const nodeModel = (spec: NodeSpec): NodeModel => withThermal(nodePowerModel(spec));

export const nodeModelOf = (hardware: HardwareView): NodeModel => withThermal(nodePowerModelOf(hardware));

const withThermal = (power: NodePowerModel): NodeModel => ({
  ...power,
  thermal: {
    degreesPerWatt: power.full > 0 ? THERMAL_DEFAULTS.riseAtFull / power.full : 0,
    timeConstant: THERMAL_DEFAULTS.timeConstant,
  },
  rest: restOfServerOf(power),
  states: powerStateModelOf(power),
});
