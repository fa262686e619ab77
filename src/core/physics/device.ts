import { type Watts, watts } from "../units/index.ts";
import type { LoadShape } from "./load-shape.ts";

/** How clock and voltage of a device move together. Clocks are shares of the one it sustains at full load. */
export interface ClockModel {
  /** Share of the power above idle that no clock touches: uncore, memory controllers, leakage. */
  readonly staticShare: number;
  /** The lowest clock it can be held to. */
  readonly slowest: number;
  /** The voltage it keeps however slow it runs, as a share of that at full clock. */
  readonly voltageFloor: number;
  /** The clock at which its voltage has fallen to the floor: slower than this, a watt less costs the most time. */
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

/** Straight from 1 at full clock to the floor, level below. */
export function voltageAt({ voltageFloor, floorClock }: ClockModel, clock: number): number {
  if (clock <= floorClock) return voltageFloor;
  return 1 - ((1 - voltageFloor) * (1 - clock)) / (1 - floorClock);
}

/** What remains of the power above idle at a clock: s + (1 − s)·f·v(f)². It is 1 at full clock and falls with it. */
export function clockFactor(model: ClockModel, clock: number): number {
  const voltage = voltageAt(model, clock);
  return model.staticShare + (1 - model.staticShare) * clock * voltage * voltage;
}

/** What a load adds to idle power at full clock. */
const above = ({ idle, full, shape }: DeviceModel, load: number): number => (full - idle) * shape(load);

/** P(u, f) = idle + (curve(u) − idle)·(s + (1 − s)·f·v(f)²). */
export const powerAt = (device: DeviceModel, load: number, clock: number): Watts =>
  watts(device.idle + above(device, load) * clockFactor(device.clock, clock));

/**
 * The same with a share of its cores held at the slowest clock, as a DVFS throttle does: each core draws by its own clock.
 */
export function mixedPowerAt(device: DeviceModel, load: number, clock: number, heldShare: number): Watts {
  const { clock: model } = device;
  const mean = (1 - heldShare) * clockFactor(model, clock) + heldShare * clockFactor(model, model.slowest);
  return watts(device.idle + above(device, load) * mean);
}

/**
 * The highest clock at which the device keeps a cap, with a share of its cores held at the slowest. Where even the slowest
 * is not slow enough it is the slowest: power then exceeds the cap, for no hardware can do better, and `exceeds` says so.
 * No cap, or one that is no number, asks for nothing.
 */
export function fittingClock(device: DeviceModel, load: number, cap: Watts | undefined, heldShare = 0): number {
  if (cap === undefined || Number.isNaN(cap)) return 1;
  const { clock: model, idle } = device;
  const dynamic = above(device, load);
  // Idle power has no clock to lower.
  if (!(dynamic > 0)) return cap >= idle ? 1 : model.slowest;
  const held = heldShare * clockFactor(model, model.slowest);
  // Of cores that are all held, none is left to slow down.
  if (heldShare >= 1) return model.slowest;
  return clockFor(model, ((cap - idle) / dynamic - held) / (1 - heldShare));
}

/** A cap met to the last bit is met. */
const ROUNDING = 1 + 1e-9;

/** Whether a device draws more than its cap allows: it is saturated, as slow as it can be. */
export const exceeds = (power: Watts, cap: Watts | undefined): boolean =>
  cap !== undefined && power > Math.max(0, cap) * ROUNDING;

/** From above, on a curve that bends upwards, each step squares what is missing: six are enough, more change nothing. */
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
  // Above it f·v(f)² = wanted is a cubic; Newton's steps from full clock only ever come down to its root.
  const slope = (1 - voltageFloor) / (1 - floorClock);
  let clock = 1;
  for (let step = 0; step < STEPS; step++) {
    const voltage = 1 - slope * (1 - clock);
    clock -= (clock * voltage * voltage - wanted) / (voltage * (voltage + 2 * slope * clock));
  }
  return Math.max(slowest, clock);
}
