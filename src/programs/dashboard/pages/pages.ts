import type { Catalogue } from "../../../core/inventory/index.ts";
import type { Instant, Milliseconds } from "../../../core/units/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { type ClusterHistory, HOUR } from "../past/cluster-history.ts";
import type { Reports } from "../reports.ts";
import { BadRequest, type DataPage } from "../server/http-server.ts";
import type { ClusterWatch } from "../state/cluster-watch.ts";
import type { HistoryAnswer, Snapshot } from "../wire.ts";
import { nodePage } from "./node-page.ts";
import { numberIn } from "./query-number.ts";
import { savingsPage } from "./savings-page.ts";
import { scorePage } from "./score-page.ts";

export interface PagesOptions {
  readonly cluster: ClusterWatch;
  readonly history: ClusterHistory;
  /** Reads further back than the ring; undefined without Prometheus. */
  readonly past: ((now: Instant, length: Milliseconds) => Promise<HistoryAnswer>) | undefined;
  readonly snapshot: () => Snapshot;
  readonly reasonOf: (node: string) => Promise<string | undefined>;
  readonly reports: Reports;
  readonly scoring: "headroom" | "energy";
  readonly catalogue: Catalogue;
  readonly now: () => Instant;
}

/** The ring's length. */
export const RING_HOURS = 24;
/** With Prometheus. */
export const PAST_HOURS = 24 * 30;
const LONGEST_NAME = 253;
const LONGEST_KEY = 317;

export function dataPages(options: PagesOptions): Readonly<Record<string, DataPage>> {
  const { cluster, history, past, snapshot, now } = options;
  return {
    "/api/snapshot": () => JSON.stringify(snapshot()),
    "/api/labels": ({ query }) => {
      const key = query.get("key") ?? "";
      if (key === "" || key.length > LONGEST_KEY) throw new BadRequest("give a label's name: /api/labels?key=NAME");
      return JSON.stringify(cluster.table.labelColumn(key));
    },
    "/api/node/": async ({ rest }) => {
      const facts = rest.length <= LONGEST_NAME ? cluster.node(rest) : undefined;
      if (facts === undefined) return undefined;
      const at = now();
      const reason = await options.reasonOf(rest);
      return JSON.stringify(nodePage(facts, at, reason, history.ofNode(rest, at, milliseconds(24 * HOUR))));
    },
    "/api/history": async ({ query }) => {
      const hours = numberIn(query, "hours", RING_HOURS, past === undefined ? RING_HOURS : PAST_HOURS);
      const length = milliseconds(hours * HOUR);
      if (hours <= RING_HOURS || past === undefined) return JSON.stringify(history.read(now(), length));
      return JSON.stringify(await past(now(), length));
    },
    "/api/score": ({ query }) => {
      const answer = scorePage(query, cluster.objects(now()), options);
      return answer && JSON.stringify(answer);
    },
    "/api/savings": () => JSON.stringify(savingsPage(options.reports.account.totals)),
  };
}
