import type { Catalogue } from "../../../core/inventory/index.ts";
import { type EnergyTotals, energyAccountAnswer } from "../../../core/report/index.ts";
import { type Instant, instant, milliseconds } from "../../../core/units/index.ts";
import { type ClusterHistory, HOUR } from "../past/cluster-history.ts";
import type { Past } from "../past/prometheus-history.ts";
import type { Reports } from "../reports.ts";
import { BadRequestError, type DataPage, numberParameter } from "../server/http-server.ts";
import type { ExtenderSettings } from "../sources/installation-watch.ts";
import type { ClusterWatch } from "../state/cluster-watch.ts";
import type { Snapshot } from "../wire.ts";
import { nodePage } from "./node-page.ts";
import { savingsPage } from "./savings-page.ts";
import { scorePage } from "./score-page.ts";

export interface DashboardPagesOptions {
  readonly cluster: ClusterWatch;
  readonly history: ClusterHistory;
  readonly past: Past | undefined;
  readonly snapshot: () => Snapshot;
  readonly reasonOf: (node: string) => Promise<string | undefined>;
  readonly reports: Reports;
  readonly extender: () => ExtenderSettings;
  readonly catalogue: Catalogue;
  readonly now: () => Instant;
}

/** The ring's length. */
export const RING_HOURS = 24;
export const PAST_HOURS = 24 * 30;
const MAX_NAME_LENGTH = 253;
const MAX_KEY_LENGTH = 317;

export function dataPages(options: DashboardPagesOptions): Readonly<Record<string, DataPage>> {
  const { cluster, history, past, reports, snapshot, now } = options;
  /** Of the last hours, or since the account began. */
  const totalsOf = (query: URLSearchParams): EnergyTotals =>
    query.has("hours")
      ? reports.hours.totals(instant(now() - numberParameter(query, "hours", RING_HOURS, RING_HOURS) * HOUR))
      : reports.account.totals;
  const savings = new SavingsCache(reports);
  return {
    "/api/snapshot": () => JSON.stringify(snapshot()),
    "/api/labels": ({ query }) => {
      const key = query.get("key") ?? "";
      if (key === "" || key.length > MAX_KEY_LENGTH)
        throw new BadRequestError("give a label's name: /api/labels?key=NAME");
      return JSON.stringify(cluster.table.labelColumn(key));
    },
    "/api/node/": async ({ rest }) => {
      const facts = rest.length <= MAX_NAME_LENGTH ? cluster.node(rest) : undefined;
      if (facts === undefined) return undefined;
      const at = now();
      const reason = await options.reasonOf(rest);
      return JSON.stringify(nodePage(facts, at, reason, history.ofNode(rest, at, milliseconds(24 * HOUR))));
    },
    "/api/history": async ({ query }) => {
      const hours = numberParameter(query, "hours", RING_HOURS, past === undefined ? RING_HOURS : PAST_HOURS);
      const length = milliseconds(hours * HOUR);
      if (hours <= RING_HOURS || past === undefined) return JSON.stringify(history.read(now(), length));
      return JSON.stringify(await past(now(), length));
    },
    "/api/score": ({ query }) => {
      const { pods, ...objects } = cluster.objects(now());
      if (pods === undefined)
        throw new BadRequestError("the dashboard has not read the pods, and without them it cannot score a node");
      const { catalogue } = options;
      const answer = scorePage(query, { ...objects, pods }, { extender: options.extender(), catalogue });
      return answer && JSON.stringify(answer);
    },
    "/api/savings": ({ query }) =>
      savings.get(query, () => JSON.stringify(savingsPage(totalsOf(query), reports.factors))),
    // For `joulie savings`: all nodes, in joules.
    "/api/energy-account": ({ query }) => JSON.stringify(energyAccountAnswer(totalsOf(query), reports.factors)),
  };
}

const CACHED = 16;

/** Every open page asks every few seconds. Adding up the hours of all nodes is needed once per sample, not once per page. */
class SavingsCache {
  readonly #reports: Pick<Reports, "samples">;
  readonly #texts = new Map<string, string>();
  #samples = -1;

  constructor(reports: Pick<Reports, "samples">) {
    this.#reports = reports;
  }

  get(query: URLSearchParams, make: () => string): string {
    const key = query.get("hours") ?? "";
    const { samples } = this.#reports;
    if (samples !== this.#samples || this.#texts.size >= CACHED) this.#texts.clear();
    this.#samples = samples;
    const text = this.#texts.get(key) ?? make();
    this.#texts.set(key, text);
    return text;
  }
}
