import type { SchedulableClass } from "../../core/api/index.ts";
import type { Instant, Joules, Milliseconds, Watts } from "../../core/units/index.ts";
import type { Drains } from "./class-history.ts";
import type { NewsItem } from "./news.ts";
import type { Draining, PodFigures } from "./observer.ts";

/** All that the live view shows, at one moment. */
export interface Frame {
  /** Simulated time. */
  readonly time: Instant;
  readonly speed: number;
  /** Real time. */
  readonly running: Milliseconds;
  readonly duration: Milliseconds | undefined;
  readonly power: { readonly drawn: Watts; readonly capped: number; readonly uncapped: number };
  readonly pue: number | undefined;
  readonly classes: Readonly<Record<SchedulableClass, number>>;
  readonly drains: Drains;
  readonly draining: readonly Draining[];
  readonly pods: PodFigures;
  readonly energy: Joules;
  readonly news: readonly NewsItem[];
  /** What the demo itself has to say. */
  readonly notice: string | undefined;
}
