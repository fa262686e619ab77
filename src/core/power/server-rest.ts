import type { Figure } from "../inventory/index.ts";
import { type Watts, watts } from "../units/index.ts";
import type { NodePowerModel } from "./node-power.ts";
import { MODEL_SOURCES as from, sourcedFigure } from "./sources.ts";

/**
 * What a server draws at the wall beside its packages and boards: fans, DRAM, network cards, disks and the losses of its
 * power supplies. At the wall a node draws `P + idle + slope · (P − idle power of its packages and boards)`; below their
 * modelled idle power the rest does not shrink.
 */
export interface RestOfServer {
  readonly idle: Watts;
  /** Further watts for each watt that packages and boards draw above idle. */
  readonly slope: number;
}

/**
 * The idle power of a package in the catalogue is the server's idle share at the wall times the rating of the package, so it
 * already contains most of the idle power of DRAM and fans. What is left is small.
 */
export const REST_OF_SERVER = {
  /** Watts for each CPU package. */
  idlePerPackage: sourcedFigure(watts(5), "assumed", from.specRest),
  cpuSlope: sourcedFigure(0.13, "assumed", from.specRest),
  /**
   * Idle watts for each watt of the boards' rating, for switches, network cards and fans that are sized for the boards. No
   * public idle figure of such a server was found.
   */
  idlePerBoardWatt: sourcedFigure(0.2, "assumed", from.estimate),
  /** Chosen so that the HGX node draws its measured power at full load. */
  gpuSlope: sourcedFigure(0.205, "assumed", from.hgxNode),
} as const satisfies Record<string, Figure>;

/** The rest of the server by node class: servers with and without GPU boards. */
export function restOfServerOf({ packages, boards, gpu }: NodePowerModel): RestOfServer {
  const { idlePerPackage, cpuSlope, idlePerBoardWatt, gpuSlope } = REST_OF_SERVER;
  const ofPackages = packages * idlePerPackage.value;
  if (gpu === undefined || boards === 0) return { idle: watts(ofPackages), slope: cpuSlope.value };
  return { idle: watts(ofPackages + idlePerBoardWatt.value * boards * gpu.full), slope: gpuSlope.value };
}

/** The power of packages and boards in a server that draws `wall`. */
export function devicePower(wall: Watts, idle: Watts, rest: RestOfServer): Watts {
  const aboveIdle = wall - rest.idle - idle;
  return watts(Math.max(0, idle + (aboveIdle > 0 ? aboveIdle / (1 + rest.slope) : aboveIdle)));
}

/** Power at the wall of a node whose packages and boards draw `devices`. */
export const wallPower = (devices: Watts, idle: Watts, rest: RestOfServer): Watts =>
  watts(devices + rest.idle + rest.slope * Math.max(0, devices - idle));
