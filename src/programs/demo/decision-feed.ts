import type { Instant } from "../../core/units/index.ts";
import type { ExtenderDecision } from "./decisions-page.ts";
import type { ObservedEvent } from "./observed-objects.ts";

/** A decision of the operator or the extender, with its reason. */
export interface DecisionFeedItem {
  readonly at: Instant;
  readonly about: string;
  readonly text: string;
  readonly tone: "up" | "down" | "waits" | "plain";
}

const KEPT = 50;
const tones: Readonly<Record<string, DecisionFeedItem["tone"]>> = {
  DowngradeDeferred: "waits",
  ProfileEco: "down",
  ProfilePerformance: "up",
  SleepDecided: "down",
  WakeDecided: "up",
  WaitsForNode: "waits",
};

/** Retains the most recent decisions of the operator and the extender. */
export class DecisionFeed {
  readonly #nodes: DecisionFeedItem[] = [];
  readonly #pods: DecisionFeedItem[] = [];
  #lastDecision = Number.NEGATIVE_INFINITY;

  nodeDecided({ node, pod = "", reason, note }: ObservedEvent, at: Instant): void {
    keep(this.#nodes, { at, about: node ?? shortName(pod), text: note, tone: tones[reason] ?? "plain" });
  }

  /** Expects decisions newest first, as the extender's page lists them. Skips those already added. */
  podsDecided(decisions: readonly ExtenderDecision[]): void {
    const refusals = new Map(
      decisions.filter(({ verb }) => verb === "filter").map((decision) => [decision.pod, decision.refused]),
    );
    for (const decision of decisions.toReversed()) {
      if (decision.verb !== "prioritize" || decision.at <= this.#lastDecision) continue;
      this.#lastDecision = decision.at;
      const text = textOf(decision, refusals.get(decision.pod) ?? new Map());
      keep(this.#pods, { at: decision.at, about: shortName(decision.pod), text, tone: "plain" });
    }
  }

  /** The most recent decisions of both sources, oldest first. */
  latest(count: number): readonly DecisionFeedItem[] {
    const pods = this.#pods.slice(-Math.max(Math.ceil(count / 2), count - this.#nodes.length));
    const nodes = this.#nodes.slice(-Math.max(0, count - pods.length) || this.#nodes.length);
    return [...pods, ...nodes].toSorted((one, other) => one.at - other.at).slice(-count);
  }
}

const shortName = (pod: string): string => pod.replace(/^default\//, "");

function keep(items: DecisionFeedItem[], item: DecisionFeedItem): void {
  items.push(item);
  if (items.length > KEPT) items.shift();
}

function textOf(
  { workloadClass, cores, gpus, candidates, best }: ExtenderDecision,
  refused: ExtenderDecision["refused"],
): string {
  const size = gpus > 0 ? counted(gpus, "GPU") : counted(cores, "core");
  const where =
    best === undefined
      ? "no node is left"
      : `${best.node} is best of ${candidates}, score ${best.score}${best.headroom === undefined ? "" : `, headroom ${Math.round(best.headroom)} %`}`;
  const nodes = [...refused.values()].reduce((sum, count) => sum + count, 0);
  return `${workloadClass}, ${size}: ${where}${nodes === 0 ? "" : `; ${nodes} others refused`}`;
}

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
