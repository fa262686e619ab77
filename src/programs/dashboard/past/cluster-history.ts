import { dayOfNodeHistory, HistoryRing } from "../../../core/history/index.ts";
import { type Instant, instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { FleetRow } from "../state/node-row.ts";
import type { HistoryAnswer, NodeAnswer, Totals } from "../wire.ts";

const clusterSeries = ["power", "cap", "capacity", "counterfactual"] as const;
const nodeSeries = ["power", "cap"] as const;

/** How often the cluster is sampled, in the time of the cluster. */
const SAMPLE_EVERY = milliseconds(10_000);
export const HOUR = milliseconds(3_600_000);

/** While more of the nodes have a stale NodeTwin, the sum of the others would look as if the cluster drew less. */
const STALE_SHARE = 0.1;

export class ClusterHistory {
  readonly cluster = new HistoryRing(clusterSeries);
  readonly #nodes = new Map<string, HistoryRing<(typeof nodeSeries)[number]>>();
  #sampledAt: Instant | undefined;

  /** Says that the cluster was not looked at for a while: curves have a gap there. */
  interrupt(): void {
    for (const ring of [this.cluster, ...this.#nodes.values()]) ring.interrupt();
  }

  /** Takes a sample if one is due. */
  sample(at: Instant, totals: Totals, rows: Iterable<readonly [string, FleetRow]>): boolean {
    if (this.#sampledAt !== undefined && Math.abs(at - this.#sampledAt) < SAMPLE_EVERY) return false;
    this.#sampledAt = at;
    const { power, cap, capacity, counterfactual } = totals;
    const isWhole = totals.stale <= totals.expected * STALE_SHARE;
    this.cluster.record(at, {
      power: isWhole ? (power ?? undefined) : undefined,
      cap: cap ?? undefined,
      capacity: capacity ?? undefined,
      counterfactual: isWhole ? (counterfactual ?? undefined) : undefined,
    });
    const present = new Set<string>();
    for (const [name, row] of rows) {
      present.add(name);
      let ring = this.#nodes.get(name);
      if (ring === undefined) this.#nodes.set(name, (ring = new HistoryRing(nodeSeries, dayOfNodeHistory)));
      ring.record(at, { power: row.power ?? undefined, cap: row.cap ?? undefined });
    }
    for (const name of this.#nodes.keys()) if (!present.has(name)) this.#nodes.delete(name);
    return true;
  }

  read(now: Instant, length: Milliseconds): HistoryAnswer {
    const { step, at, values } = this.cluster.read(instant(now - length), now);
    return { source: "memory", step, at, ...values };
  }

  ofNode(name: string, now: Instant, length: Milliseconds): NodeAnswer["history"] {
    const found = this.#nodes.get(name)?.read(instant(now - length), now);
    return { at: found?.at ?? [], power: found?.values.power ?? [], cap: found?.values.cap ?? [] };
  }
}
