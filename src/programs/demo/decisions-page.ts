import { type Instant, instant, milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";

/** URLs that the user can open while the demo runs. */
export interface DemoAddresses {
  readonly plan: string;
  readonly decisions: string;
  readonly scoring: string;
  readonly agent: string;
  readonly simulator: string;
  readonly metrics: readonly string[];
  readonly dashboard: string;
}

/** One decision of the extender for one pod. */
export interface ExtenderDecision {
  readonly at: Instant;
  readonly verb: string;
  readonly pod: string;
  readonly workloadClass: string;
  readonly cores: number;
  readonly gpus: number;
  readonly candidates: number;
  /** Number of rejected nodes by reason. */
  readonly refused: ReadonlyMap<string, number>;
  readonly best: { readonly node: string; readonly score: number; readonly headroom: number | undefined } | undefined;
}

interface DecisionEntry {
  readonly at: string;
  readonly verb: string;
  readonly pod: { readonly namespace: string; readonly name: string };
  readonly workloadClass: string;
  readonly cpuCores: number;
  readonly gpus: Readonly<Record<string, number>>;
  readonly candidates: number;
  readonly rejected?: readonly { readonly reason: string; readonly count: number }[];
  readonly best?: readonly {
    readonly node: string;
    readonly score: number;
    readonly breakdown: { readonly headroomScore?: number };
  }[];
}

/** Client of the extender's /debug/decisions page. */
export class DecisionsPage {
  readonly #url: string;
  readonly #http = new HttpClient({ clock: systemClock, timeout: milliseconds(2000), maxBodyBytes: 16 * 2 ** 20 });

  constructor(url: string) {
    this.#url = url;
  }

  /** Newest first; empty if the extender does not respond. */
  async latest(): Promise<readonly ExtenderDecision[]> {
    try {
      const page = (await this.#http.json({ url: new URL(this.#url) })) as {
        readonly decisions?: readonly DecisionEntry[];
      };
      return (page.decisions ?? []).map(decisionOf);
    } catch {
      return [];
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

function decisionOf(entry: DecisionEntry): ExtenderDecision {
  const { at, verb, pod, workloadClass, cpuCores, gpus, candidates, rejected = [], best = [] } = entry;
  const [first] = best;
  return {
    at: instant(Date.parse(at)),
    verb,
    pod: `${pod.namespace}/${pod.name}`,
    workloadClass,
    cores: cpuCores,
    gpus: Object.values(gpus).reduce((sum, count) => sum + count, 0),
    candidates,
    refused: new Map(rejected.map(({ reason, count }) => [reason, count])),
    best: first && { node: first.node, score: first.score, headroom: first.breakdown.headroomScore },
  };
}
