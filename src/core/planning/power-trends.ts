import { type PowerReading, PowerTrend } from "../twin/index.ts";
import type { Instant, WattsPerMinute } from "../units/index.ts";
import type { SnapshotNode } from "./cluster-snapshot.ts";

/** The recent power readings of every node. A trend starts over with a restart, and for a node that was recreated. */
export class PowerTrends {
  readonly #nodes = new Map<string, { readonly uid: string; readonly trend: PowerTrend }>();

  /** Adds the reading and returns the trend at `now`. */
  slopeWith(
    { metadata: { name, uid } }: SnapshotNode,
    reading: PowerReading | undefined,
    now: Instant,
  ): WattsPerMinute {
    let known = this.#nodes.get(name);
    if (known === undefined || known.uid !== uid) this.#nodes.set(name, (known = { uid, trend: new PowerTrend() }));
    if (reading !== undefined) known.trend.add(reading, now);
    return known.trend.slope(now);
  }

  /** Drops other nodes. Each of `nodes` must have a trend. */
  keepOnly(nodes: ReadonlyMap<string, unknown>): void {
    if (this.#nodes.size === nodes.size) return;
    for (const name of this.#nodes.keys()) if (!nodes.has(name)) this.#nodes.delete(name);
  }
}
