import { type Watts, watts } from "../units/index.ts";
import type { LoadShape } from "./load-shape.ts";

/** How clock and voltage of a device depend on each other. Clocks are shares of the sustained clock at full load. */
export interface ClockModel {
  /** Share of the power above idle that does not depend on the clock: uncore, memory controllers, leakage. */
  readonly staticShare: number;
  /** The lowest clock that can be set. */
  readonly slowest: number;
  /** The lowest voltage, as a share of the voltage at full clock. */
  readonly voltageFloor: number;
  /** The clock at which the voltage reaches its floor. Below it, saving a watt costs the most time. */
  readonly floorClock: number;
}

/** One CPU package or one GPU board. */
export interface DeviceModel {
  readonly idle: Watts;
  /** At full load and full clock. */
  readonly full: Watts;
  readonly shape: LoadShape;
  readonly clock: ClockModel;
}

/** Linear from 1 at full clock to the floor, constant below. */
export function voltageAt({ voltageFloor, floorClock }: ClockModel, clock: number): number {
  if (clock <= floorClock) return voltageFloor;
  return 1 - ((1 - voltageFloor) * (1 - clock)) / (1 - floorClock);
}

/** The share of the power above idle that remains at a clock: s + (1 − s)·f·v(f)². It is 1 at full clock. */
export function clockFactor(model: ClockModel, clock: number): number {
  const voltage = voltageAt(model, clock);
  return model.staticShare + (1 - model.staticShare) * clock * voltage * voltage;
}

/** The power that a load adds to idle power at full clock. */
const above = ({ idle, full, shape }: DeviceModel, load: number): number => (full - idle) * shape(load);

/** P(u, f) = idle + (curve(u) − idle)·(s + (1 − s)·f·v(f)²). */
export const powerAt = (device: DeviceModel, load: number, clock: number): Watts =>
  watts(device.idle + above(device, load) * clockFactor(device.clock, clock));

/**
 * The power if a share of the cores runs at the slowest clock, as under a DVFS throttle. Each core draws power by its own
 * clock.
 */
export function mixedPowerAt(device: DeviceModel, load: number, clock: number, heldShare: number): Watts {
  const { clock: model } = device;
  const mean = (1 - heldShare) * clockFactor(model, clock) + heldShare * clockFactor(model, model.slowest);
  return watts(device.idle + above(device, load) * mean);
}

/**
 * The highest clock at which the device keeps a cap, while a share of its cores is held at the slowest clock. If even the
 * slowest clock exceeds the cap, the result is the slowest clock, and `exceeds` is true. A missing or invalid cap means
 * uncapped.
 */
export function fittingClock(device: DeviceModel, load: number, cap: Watts | undefined, heldShare = 0): number {
  if (cap === undefined || Number.isNaN(cap)) return 1;
  const { clock: model, idle } = device;
  const dynamic = above(device, load);
  // Idle power does not depend on the clock.
  if (!(dynamic > 0)) return cap >= idle ? 1 : model.slowest;
  const held = heldShare * clockFactor(model, model.slowest);
  // If all cores are held, no core is left to slow down.
  if (heldShare >= 1) return model.slowest;
  return clockFor(model, ((cap - idle) / dynamic - held) / (1 - heldShare));
}

/** Tolerance for rounding errors when a cap is met exactly. */
const ROUNDING = 1 + 1e-9;

/** Whether a device draws more than its cap: it is saturated at its slowest clock. */
export const exceeds = (power: Watts, cap: Watts | undefined): boolean =>
  cap !== undefined && power > Math.max(0, cap) * ROUNDING;

/** Newton's method converges quadratically on this convex curve: six steps are enough. */
const STEPS = 8;

/** The highest clock whose factor is at most this one. */
function clockFor(model: ClockModel, factor: number): number {
  const { slowest, staticShare, voltageFloor, floorClock } = model;
  if (factor >= 1) return 1;
  if (factor <= clockFactor(model, slowest)) return slowest;
  const wanted = (factor - staticShare) / (1 - staticShare);
  // At the voltage floor power is linear in the clock.
  const level = wanted / (voltageFloor * voltageFloor);
  if (level <= floorClock) return Math.max(slowest, level);
  // Above it f·v(f)² = wanted is a cubic. Newton's steps from full clock approach its root from above.
  const slope = (1 - voltageFloor) / (1 - floorClock);
  let clock = 1;
  for (let step = 0; step < STEPS; step++) {
    const voltage = 1 - slope * (1 - clock);
    clock -= (clock * voltage * voltage - wanted) / (voltage * (voltage + 2 * slope * clock));
  }
  return Math.max(slowest, clock);
}
