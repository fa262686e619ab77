import type { PowerMeasurement } from "../api/index.ts";
import { devicePower, type NodePowerModel, powerStateModelOf, restOfServerOf, wallPower } from "../power/index.ts";
import { isNonNegative, isPositive, type Watts, watts } from "../units/index.ts";
import type { PowerReading } from "./power-source.ts";

/** Power at the wall, and the part of it that no meter and no sensor read. */
export interface WallPower {
  readonly power: Watts;
  readonly modelled: Watts;
}

/** A meter's reading, else that of packages and boards with the model of the rest of the server. */
export function powerAtWall(model: NodePowerModel, measurement: PowerMeasurement | undefined): WallPower | undefined {
  const { source, serverPowerW: server, measuredNodePowerW: devices, estimatedGpuPowerW = 0 } = measurement ?? {};
  if (isPositive(server)) return { power: server, modelled: watts(0) };
  if (!isNonNegative(devices)) return undefined;
  const power = wallPower(devices, model.idle, restOfServerOf(model));
  const isEstimate = source === "utilization" || source === "static";
  return { power, modelled: isEstimate ? power : watts(power - devices + estimatedGpuPowerW) };
}

/** What a server that is switched off draws at the wall, by the model. */
export function offAtWall(model: NodePowerModel): WallPower {
  const { off } = powerStateModelOf(model);
  return { power: off, modelled: off };
}

/** The empty server at the wall, by the model. */
export const idleAtWall = (model: NodePowerModel): Watts => wallPower(model.idle, model.idle, restOfServerOf(model));

export interface MeterReading extends Omit<PowerReading, "power" | "estimatedGpus"> {
  /** Packages and boards, or packages alone. Absent if the meter reads the whole server only. */
  readonly power?: Watts;
  /** `power` is that of the packages; boards are not in it. */
  readonly onlyCpus?: boolean;
}

/**
 * The reading of a meter as that of packages and boards. Boards that it does not read are estimated (`gpus`). If it reads the
 * whole server only, packages and boards draw what the model of the rest of the server leaves.
 */
export function readingOfMeter(
  { power, onlyCpus, server, ...meter }: MeterReading,
  model: NodePowerModel,
  gpus: () => Watts | undefined,
): PowerReading | undefined {
  // A BMC without a sensor may answer 0.
  const reading = { ...meter, ...(isPositive(server) && { server }) };
  const isPartial = onlyCpus === true && model.gpu !== undefined;
  if (isNonNegative(power) && !isPartial) return { ...reading, power };
  if (reading.server !== undefined)
    return { ...reading, power: devicePower(reading.server, model.idle, restOfServerOf(model)) };
  const estimatedGpus = gpus();
  if (!isNonNegative(power) || estimatedGpus === undefined) return undefined;
  return { ...reading, power: watts(power + estimatedGpus), estimatedGpus };
}
