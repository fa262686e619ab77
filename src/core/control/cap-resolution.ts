import type { CpuCap, GpuPowerCap } from "../api/index.ts";
import { type Percent, percentOf, type Watts, watts } from "../units/index.ts";

/** What is asked of one device: a CPU package or a GPU. */
export interface CapIntent {
  readonly watts?: Watts | undefined;
  readonly pctOfMax?: Percent | undefined;
}

/** What one device accepts. What is unknown is absent; a figure that is no positive number counts as unknown. */
export interface CapDevice {
  readonly min?: Watts | undefined;
  readonly max?: Watts | undefined;
  /** The limit found before Joulie's first write: a cap never raises it. */
  readonly original?: Watts | undefined;
  /** The most its register can hold; more would be cut to a few bits, and 4096 W would become 0 W. */
  readonly registerMost?: Watts | undefined;
  /** The steps its limit moves in. */
  readonly step?: Watts | undefined;
}

/** RAPL's limit field has 15 bits of 1/8 W. Only newer parts have wider ones. */
export const raplStep = watts(1 / 8);
export const raplRegisterMost = watts((2 ** 15 - 1) / 8);

export type CapResolution =
  /** No limit is needed: none is written, and an earlier one of ours is lifted. */
  | { readonly kind: "uncapped"; readonly asked: boolean }
  | { readonly kind: "watts"; readonly watts: Watts; readonly clamped?: string }
  /** A share of an unknown maximum. */
  | { readonly kind: "percent"; readonly pctOfMax: Percent };

export const cpuCapIntent = (cap: CpuCap | undefined): CapIntent => ({
  watts: cap?.packagePowerCapWatts,
  pctOfMax: cap?.packagePowerCapPctOfMax,
});

export const gpuCapIntent = (cap: GpuPowerCap | undefined): CapIntent => ({
  watts: cap?.capWattsPerGpu,
  pctOfMax: cap?.capPctOfMax,
});

const positive = <Quantity extends number>(value: Quantity | undefined): Quantity | undefined =>
  value !== undefined && Number.isFinite(value) && value > 0 ? value : undefined;

/** Watts, when given, beat the percentage; a percentage counts from the maximum of the device at hand. */
export function resolveCap(intent: CapIntent, device: CapDevice): CapResolution {
  const explicit = positive(intent.watts);
  if (explicit !== undefined) return withinDevice(explicit, device);
  const pctOfMax = positive(intent.pctOfMax);
  if (pctOfMax === undefined || pctOfMax >= 100) return { kind: "uncapped", asked: pctOfMax !== undefined };
  const max = positive(device.max);
  return max === undefined ? { kind: "percent", pctOfMax } : withinDevice(percentOf(pctOfMax, max), device);
}

/** The DVFS loop sees all packages at once, so its target is the cap of all of them. */
export const pooledTarget = (capPerPackage: Watts, packages: number): Watts | undefined =>
  positive(watts(capPerPackage * packages));

interface Bound {
  readonly at: Watts;
  readonly name: string;
}

function withinDevice(asked: Watts, device: CapDevice): CapResolution {
  const floor = bound(device.min, "the device's minimum");
  const ceiling = [
    bound(device.original, "the original limit"),
    bound(device.registerMost, "the most its register holds"),
  ].reduce(lower, bound(device.max, "the device's maximum"));
  let reached: Bound = { at: asked, name: "" };
  if (floor !== undefined && floor.at > reached.at) reached = floor;
  // The ceiling comes last: where a device contradicts itself, lower is the safe side.
  if (ceiling !== undefined && ceiling.at < reached.at) reached = ceiling;
  const written = onStep(reached.at, device, floor === undefined || reached === ceiling ? watts(0) : floor.at);
  if (reached.name === "") return { kind: "watts", watts: written };
  return {
    kind: "watts",
    watts: written,
    clamped: `${shown(asked)} asked for, clamped to ${shown(written)}: ${reached.name}`,
  };
}

function bound(value: Watts | undefined, name: string): Bound | undefined {
  const at = positive(value);
  return at === undefined ? undefined : { at, name };
}

const lower = (a: Bound | undefined, b: Bound | undefined): Bound | undefined =>
  a === undefined || (b !== undefined && b.at < a.at) ? b : a;

/**
 * Down to the device's step, so that reading back gives what was written; a hair below a step is that step. Never down past
 * the device's minimum, which it would refuse, nor to 0, which lifts the limit on some devices.
 */
function onStep(value: Watts, device: CapDevice, least: Watts): Watts {
  const step = positive(device.step);
  if (step === undefined) return value;
  const down = Math.floor(value / step + 1e-6) * step;
  const written = down < least || down === 0 ? down + step : down;
  return watts(Number.isFinite(written) ? written : value);
}

/** Watts as people write them: no more than three decimals, no trailing zeros. */
const shown = (value: Watts): string => `${Number(value.toFixed(3))} W`;
