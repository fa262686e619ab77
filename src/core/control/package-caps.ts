import { formatWatts, isPositive, type Watts, watts } from "../units/index.ts";
import { type CapDevice, type CapIntent, type CapResolution, resolveCap } from "./cap-resolution.ts";

/** A CPU package, or the single board of an HTTP service that represents several identical packages. */
export interface CpuPackage {
  readonly id: string;
  readonly device: CapDevice;
  /** The number of packages that it represents; 0 if unknown. */
  readonly count: number;
}

export interface PackageCap {
  readonly id: string;
  readonly watts: Watts;
  readonly count: number;
  readonly clamped?: string;
}

export type PackageCaps =
  | Exclude<CapResolution, { readonly kind: "watts" }>
  | { readonly kind: "watts"; readonly caps: readonly PackageCap[] };

/** Resolves the target for each package by its own range and original limit, independently of the other packages. */
export function resolvePackageCaps(intent: CapIntent, packages: readonly CpuPackage[]): PackageCaps {
  const caps: PackageCap[] = [];
  for (const { id, device, count } of packages) {
    const cap = resolveCap(intent, device);
    // Either all packages are capped in watts or none: the throttle that replaces a cap applies to the whole node.
    if (cap.kind !== "watts") return cap;
    caps.push({ id, count, watts: cap.watts, ...(cap.clamped !== undefined && { clamped: cap.clamped }) });
  }
  return caps.length === 0 ? { kind: "uncapped", asked: false } : { kind: "watts", caps };
}

/** The DVFS loop controls all packages at once, so its target is the sum of the caps; undefined if the count is unknown. */
export function totalCap(caps: readonly PackageCap[]): Watts | undefined {
  const total = watts(caps.reduce((sum, cap) => sum + cap.watts * cap.count, 0));
  return isPositive(total) ? total : undefined;
}

/** The cap of one package, or the mean if the caps differ. */
export function capPerPackage(caps: readonly PackageCap[]): Watts | undefined {
  const [first] = caps;
  if (first === undefined || caps.every((cap) => cap.watts === first.watts)) return first?.watts;
  const total = totalCap(caps);
  const count = caps.reduce((sum, cap) => sum + cap.count, 0);
  return total === undefined ? first.watts : watts(total / count);
}

export function describeCaps(caps: readonly PackageCap[]): string {
  const [first] = caps;
  return first !== undefined && caps.every(({ watts: cap }) => cap === first.watts)
    ? `${formatWatts(first.watts)} per package`
    : caps.map(({ id, watts: cap }) => `${id} ${formatWatts(cap)}`).join(", ");
}

/** The requested and the clamped caps; undefined if no cap was clamped. */
export function describeClamping(caps: readonly PackageCap[]): string | undefined {
  const [first] = caps;
  if (caps.every(({ clamped }) => clamped === first?.clamped)) return first?.clamped;
  return caps.flatMap(({ id, clamped }) => (clamped === undefined ? [] : [`${id}: ${clamped}`])).join("; ");
}
