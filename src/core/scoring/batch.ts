import {
  between,
  type Instant,
  type Milliseconds,
  milliseconds,
  type Percent,
  type WattsPerMinute,
  watts,
} from "../units/index.ts";
import { headroomScore, perfPressure } from "./formula.ts";
import type { TwinState } from "./twin-state.ts";

/** The state of the whole cluster for one scheduling request; the same for all candidate nodes. */
export interface Batch {
  readonly now: Instant;
  readonly clusterTrend: WattsPerMinute;
  /** 0: the performance nodes are idle; 100: their power budgets are used up. */
  readonly perfPressure: Percent;
}

/** The allowed clock skew of the writer of a twin. A date further ahead means that a clock was set; it would be fresh for ever. */
const ALLOWED_AHEAD = milliseconds(60_000);

/** Compares the age. A twin without a readable date (NaN) is stale. */
export const isFreshAt = (age: number, threshold: Milliseconds): boolean =>
  age <= threshold && age + ALLOWED_AHEAD >= 0;

export const isFresh = (twin: TwinState, now: Instant, threshold: Milliseconds): boolean =>
  twin.updatedAt !== undefined && isFreshAt(between(twin.updatedAt, now), threshold);

/** Headroom without the pod: measured if possible, else predicted. */
export const currentHeadroom = ({ power, predictedHeadroom }: TwinState): Percent | undefined =>
  power === undefined ? predictedHeadroom : headroomScore(power.budget, power.drawn, watts(0));

/** Sums over every fresh twin of the cluster, whether it is a candidate or not. */
export function batchOf(
  twins: Iterable<TwinState | undefined>,
  now: Instant,
  settings: { readonly stalenessThreshold: Milliseconds },
): Batch {
  let clusterTrend = 0;
  let congestion = 0;
  let nodes = 0;
  for (const twin of twins) {
    if (twin === undefined || !isFresh(twin, now, settings.stalenessThreshold)) continue;
    clusterTrend += twin.power?.trend ?? 0;
    const headroom = currentHeadroom(twin);
    if (twin.schedulableClass !== "performance" || headroom === undefined) continue;
    congestion += 100 - headroom;
    nodes++;
  }
  return { now, clusterTrend: clusterTrend as WattsPerMinute, perfPressure: perfPressure(congestion, nodes) };
}
