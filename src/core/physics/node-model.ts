import type { Figure, HardwareView } from "../inventory/index.ts";
import {
  MODEL_SOURCES as from,
  type NodePowerModel,
  type NodeSpec,
  nodePowerModel,
  nodePowerModelOf,
  type PowerStateModel,
  powerStateModelOf,
  type RestOfServer,
  restOfServerOf,
  sourcedFigure,
} from "../power/index.ts";
import { celsius, seconds, type Watts } from "../units/index.ts";
import type { ThermalModel } from "./thermal.ts";

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
  riseAtFull: sourcedFigure(45, "assumed", from.estimate),
  timeConstant: sourcedFigure(seconds(120), "assumed", from.estimate),
  throttleAt: sourcedFigure(celsius(85), "assumed", from.estimate),
  resumeAt: sourcedFigure(celsius(80), "assumed", from.estimate),
  hotClock: sourcedFigure(0.6, "assumed", from.estimate),
} as const satisfies Record<string, Figure>;

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
    degreesPerWatt: full > 0 ? riseAtFull.value / full : 0,
    timeConstant: timeConstant.value,
    throttleAt: throttleAt.value,
    resumeAt: resumeAt.value,
    hotClock: hotClock.value,
  };
}
