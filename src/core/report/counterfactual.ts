import { type DeviceModel, fittingClock, type NodePowerModel, powerAt } from "../power/index.ts";
import { type Watts, watts } from "../units/index.ts";

/** Watts with the range in which they lie. */
export interface WattsInterval {
  readonly estimate: Watts;
  readonly low: Watts;
  readonly high: Watts;
}

/** What is known about the packages or the boards of a node at one moment. */
export interface DeviceReading {
  /** Of all units. */
  readonly drawn: Watts;
  /** The most that all units may draw under their caps. */
  readonly cap: Watts | undefined;
  /** The share of the units that pods are expected to use, 0 to 1. */
  readonly expectedLoad: number;
  /** The share of the units that run work, 0 to 1. */
  readonly busyShare: number;
  /** All units have the same load, as packages have; boards have each their own. */
  readonly sharesLoad: boolean;
}

export interface NodeReading {
  readonly cpu: DeviceReading;
  readonly gpu?: DeviceReading;
}

/** A device draws a little less than its cap even if the cap holds it back: sensors and control loops are not exact. */
const BINDING = 0.97;
/** The share of its time in which work scales with the clock, for the estimate. The interval covers 0 to 1. */
const CLOCK_SHARE = 0.6;
/** The load of boards whose cap does not bind. */
const UNBOUND_LOAD = 0.2;
const STEPS = 40;

/**
 * The watts that the caps of a node save now: what the same pods would draw uncapped, less what they draw.
 *
 * A cap that does not bind saves nothing. Under a cap that binds, the load is unknown: at least what draws the cap at full
 * clock, at most everything. Capped work takes longer, so uncapped the same work would draw more watts for less time: the
 * counterfactual counts the work that is done now. Work that waits for memory is not slowed down and saves most; work that
 * scales with the clock saves least, and below some clock costs more.
 */
export function savedByCaps(model: NodePowerModel, { cpu, gpu }: NodeReading): WattsInterval {
  const ofCpu = savedByCap(model.cpu, model.packages, cpu);
  const ofGpu = gpu === undefined || model.gpu === undefined ? NOTHING : savedByCap(model.gpu, model.boards, gpu);
  return {
    estimate: watts(ofCpu.estimate + ofGpu.estimate),
    low: watts(ofCpu.low + ofGpu.low),
    high: watts(ofCpu.high + ofGpu.high),
  };
}

const NOTHING: WattsInterval = { estimate: watts(0), low: watts(0), high: watts(0) };

function savedByCap(device: DeviceModel, units: number, reading: DeviceReading): WattsInterval {
  const { drawn, cap, expectedLoad, busyShare: busy } = reading;
  if (cap === undefined || units === 0 || !(busy > 0)) return NOTHING;
  const each = cap / units;
  if (each >= device.full) return NOTHING;
  // Idle boards beside busy ones draw less than their share.
  const drawnByBusy = (drawn - (1 - busy) * units * device.idle) / (busy * units);
  const bound = boundShares(device, each, drawnByBusy, reading.sharesLoad);
  if (bound === undefined) return NOTHING;
  const least = loadAt(device, each);
  const load = Math.min(1, Math.max(least, expectedLoad / busy));
  const corners = [least, 1].flatMap((one) => [saved(device, one, each, 0), saved(device, one, each, 1)]);
  const scale = busy * units;
  return {
    estimate: watts(scale * bound.estimate * saved(device, load, each, CLOCK_SHARE)),
    low: watts(scale * Math.min(...corners, ...(bound.estimate < 1 ? [0] : []))),
    high: watts(scale * bound.high * Math.max(...corners)),
  };
}

/**
 * The share of the busy units whose cap binds, and the highest that it can be. Packages share their load, so all bind or none
 * does. Of several boards only the mean is known: those that do not bind are expected to draw little.
 */
function boundShares(
  device: DeviceModel,
  each: number,
  drawn: number,
  sharesLoad: boolean,
): { readonly estimate: number; readonly high: number } | undefined {
  if (drawn >= each * BINDING) return { estimate: 1, high: 1 };
  if (sharesLoad) return undefined;
  const within = (least: number): number => Math.min(1, Math.max(0, (drawn - least) / (each - least)));
  const high = within(device.idle);
  const unbound = Math.min(powerAt(device, UNBOUND_LOAD, 1), each * BINDING);
  return high > 0 ? { estimate: Math.min(high, within(unbound)), high } : undefined;
}

/** Watts of one unit: uncapped, at the rate of the capped work, less capped. */
function saved(device: DeviceModel, load: number, cap: number, clockShare: number): number {
  const clock = fittingClock(device, load, watts(cap));
  const rate = 1 / (clockShare / clock + 1 - clockShare);
  return (powerAt(device, load, 1) - device.idle) * rate - (powerAt(device, load, clock) - device.idle);
}

/** The load that draws this power at full clock. The curve never falls. */
function loadAt(device: DeviceModel, power: number): number {
  let low = 0;
  let high = 1;
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (powerAt(device, middle, 1) < power) low = middle;
    else high = middle;
  }
  return high;
}
