import type { CpuCap, GpuPowerCap } from "../api/index.ts";
import { LOWEST_CAP_SHARE, packageCapFloor } from "../inventory/index.ts";
import { formatWatts, isPositive, type Percent, percentOf, type Watts, watts } from "../units/index.ts";

/** The requested cap of one device: a CPU package or a GPU. */
export interface CapIntent {
  readonly watts?: Watts | undefined;
  readonly pctOfMax?: Percent | undefined;
}

/** The limits of one device. Unknown values are absent. A value that is not a positive number counts as unknown. */
export interface CapDevice {
  readonly min?: Watts | undefined;
  /** Where `min` comes from, for messages; the device by default. */
  readonly minSource?: string;
  readonly max?: Watts | undefined;
  /** The limit before Joulie's first write. A cap never exceeds it. */
  readonly original?: Watts | undefined;
  /** The largest value that the limit register can hold. A larger one would overflow: 4096 W would become 0 W. */
  readonly registerLimit?: Watts;
  readonly step?: Watts;
}

/** RAPL's limit field has 15 bits of 1/8 W. Some newer parts have a wider field. */
export const raplStep = watts(1 / 8);
export const raplRegisterLimit = watts((2 ** 15 - 1) / 8);

export type CapResolution =
  /** No limit is needed: none is written, and an earlier one of Joulie is lifted. */
  | { readonly kind: "uncapped"; readonly asked: boolean }
  | { readonly kind: "watts"; readonly watts: Watts; readonly clamped?: string }
  /** A percentage of an unknown maximum. */
  | { readonly kind: "percent"; readonly pctOfMax: Percent };

export const cpuCapIntent = (cap: CpuCap | undefined): CapIntent => ({
  watts: cap?.packagePowerCapWatts,
  pctOfMax: cap?.packagePowerCapPctOfMax,
});

export const gpuCapIntent = (cap: GpuPowerCap | undefined): CapIntent => ({
  watts: cap?.capWattsPerGpu,
  pctOfMax: cap?.capPctOfMax,
});

/** Watts take precedence over the percentage. The percentage refers to the maximum of this device. */
export function resolveCap({ watts: requested, pctOfMax }: CapIntent, device: CapDevice): CapResolution {
  if (isPositive(requested)) return withinDevice(requested, formatWatts(requested), device);
  if (!isPositive(pctOfMax)) return { kind: "uncapped", asked: false };
  if (pctOfMax >= 100) return { kind: "uncapped", asked: true };
  if (!isPositive(device.max)) return { kind: "percent", pctOfMax };
  const share = percentOf(pctOfMax, device.max);
  return withinDevice(share, `${pctOfMax} % (${formatWatts(share)})`, device);
}

/** Adds a minimum cap to a CPU package that exposes none: the one that the operator plans with. */
export function withLowestCap(device: CapDevice): CapDevice {
  if (isPositive(device.min)) return device;
  const highest = [device.max, device.original].find(isPositive);
  if (highest === undefined) return device;
  const highestName = isPositive(device.max) ? "maximum" : "original limit";
  const min = packageCapFloor({ maxWattsPerSocket: highest });
  return { ...device, min, minSource: `${LOWEST_CAP_SHARE * 100} % of its ${highestName}` };
}

interface Bound {
  readonly at: Watts;
  readonly name: string;
}

/** Clamps the cap to the limits of the device. `wording` is how the user asked for it. */
function withinDevice(requested: Watts, wording: string, device: CapDevice): CapResolution {
  const floor = bound(device.min, device.minSource ?? "the device's minimum");
  const ceiling = lowestBound([
    bound(device.max, "the device's maximum"),
    bound(device.original, "the original limit"),
    bound(device.registerLimit, "the limit of its register"),
  ]);
  let clampedBy: Bound | undefined;
  if (floor !== undefined && floor.at > requested) clampedBy = floor;
  // The ceiling is applied last: if the limits of a device contradict each other, the lower one is safe.
  if (ceiling !== undefined && ceiling.at < (clampedBy?.at ?? requested)) clampedBy = ceiling;
  const written = onStep(clampedBy?.at ?? requested, device.step, floor?.at, ceiling?.at);
  if (clampedBy === undefined) return { kind: "watts", watts: written };
  return {
    kind: "watts",
    watts: written,
    clamped: `${wording} requested, clamped to ${formatWatts(written)}: ${clampedBy.name}`,
  };
}

const bound = (at: Watts | undefined, name: string): Bound | undefined => (isPositive(at) ? { at, name } : undefined);

/** The lowest of the known bounds. Among equal ones the first gives its name. */
function lowestBound(bounds: readonly (Bound | undefined)[]): Bound | undefined {
  let lowest: Bound | undefined;
  for (const candidate of bounds) {
    if (candidate === undefined) continue;
    if (lowest === undefined || candidate.at < lowest.at) lowest = candidate;
  }
  return lowest;
}

/**
 * Rounds down to the device's step, so that the device reads back what was written. A value slightly below a step counts as
 * that step. Rounds up if the lower step is below the device's minimum, which the device refuses, or 0, which lifts the
 * limit on some devices. Never exceeds the ceiling: a cap that is too low is safer, and a refusal is visible.
 */
function onStep(value: Watts, step: Watts | undefined, floor = watts(0), ceiling = watts(Number.MAX_VALUE)): Watts {
  if (!isPositive(step)) return value;
  const down = Math.floor(value / step + 1e-6) * step;
  const up = down + step;
  const stepped = (down < floor || down === 0) && up <= ceiling ? up : down;
  return isPositive(stepped) ? watts(Math.min(stepped, ceiling)) : value;
}
