import type { Figure } from "../inventory/index.ts";
import {
  MODEL_SOURCES as from,
  type NodePowerModel,
  type RestOfServer,
  sourcedFigure,
  wallPower,
} from "../power/index.ts";
import { type Seconds, seconds, type Watts, watts } from "../units/index.ts";

/** `stopping`: the machine shuts down and still draws idle power. `booting`: it has power but runs nothing yet. */
export type MachinePower = "on" | "stopping" | "off" | "booting";

/** What switching a machine off and on takes. No public measurement covers a whole fleet, so all of it is assumed. */
export const POWER_STATE_DEFAULTS = {
  /** The BMC and the standby losses of the power supplies. */
  offWithoutGpus: sourcedFigure(watts(10), "assumed", from.estimate),
  offWithGpus: sourcedFigure(watts(50), "assumed", from.estimate),
  bootTimeWithoutGpus: sourcedFigure(seconds(240), "assumed", from.estimate),
  bootTimeWithGpus: sourcedFigure(seconds(420), "assumed", from.estimate),
  stopTime: sourcedFigure(seconds(60), "assumed", from.estimate),
  /** Of the way from idle to full power at the wall, while the machine boots. */
  bootShare: sourcedFigure(0.2, "assumed", from.estimate),
} as const satisfies Record<string, Figure>;

/** Power at the wall and times of a machine that is switched off and on. */
export interface PowerStates {
  readonly off: Watts;
  readonly boot: Watts;
  /** From power on until the node is ready. */
  readonly bootTime: Seconds;
  /** From the request until the power is off. */
  readonly stopTime: Seconds;
}

export function powerStatesOf(model: NodePowerModel, rest: RestOfServer): PowerStates {
  const figures = POWER_STATE_DEFAULTS;
  const hasGpus = model.boards > 0;
  const [idle, full] = [wallPower(model.idle, model.idle, rest), wallPower(model.full, model.idle, rest)];
  return {
    off: (hasGpus ? figures.offWithGpus : figures.offWithoutGpus).value,
    boot: watts(idle + figures.bootShare.value * (full - idle)),
    bootTime: (hasGpus ? figures.bootTimeWithGpus : figures.bootTimeWithoutGpus).value,
    stopTime: figures.stopTime.value,
  };
}
