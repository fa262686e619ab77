import type { Catalogue } from "../../core/inventory/index.ts";
import {
  type ClusterProblem,
  defaultReportSettings,
  EnergyAccount,
  energySampleOf,
  findProblems,
  type ReportSettings,
} from "../../core/report/index.ts";
import type { Instant, Milliseconds } from "../../core/units/index.ts";
import type { ClusterWatch } from "./state/cluster-watch.ts";
import type { Problem } from "./wire.ts";

const severities = { critical: "error", warning: "warning", notice: "info" } as const;
/** A page lists some; the map shows all. */
const NODES_PER_PROBLEM = 50;

/** What the dashboard says in words and in joules, with the same code as `kubectl joulie`. */
export class Reports {
  readonly account = new EnergyAccount();
  readonly settings: ReportSettings;
  readonly #cluster: ClusterWatch;
  readonly #catalogue: Catalogue;

  constructor(cluster: ClusterWatch, catalogue: Catalogue, staleAfter: Milliseconds) {
    this.#cluster = cluster;
    this.#catalogue = catalogue;
    this.settings = { ...defaultReportSettings, staleAfter, agentSilentAfter: staleAfter };
  }

  problems(now: Instant): readonly Problem[] {
    return findProblems(this.#cluster.objects(now), this.settings).map(problemOf);
  }

  /** Adds the moment to the account, and returns the watts that the same pods would add on uncapped nodes that are always on. */
  savedWatts(now: Instant): number | null {
    const sample = energySampleOf(this.#cluster.objects(now), this.settings, { catalogue: this.#catalogue });
    this.account.add(sample);
    let sum = 0;
    let known = 0;
    for (const { drawn, savedByCaps, asleep, idle } of sample.nodes) {
      if (drawn === undefined && !asleep) continue;
      known++;
      sum += asleep ? idle - (drawn ?? 0) : savedByCaps.estimate;
    }
    return known === 0 ? null : Math.round(sum);
  }
}

const problemOf = ({ severity, subject, what, meaning, command, nodes }: ClusterProblem): Problem => ({
  severity: severities[severity],
  title: `${subject}: ${what}`,
  meaning,
  fix: command,
  nodes: nodes.slice(0, NODES_PER_PROBLEM),
});
