import type { Figure } from "../inventory/index.ts";
import { type Seconds, seconds, type Watts, watts } from "../units/index.ts";
import type { NodePowerModel } from "./node-power.ts";
import { MODEL_SOURCES as from, sourcedFigure } from "./sources.ts";

/** A machine that is switched off and on again: its times, and what it draws at the wall. */
export const POWER_STATES = {
  /** The BMC and the standby losses of the power supplies. */
  offWithoutGpus: sourcedFigure(watts(10), "assumed", from.estimate),
  offWithGpus: sourcedFigure(watts(50), "assumed", from.estimate),
  /** From the shutdown command until the power is off. The machine draws its idle power. */
  shutdown: sourcedFigure(seconds(60), "assumed", from.estimate),
  /** From power on until the kubelet reports Ready. */
  bootWithoutGpus: sourcedFigure(seconds(240), "assumed", from.estimate),
  bootWithGpus: sourcedFigure(seconds(420), "assumed", from.estimate),
  /** The load of the packages that draws as much as a boot does. Boards are idle. */
  bootLoad: sourcedFigure(0.5, "assumed", from.estimate),
  /** The share of boots after which the node does not come back. The machine hangs and draws its idle power. */
  failedBoots: sourcedFigure(0.01, "assumed", from.estimate),
  /** How long a node is missing whose second boot failed as well. */
  repair: sourcedFigure(seconds(86_400), "assumed", from.estimate),
} as const satisfies Record<string, Figure>;

/** What one machine needs to fall asleep and to wake. */
export interface PowerStateModel {
  /** At the wall, while the machine is off. */
  readonly off: Watts;
  readonly shutdownTime: Seconds;
  readonly bootTime: Seconds;
  readonly bootLoad: number;
}

export function powerStateModelOf({ gpu }: Pick<NodePowerModel, "gpu">): PowerStateModel {
  const { offWithGpus, offWithoutGpus, shutdown, bootWithGpus, bootWithoutGpus, bootLoad } = POWER_STATES;
  const withGpus = gpu !== undefined;
  return {
    off: (withGpus ? offWithGpus : offWithoutGpus).value,
    shutdownTime: shutdown.value,
    bootTime: (withGpus ? bootWithGpus : bootWithoutGpus).value,
    bootLoad: bootLoad.value,
  };
}
