import { type DeviceModel, voltageAt } from "./device.ts";

/** Power that a slower device keeps busy for longer: its share of the rest of the server and of idle devices beside it. */
export interface PowerBeside {
  /** Watts that do not depend on the device's clock. */
  readonly constant: number;
  /** Further watts for each watt that the device draws above idle. */
  readonly slope: number;
}

const STEPS = 40;

/**
 * The clock at which compute-bound work at full load takes the least energy: the minimum of P(f)/f. A slower clock would
 * save power and cost energy, because everything else stays on for longer.
 *
 * With P(f) = c + a·(s + (1 − s)·f·v(f)²), the derivative vanishes where c + a·s = 2·a·(1 − s)·v′·v(f)·f². Both sides meet at
 * most once, because the right one grows with f. Below the voltage floor P(f)/f only falls.
 */
export function leastEnergyClock({ idle, full, clock: model }: DeviceModel, beside: PowerBeside): number {
  const above = (full - idle) * (1 + beside.slope);
  const { staticShare, voltageFloor, floorClock, slowest } = model;
  if (!(above > 0) || floorClock >= 1) return 1;
  const slope = (1 - voltageFloor) / (1 - floorClock);
  const fixed = idle + beside.constant + above * staticShare;
  const isBelow = (f: number): boolean => 2 * above * (1 - staticShare) * slope * voltageAt(model, f) * f * f < fixed;
  let low = Math.max(slowest, floorClock);
  let high = 1;
  if (isBelow(high)) return high;
  if (!isBelow(low)) return low;
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return high;
}
