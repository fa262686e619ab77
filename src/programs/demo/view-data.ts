import type { Instant, Milliseconds, Watts } from "../../core/units/index.ts";
import type { SavingsAnswer } from "../dashboard/index.ts";
import type { DrainCounts } from "./class-history.ts";
import type { DrainingNode, PodCounts } from "./cluster-observer.ts";
import type { DecisionFeedItem } from "./decision-feed.ts";
import type { RackTiles } from "./node-tiles.ts";
import type { PowerPoint } from "./power-chart.ts";
import type { ShownSpeed } from "./quantities.ts";
import type { SleepFigures } from "./sleep-figures.ts";

/** The data shown by the live view. */
export interface ViewData {
  /** Simulated time. */
  readonly time: Instant;
  readonly speed: ShownSpeed;
  /** Real time. */
  readonly running: Milliseconds;
  readonly duration: Milliseconds | undefined;
  /** Of processors and boards, as caps limit it. */
  readonly power: { readonly drawn: Watts; readonly capped: number; readonly uncapped: number };
  /** Power of whole servers, oldest first, one reading per second. */
  readonly history: readonly PowerPoint[];
  readonly pue: number | undefined;
  readonly racks: readonly RackTiles[];
  /** Undefined if no node may sleep. */
  readonly sleep: SleepFigures | undefined;
  /** Undefined if the policy plans no drains. */
  readonly drains: DrainCounts | undefined;
  readonly draining: readonly DrainingNode[];
  readonly pods: PodCounts;
  /** Undefined until the dashboard has counted. */
  readonly energy: EnergyFigures | undefined;
  /** Most recent last. */
  readonly news: readonly DecisionFeedItem[];
  /** The demo's last own message. */
  readonly notice: string | undefined;
}

/** Energy at the wall, used and not used, as the dashboard and `joulie savings --since all` show it. */
export type EnergyFigures = Pick<SavingsAnswer, "usedKwh" | "notUsedKwh" | "notUsedPct">;
