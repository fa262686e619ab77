import { isNonNegative, isPositive, type Percent, type Watts, watts } from "../units/index.ts";
import { toScore } from "./cooling.ts";

export const defaultRackCapacity = watts(50_000);

/** Absent without a total or a capacity. */
export const psuStress = (total: Watts | undefined, rackCapacity: Watts = defaultRackCapacity): Percent | undefined =>
  isNonNegative(total) && isPositive(rackCapacity) ? toScore((total * 100) / rackCapacity) : undefined;

export interface RackedNode {
  /** The value of joulie.io/rack. */
  readonly rack?: string | undefined;
  /**
   * The reading that the twin uses, from any source. A `static` estimate is more accurate than the cap: it counts the pods on
   * the node, while the cap assumes that an idle cluster draws its maximum.
   */
  readonly measured?: Watts | undefined;
  /** The power that the node may draw under its caps; used if there is no reading. */
  readonly capEstimate?: Watts | undefined;
}

/**
 * The total power per supply, by the value of joulie.io/rack. Nodes without a rack label form one more group: the whole
 * cluster if there are no labels, else the nodes outside the labelled racks (docs/design/0005 describes the alternative). A
 * node without any known power adds nothing, and a group of such nodes has no total.
 *
 * `rackReadings` are the readings of the racks' meters and replace the sum. 0 W with running nodes means a dead meter.
 */
export function supplyTotals(
  nodes: Iterable<RackedNode>,
  rackReadings: ReadonlyMap<string, Watts> = new Map(),
): (rack: string | undefined) => Watts | undefined {
  const sums = new Map<string, number>();
  for (const { rack = "", measured, capEstimate } of nodes) {
    const power = isNonNegative(measured) ? measured : capEstimate;
    if (isNonNegative(power)) sums.set(rack, (sums.get(rack) ?? 0) + power);
  }
  return (rack = "") => {
    const reading = rack === "" ? undefined : rackReadings.get(rack);
    const sum = sums.get(rack);
    if (isPositive(reading)) return reading;
    return sum === undefined ? undefined : watts(sum);
  };
}
