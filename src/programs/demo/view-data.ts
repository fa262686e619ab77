import type { SchedulableClass } from "../../core/api/index.ts";
import type { Instant, Joules, Milliseconds, Watts } from "../../core/units/index.ts";
import type { DrainCounts } from "./class-history.ts";
import type { DrainingNode, PodCounts } from "./cluster-observer.ts";
import type { DecisionFeedItem } from "./decision-feed.ts";

/** The data shown by the live view. */
export interface ViewData {
  /** Simulated time. */
  readonly time: Instant;
  readonly speed: number;
  /** Real time. */
  readonly running: Milliseconds;
  readonly duration: Milliseconds | undefined;
  readonly power: { readonly drawn: Watts; readonly capped: number; readonly uncapped: number };
  readonly pue: number | undefined;
  readonly classes: Readonly<Record<SchedulableClass, number>>;
  readonly drains: DrainCounts;
  readonly draining: readonly DrainingNode[];
  readonly pods: PodCounts;
  readonly energy: Joules;
  readonly news: readonly DecisionFeedItem[];
  /** The demo's last own message. */
  readonly notice: string | undefined;
}
