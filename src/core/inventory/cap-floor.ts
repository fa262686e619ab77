import { isPositive, type Watts, watts } from "../units/index.ts";

/** A target below this share of the maximum is almost certainly a typo: 0.5 % for 50 %. */
export const LOWEST_CAP_SHARE = 0.25;

/** The lowest cap of a CPU package, and where it comes from. */
export interface CapFloor {
  readonly watts: Watts;
  readonly from: "device" | "catalogue" | "share of the maximum";
}

/**
 * The lowest cap that a CPU package gets: its own minimum, else the catalogue's for the model, else a quarter of `most`. RAPL
 * and HSMP both accept 2 W, and a package capped at 2 W takes its node out of service. The agent clamps to it, and the
 * operator plans with it, so that a twin predicts what the agent sets.
 */
export function capFloor(
  deviceMin: Watts | undefined,
  catalogueMin: Watts | undefined,
  most: Watts | undefined,
): CapFloor | undefined {
  if (isPositive(deviceMin)) return { watts: deviceMin, from: "device" };
  if (isPositive(catalogueMin))
    return { watts: watts(Math.min(catalogueMin, isPositive(most) ? most : catalogueMin)), from: "catalogue" };
  return isPositive(most) ? { watts: watts(LOWEST_CAP_SHARE * most), from: "share of the maximum" } : undefined;
}

/** The lowest cap of a package as a hardware view describes it: its minimum is the device's, else the catalogue's. */
export const packageCapFloor = (cpu: {
  readonly minWattsPerSocket?: Watts | undefined;
  readonly maxWattsPerSocket: Watts;
}): Watts => capFloor(undefined, cpu.minWattsPerSocket, cpu.maxWattsPerSocket)?.watts ?? watts(0);
