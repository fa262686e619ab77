import type { ScoringSettings } from "../../core/scoring/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { type HealthChecks, healthReply, type Reply } from "../../platform/serve/index.ts";
import type { Decisions } from "./decisions.ts";
import { decisionsPage } from "./decisions-page.ts";
import { nodePage, scoringPage } from "./scoring-page.ts";
import type { ClusterState } from "./state.ts";
import { inTurns } from "./turns.ts";

export interface PagesOptions {
  readonly state: ClusterState;
  readonly decisions: Decisions;
  readonly settings: ScoringSettings;
  /** The time that twins are judged by. */
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly ready: HealthChecks;
}

type Page = (query: URLSearchParams) => Reply | undefined;

/** What can be read beside the port for metrics. Nothing here names a secret: nodes, pods and figures. */
export function pagesOf({ state, decisions, settings, clock, ioClock, ready }: PagesOptions): Record<string, Page> {
  const json = (body: Reply["body"]): Reply => ({ status: 200, type: "application/json", body });
  return {
    "/healthz": () => healthReply("live", {}),
    "/readyz": () => healthReply("ready", ready),
    "/debug/scoring": (query) => {
      const name = query.get("node");
      if (name === null) return json(inTurns(scoringPage(state, clock.now(), settings), ioClock));
      const page = nodePage(state, name, clock.now(), settings);
      return page === undefined ? undefined : json(`${JSON.stringify(page)}\n`);
    },
    "/debug/decisions": (query) => json(inTurns(decisionsPage(decisions, query.get("pod"), settings), ioClock)),
  };
}
