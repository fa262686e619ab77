import { type Watts, watts } from "../units/index.ts";

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

/** The power if a share of the cores runs at the slowest clock, as under a DVFS throttle. */
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

/** Power, in watts or any other unit, by share of full load: ascending in both, from load 0 to load 1. */
export type LoadPoints = readonly (readonly [load: number, power: number])[];

/** Maps a load (0 idle, 1 full) to a position between idle power (0) and full power (1). Never decreases. */
export type LoadShape = (load: number) => number;

/**
 * The shape of published load points, independent of the measured machine. Idle and full power come from the simulated
 * device, the curve between them from the points. Linear between two points, as in SPECpower's graphs.
 */
export function loadShape(points: LoadPoints): LoadShape {
  const loads = Float64Array.from(points, ([load]) => load);
  const powers = Float64Array.from(points, ([, power]) => power);
  const last = points.length - 1;
  const idle = powers[0] ?? 0;
  const range = (powers[last] ?? 0) - idle;
  if (!(range > 0)) return clampedLoad;
  const heights = powers.map((power) => (power - idle) / range);
  return (load) => {
    // A load of NaN counts as 0.
    if (!(load > 0)) return 0;
    let next = 1;
    while (next < last && (loads[next] as number) < load) next++;
    const from = loads[next - 1] as number;
    const to = loads[next] as number;
    const low = heights[next - 1] as number;
    const high = heights[next] as number;
    return load >= to ? high : low + ((high - low) * (load - from)) / (to - from);
  };
}

/** Linear power, used if no load points are published. */
export const clampedLoad: LoadShape = (load) => (load > 0 ? Math.min(1, load) : 0);

/** Power that a slower device keeps busy for longer: its share of the rest of the server and of idle devices beside it. */
export interface PowerBeside {
  /** Watts that do not depend on the device's clock. */
  readonly constant: number;
  /** Further watts for each watt that the device draws above idle. */
  readonly slope: number;
}

const HALVINGS = 40;

/** Of compute-bound work: all of its run time follows the clock. */
export const COMPUTE_BOUND = 1;

/**
 * The clock at which work at full load takes the least energy: the minimum of P(f)·(1 + share·(1/f − 1)), if this share of its
 * run time follows the clock. A slower clock would save power and cost energy, because everything else stays on for longer.
 *
 * With P(f) = c + a·(s + (1 − s)·f·v(f)²), the derivative has the sign of
 * (1 − share)·f²·P′(f) + share·(2·a·(1 − s)·v′·v(f)·f² − c − a·s), which grows with f. Below the voltage floor P is linear.
 */
export function leastEnergyClock(
  { idle, full, clock: model }: DeviceModel,
  beside: PowerBeside,
  share: number = COMPUTE_BOUND,
): number {
  const above = (full - idle) * (1 + beside.slope);
  const { staticShare, voltageFloor, floorClock, slowest } = model;
  if (!(above > 0) || floorClock >= 1) return 1;
  const slope = (1 - voltageFloor) / (1 - floorClock);
  const fixed = idle + beside.constant + above * staticShare;
  const dynamic = above * (1 - staticShare);
  const isBelow = (f: number): boolean => {
    const voltage = voltageAt(model, f);
    const steepness = dynamic * voltage * (voltage + 2 * slope * f);
    return (1 - share) * f * f * steepness + share * (2 * dynamic * slope * voltage * f * f - fixed) < 0;
  };
  let low = Math.max(slowest, floorClock);
  let high = 1;
  if (isBelow(high)) return high;
  if (!isBelow(low)) {
    const belowFloor = Math.sqrt((share * fixed) / ((1 - share) * dynamic * voltageFloor * voltageFloor));
    return Math.min(low, Math.max(slowest, belowFloor));
  }
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return high;
}
