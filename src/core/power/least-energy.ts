import { type DeviceModel, voltageAt } from "./device.ts";

/** Power that a slower device keeps busy for longer: its share of the rest of the server and of idle devices beside it. */
export interface PowerBeside {
  /** Watts that do not depend on the device's clock. */
  readonly constant: number;
  /** Further watts for each watt that the device draws above idle. */
  readonly slope: number;
}

const STEPS = 40;

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
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return high;
}
