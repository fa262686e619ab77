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

/** What one scheduling request sees of the whole cluster; the same for each of its candidate nodes. */
export interface Batch {
  readonly now: Instant;
  readonly clusterTrend: WattsPerMinute;
  /** 0: the performance nodes are idle; 100: their budgets are used up. */
  readonly perfPressure: Percent;
}

/** How far the clock of who wrote a twin may run ahead. A date further on is a clock that was set anew, and would be fresh for ever. */
const ALLOWED_AHEAD = milliseconds(60_000);

/** By its age. What has no readable date (NaN) is as good as old. */
export const isFreshAt = (age: number, threshold: Milliseconds): boolean =>
  age <= threshold && age + ALLOWED_AHEAD >= 0;

export const isFresh = (twin: TwinState, now: Instant, threshold: Milliseconds): boolean =>
  twin.updatedAt !== undefined && isFreshAt(between(twin.updatedAt, now), threshold);

/** Headroom before the pod comes: measured where possible, else predicted. */
export const currentHeadroom = ({ power, predictedHeadroom }: TwinState): Percent | undefined =>
  power === undefined ? predictedHeadroom : headroomScore(power.budget, power.drawn, watts(0));

/**
 * Summed over every fresh twin of the cluster, candidate or not, in the order given: whether the cluster is under pressure does
 * not depend on how many nodes kube-scheduler happened to ask about.
 */
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
