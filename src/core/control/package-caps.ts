import { isPositive, type Watts, watts } from "../units/index.ts";
import { type CapDevice, type CapIntent, type CapResolution, resolveCap } from "./cap-resolution.ts";

/** A CPU package, or the one board of a service that stands for several alike. */
export interface CpuPackage {
  readonly id: string;
  readonly device: CapDevice;
  /** How many packages it stands for; 0 where that is not known. */
  readonly count: number;
}

export interface PackageCap {
  readonly id: string;
  readonly watts: Watts;
  readonly count: number;
  readonly clamped?: string | undefined;
}

/** What is asked of a node's packages. */
export type PackageCaps =
  | Exclude<CapResolution, { readonly kind: "watts" }>
  | { readonly kind: "watts"; readonly caps: readonly PackageCap[] };

/** Resolves the target for each package by its own range and its own original limit: no package's limit binds another. */
export function resolvePackageCaps(intent: CapIntent, packages: readonly CpuPackage[]): PackageCaps {
  const caps: PackageCap[] = [];
  for (const { id, device, count } of packages) {
    const cap = resolveCap(intent, device);
    // In watts for all packages or for none: the throttle that stands in is the whole node's.
    if (cap.kind !== "watts") return cap;
    caps.push({ id, count, watts: cap.watts, ...(cap.clamped !== undefined && { clamped: cap.clamped }) });
  }
  return caps.length === 0 ? { kind: "uncapped", asked: false } : { kind: "watts", caps };
}

/** The DVFS loop sees all packages at once, so its target is the sum of their caps; undefined while nobody counts them. */
export function totalCap(caps: readonly PackageCap[]): Watts | undefined {
  const total = watts(caps.reduce((sum, cap) => sum + cap.watts * cap.count, 0));
  return isPositive(total) ? total : undefined;
}

/** The cap of one package; where they differ, their mean. */
export function capPerPackage(caps: readonly PackageCap[]): Watts | undefined {
  const [first] = caps;
  if (first === undefined || caps.every((cap) => cap.watts === first.watts)) return first?.watts;
  const total = totalCap(caps);
  const count = caps.reduce((sum, cap) => sum + cap.count, 0);
  return total === undefined ? first.watts : watts(total / count);
}

export function describeCaps(caps: readonly PackageCap[]): string {
  const [first] = caps;
  return caps.every(({ watts: cap }) => cap === first?.watts)
    ? `${first?.watts} W per package`
    : caps.map(({ id, watts: cap }) => `${id} ${cap} W`).join(", ");
}

/** What was asked for and what is set instead; undefined where nothing was clamped. */
export function describeClamping(caps: readonly PackageCap[]): string | undefined {
  const [first] = caps;
  if (caps.every(({ clamped }) => clamped === first?.clamped)) return first?.clamped;
  return caps.flatMap(({ id, clamped }) => (clamped === undefined ? [] : [`${id}: ${clamped}`])).join("; ");
}
