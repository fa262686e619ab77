import { apiGroup } from "../../core/api/index.ts";
import type { Catalogue } from "../../core/inventory/index.ts";
import {
  type ClusterProblem,
  defaultReportSettings,
  EnergyAccount,
  type EnergyFactors,
  EnergyHistory,
  type EnergyTotals,
  energySampleOf,
  findProblems,
  type Installation,
  type ReportSettings,
  type StoredEnergyAccount,
  type StoredEnergyHistory,
} from "../../core/report/index.ts";
import type { Instant, Milliseconds } from "../../core/units/index.ts";
import type { ClusterWatch } from "./state/cluster-watch.ts";
import type { ProblemEntry } from "./wire.ts";

const severities = { critical: "error", warning: "warning", notice: "info" } as const;
const NODES_PER_PROBLEM = 50;

export interface ReportsOptions {
  readonly cluster: ClusterWatch;
  readonly installation: () => Installation | undefined;
  readonly catalogue: Catalogue;
  readonly staleAfter: Milliseconds;
  readonly factors: EnergyFactors;
  readonly onSample: (totals: EnergyTotals) => void;
}

/** What the dashboard says in words and in joules, with the same code as `kubectl joulie`. */
export class Reports {
  readonly factors: EnergyFactors;
  readonly settings: ReportSettings;
  #samples = 0;
  #account = new EnergyAccount();
  #hours = new EnergyHistory();
  readonly #cluster: ClusterWatch;
  readonly #installation: () => Installation | undefined;
  readonly #catalogue: Catalogue;
  readonly #onSample: (totals: EnergyTotals) => void;

  constructor({ cluster, installation, catalogue, staleAfter, factors, onSample }: ReportsOptions) {
    this.#onSample = onSample;
    this.#cluster = cluster;
    this.#installation = installation;
    this.#catalogue = catalogue;
    this.factors = factors;
    this.settings = { ...defaultReportSettings, staleAfter, agentSilentAfter: staleAfter };
  }

  get account(): EnergyAccount {
    return this.#account;
  }

  get hours(): EnergyHistory {
    return this.#hours;
  }

  get samples(): number {
    return this.#samples;
  }

  restore(account: StoredEnergyAccount | undefined, hours: StoredEnergyHistory | undefined): void {
    this.#account = new EnergyAccount(account);
    this.#hours = new EnergyHistory(hours);
  }

  problems(now: Instant): readonly ProblemEntry[] {
    const installed = this.#installation();
    const { missing, forbidden } = this.#cluster.refused;
    const installation = installed && {
      ...installed,
      missingKinds: missing.map((name) => `${name}.${apiGroup}`),
      unreadable: [...installed.unreadable, ...forbidden.map((name) => `${name}: the dashboard may not list them`)],
    };
    return findProblems({ ...this.#cluster.objects(now), installation }, this.settings).map(problemOf);
  }

  /** Adds the moment to the account. Returns the watts that the model adds, or null if the pods or all readings are unknown. */
  savedWatts(now: Instant): number | null {
    const { pods, ...objects } = this.#cluster.objects(now);
    if (pods === undefined) return null;
    const sample = energySampleOf({ ...objects, pods }, this.settings, { catalogue: this.#catalogue });
    this.#account.add(sample);
    this.#hours.add(sample);
    this.#samples++;
    this.#onSample(this.#account.totals);
    let sum = 0;
    let known = 0;
    for (const { drawn, savedInChips } of sample.nodes) {
      if (drawn === undefined) continue;
      known++;
      sum += savedInChips;
    }
    return known === 0 ? null : Math.round(sum);
  }
}

const problemOf = ({ id, severity, subject, what, meaning, command, nodes }: ClusterProblem): ProblemEntry => ({
  id,
  severity: severities[severity],
  title: `${subject}: ${what}`,
  meaning,
  fix: command,
  nodes: nodes.slice(0, NODES_PER_PROBLEM),
});
