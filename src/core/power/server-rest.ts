import { type Seconds, seconds, type Watts, watts } from "../units/index.ts";
import type { NodePowerModel } from "./node-power.ts";

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
 * docs/guides/model.md names the source of each figure.
 *
 * The idle power of a package in the catalogue is the server's idle share at the wall times the rating of the package, so it
 * already contains most of the idle power of DRAM and fans. What is left is small.
 */
export const REST_OF_SERVER = {
  idlePerPackage: watts(5),
  cpuSlope: 0.13,
  /** Per watt of the boards' rating: switches, network cards, fans. No public idle figure of such a server was found. */
  idlePerBoardWatt: 0.2,
  /** Chosen so that the HGX node draws its measured power at full load. */
  gpuSlope: 0.205,
} as const;

/** The rest of the server by node class: servers with and without GPU boards. */
export function restOfServerOf({ packages, boards, gpu }: NodePowerModel): RestOfServer {
  const { idlePerPackage, cpuSlope, idlePerBoardWatt, gpuSlope } = REST_OF_SERVER;
  const ofPackages = packages * idlePerPackage;
  if (gpu === undefined || boards === 0) return { idle: watts(ofPackages), slope: cpuSlope };
  return { idle: watts(ofPackages + idlePerBoardWatt * boards * gpu.full), slope: gpuSlope };
}

/** The power of packages and boards in a server that draws `wall`. */
export function devicePower(wall: Watts, idle: Watts, rest: RestOfServer): Watts {
  const aboveIdle = wall - rest.idle - idle;
  return watts(Math.max(0, idle + (aboveIdle > 0 ? aboveIdle / (1 + rest.slope) : aboveIdle)));
}

/** Power at the wall of a node whose packages and boards draw `devices`. */
export const wallPower = (devices: Watts, idle: Watts, rest: RestOfServer): Watts =>
  watts(devices + rest.idle + rest.slope * Math.max(0, devices - idle));

/** A machine that is switched off and on again: its times, and what it draws at the wall. docs/guides/model.md has the sources. */
export const POWER_STATES = {
  /** The BMC and the standby losses of the power supplies. */
  offWithoutGpus: watts(10),
  offWithGpus: watts(50),
  /** From the shutdown command until the power is off. The machine draws its idle power. */
  shutdown: seconds(60),
  /** From power on until the kubelet reports Ready. */
  bootWithoutGpus: seconds(240),
  bootWithGpus: seconds(420),
  /** The load of the packages that draws as much as a boot does. Boards are idle. */
  bootLoad: 0.5,
  /** The share of boots after which the node does not come back. The machine hangs and draws its idle power. */
  failedBoots: 0.01,
  /** How long a node is missing whose second boot failed as well. */
  repair: seconds(86_400),
} as const;

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
    off: withGpus ? offWithGpus : offWithoutGpus,
    shutdownTime: shutdown,
    bootTime: withGpus ? bootWithGpus : bootWithoutGpus,
    bootLoad: bootLoad,
  };
}
