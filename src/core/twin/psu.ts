import { type Percent, type Watts, watts } from "../units/index.ts";
import { score } from "./score.ts";

/** A typical rack's supply. */
export const defaultRackCapacity = watts(50_000);

export const psuStress = (total: Watts, rackCapacity: Watts = defaultRackCapacity): Percent =>
  score((total * 100) / rackCapacity);

export interface RackedNode {
  readonly name: string;
  /** The value of joulie.io/rack. */
  readonly rack?: string | undefined;
  readonly measured?: Watts | undefined;
  /** What the node may draw under its caps: it stands in where nothing was measured. */
  readonly capEstimate?: Watts | undefined;
}

const isPower = (value: number | undefined): value is Watts =>
  value !== undefined && Number.isFinite(value) && value >= 0;

/**
 * The power drawn from each node's supply, one figure for all nodes of a rack. Nodes without a rack label share one more
 * group: with no label anywhere that is the whole cluster, and beside labelled racks it leaves out the power that is
 * known to come from elsewhere. A node of which nothing is known adds nothing, and a group of such nodes has no figure.
 *
 * `rackReadings` is what the racks' own meters say; it replaces the sum. 0 W with nodes running is a dead meter.
 */
export function supplyTotals(
  nodes: Iterable<RackedNode>,
  rackReadings: ReadonlyMap<string, Watts> = new Map(),
): ReadonlyMap<string, Watts> {
  const sums = new Map<string | undefined, Watts>();
  const racks = new Map<string, string | undefined>();
  for (const node of nodes) {
    const rack = node.rack === "" ? undefined : node.rack;
    // A name seen twice is one node.
    if (racks.has(node.name)) continue;
    racks.set(node.name, rack);
    const power = [node.measured, node.capEstimate].find(isPower);
    if (power !== undefined) sums.set(rack, watts((sums.get(rack) ?? 0) + power));
  }
  const totals = new Map<string, Watts>();
  for (const [name, rack] of racks) {
    const reading = rack === undefined ? undefined : rackReadings.get(rack);
    const total = isPower(reading) && reading > 0 ? reading : sums.get(rack);
    if (total !== undefined) totals.set(name, total);
  }
  return totals;
}
