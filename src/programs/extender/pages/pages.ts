import type { ScoringSettings } from "../../../core/scoring/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type HealthChecks, healthReply, type Reply, type StreamedPage } from "../../../platform/serve/index.ts";
import type { DecisionLog } from "../decisions/decision-log.ts";
import type { ClusterCache } from "../state/cluster-cache.ts";
import { inTimeSlices } from "../time-slice.ts";
import { decisionsPage } from "./decisions-page.ts";
import { scoringPage } from "./scoring-page.ts";

export interface ExtenderPagesOptions {
  readonly state: ClusterCache;
  readonly decisions: DecisionLog;
  readonly settings: ScoringSettings;
  readonly variables: Readonly<Record<string, string>>;
  /** The clock for the age of twins. */
  readonly clock: Clock;
  readonly ioClock: Clock;
}

/** They contain node names, pod names and numbers, no secrets. */
export function debugPages(options: ExtenderPagesOptions): Record<string, StreamedPage> {
  const { state, decisions, settings, variables, clock, ioClock } = options;
  const json = (body: Reply["body"]): Reply => ({ status: 200, type: "application/json", body });
  return {
    "/debug/scoring": () => json(inTimeSlices(scoringPage(state, clock.now(), settings), ioClock)),
    "/debug/decisions": (query) =>
      json(inTimeSlices(decisionsPage(decisions, query.get("pod"), settings, variables), ioClock)),
  };
}

export const healthPages = (ready: HealthChecks): Record<string, StreamedPage> => ({
  "/healthz": () => healthReply("live", {}),
  "/readyz": () => healthReply("ready", ready),
});
