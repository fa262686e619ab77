import { isDeepStrictEqual } from "node:util";
import type { NodeTwinSpec } from "../../core/api/index.ts";
import { packageCapFloor } from "../../core/inventory/index.ts";
import { effectiveCaps } from "../../core/twin/index.ts";
import { formatWatts, type Percent, percent, type Watts } from "../../core/units/index.ts";
import type { RunningFleet } from "../fleet/index.ts";

type Machine = NonNullable<ReturnType<RunningFleet["datacenter"]["machine"]>>;
export interface CappedMachine {
  readonly spec: Pick<Machine["spec"], "hardware">;
  readonly physics: Pick<Machine["physics"], "caps">;
  readonly power: Machine["power"];
}

export interface CapAuditResult {
  readonly compared: number;
  readonly eco: number;
  readonly different: number;
  readonly examples: readonly string[];
}

const EXAMPLES = 5;

/** Compares the caps enforced on simulated nodes with the published caps, after a settling time. Observing agents enforce none. */
export class CapAudit {
  readonly #machine: (node: string) => CappedMachine | undefined;
  readonly #observes: boolean;
  readonly #published = new Map<string, { readonly spec: NodeTwinSpec; readonly since: CapTime }>();
  #compared = 0;
  #eco = 0;
  #different = 0;
  readonly #examples: string[] = [];

  /** `observes`: agents only observe, so no cap may be in force. */
  constructor(machine: (node: string) => CappedMachine | undefined, observes = false) {
    this.#machine = machine;
    this.#observes = observes;
  }

  published(node: string, spec: NodeTwinSpec, now: CapTime): void {
    const before = this.#published.get(node);
    const same = before !== undefined && isDeepStrictEqual([before.spec.cpu, before.spec.gpu], [spec.cpu, spec.gpu]);
    if (!same) this.#published.set(node, { spec, since: now });
  }

  forget(node: string): void {
    this.#published.delete(node);
  }

  /** All caps count as published now: while the stop switch is on, agents restore the original limits. */
  restartSettling(now: CapTime): void {
    for (const [node, { spec }] of this.#published) this.#published.set(node, { spec, since: now });
  }

  /** Compares every node whose caps were published at or before `settled`, in real and in simulated time. */
  compareSettled(settled: CapTime, now: CapTime): void {
    for (const [node, { spec, since }] of this.#published) {
      const machine = this.#machine(node);
      if (machine === undefined) continue;
      // A machine that starts has no caps until its agent sets them.
      if (machine.power !== "on") this.#published.set(node, { spec, since: now });
      else if (since.real <= settled.real && since.simulated <= settled.simulated) this.#compare(node, spec, machine);
    }
  }

  #compare(node: string, spec: NodeTwinSpec, machine: CappedMachine): void {
    this.#compared++;
    const caps = effectiveCaps(spec, machine.spec.hardware);
    if (Math.min(caps.cpuPct, caps.gpuPct) < 100) this.#eco++;
    const difference = capDifference(this.#observes ? UNCAPPED : caps, machine);
    if (difference === undefined) return;
    this.#different++;
    if (this.#examples.length < EXAMPLES) this.#examples.push(`${node}: ${difference}`);
  }

  get figures(): CapAuditResult {
    return { compared: this.#compared, eco: this.#eco, different: this.#different, examples: this.#examples };
  }
}

/** A point in time on both clocks, in milliseconds. */
interface CapTime {
  readonly real: number;
  readonly simulated: number;
}

const UNCAPPED = { cpuPct: percent(100), gpuPct: percent(100) };

/** In watts: caps are computed as percentages and sent in watts. */
const TOLERANCE = 0.5;

function capDifference(
  { cpuPct, gpuPct }: Pick<ReturnType<typeof effectiveCaps>, "cpuPct" | "gpuPct">,
  { spec, physics }: CappedMachine,
): string | undefined {
  const { cpu, gpu } = spec.hardware;
  const { cpuWattsPerPackage, gpuWattsPerBoard, throttlePct = 0 } = physics.caps;
  const differences = [
    differs("CPU", cpuPct, packageCapFloor(cpu), cpu.maxWattsPerSocket, cpuWattsPerPackage),
    gpu && differs("GPU", gpuPct, gpu.minWatts, gpu.maxWatts, gpuWattsPerBoard),
    throttlePct > 0 ? `throttled by ${throttlePct} %` : undefined,
  ].filter((difference) => difference !== undefined);
  return differences.length === 0 ? undefined : differences.join(", ");
}

function differs(
  device: string,
  pct: Percent,
  min: Watts | undefined,
  max: Watts | undefined,
  inForce: Watts | undefined,
): string | undefined {
  if (max === undefined) return undefined;
  const wanted = Math.max(min ?? 0, (max * pct) / 100);
  const there = inForce ?? max;
  return Math.abs(there - wanted) <= TOLERANCE
    ? undefined
    : `${device} ${formatWatts(there)} instead of ${formatWatts(wanted)}`;
}
