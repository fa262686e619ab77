import { isNonNegative, isPositive, type Percent, type Watts, watts } from "../units/index.ts";
import { toScore } from "./score.ts";

/** A typical rack's supply. */
export const defaultRackCapacity = watts(50_000);

/** Absent without a total, or a capacity to hold it against. */
export const psuStress = (total: Watts | undefined, rackCapacity: Watts = defaultRackCapacity): Percent | undefined =>
  isNonNegative(total) && isPositive(rackCapacity) ? toScore((total * 100) / rackCapacity) : undefined;

export interface RackedNode {
  readonly name: string;
  /** The value of joulie.io/rack. */
  readonly rack?: string | undefined;
  /**
   * The reading the twin goes by, whatever its source. A `static` one is an estimate too, and yet nearer to the truth than
   * the cap: it counts the pods that are there, where the cap would have an idle cluster draw all it may.
   */
  readonly measured?: Watts | undefined;
  /** What the node may draw under its caps: it stands in where nothing was measured. */
  readonly capEstimate?: Watts | undefined;
}

/**
 * The power drawn from a supply, one figure for all nodes of a rack, by the value of their joulie.io/rack. Nodes without a
 * rack label share one more group: with no label anywhere that is the whole cluster, and beside labelled racks it leaves out
 * the power that is known to come from elsewhere (docs/design/0005 has the other reading). A node of which nothing is known
 * adds nothing, and a group of such nodes has no figure.
 *
 * `rackReadings` is what the racks' own meters say; it replaces the sum. 0 W with nodes running is a dead meter.
 */
export function supplyTotals(
  nodes: Iterable<RackedNode>,
  rackReadings: ReadonlyMap<string, Watts> = new Map(),
): (rack: string | undefined) => Watts | undefined {
  const sums = new Map<string, number>();
  const names = new Set<string>();
  for (const { name, rack = "", measured, capEstimate } of nodes) {
    // A name seen twice is one node.
    if (names.has(name)) continue;
    names.add(name);
    const power = isNonNegative(measured) ? measured : capEstimate;
    if (isNonNegative(power)) sums.set(rack, (sums.get(rack) ?? 0) + power);
  }
  return (rack = "") => {
    const reading = rack === "" ? undefined : rackReadings.get(rack);
    const sum = sums.get(rack);
    return isPositive(reading) ? reading : sum === undefined ? undefined : watts(sum);
  };
}
