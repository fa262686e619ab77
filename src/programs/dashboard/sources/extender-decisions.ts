import * as z from "zod";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ClassChangeLog } from "../state/class-changes.ts";
import type { ProgramPages } from "./program-pages.ts";

const decision = z.object({
  at: z.string(),
  verb: z.string(),
  pod: z.object({ namespace: z.string(), name: z.string() }),
  workloadClass: z.string(),
  candidates: z.number(),
  scoring: z.string().optional(),
  rejected: z.array(z.object({ reason: z.string(), count: z.number() })).optional(),
  best: z.array(z.object({ node: z.string(), score: z.number() })).optional(),
});
const page = z.object({ decisions: z.array(decision.nullable().catch(null)) });
type ExtenderAnswer = z.output<typeof decision>;

export interface ExtenderDecisionsOptions {
  readonly pages: ProgramPages;
  readonly decisions: ClassChangeLog;
  readonly clock: Clock;
  readonly log: Logger;
}

const EVERY = milliseconds(2000);
/** Twice what eight replicas show on their pages. */
const REMEMBERED = 1600;

/** Reads the last placements from the extender's page and adds new ones to the log. */
export class ExtenderDecisions {
  readonly #options: ExtenderDecisionsOptions;
  readonly #seen = new Set<string>();
  #isFailing = false;

  constructor(options: ExtenderDecisionsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.read(signal);
      await clock.sleep(EVERY, signal).catch(() => undefined);
    }
  }

  async read(signal?: AbortSignal): Promise<void> {
    const { pages, log } = this.#options;
    try {
      const answers = (await pages.read("debug/decisions", {}, signal)).map((answer) => page.safeParse(answer));
      for (const { data } of answers)
        for (const entry of data?.decisions.toReversed() ?? []) if (entry !== null) this.#add(entry);
      const failed = answers.find(({ success }) => !success);
      if (failed !== undefined) throw failed.error;
      this.#isFailing = false;
    } catch (error) {
      if (signal?.aborted === true) return;
      if (!this.#isFailing) log.warn({ err: error }, "cannot read the extender's decisions");
      this.#isFailing = true;
    }
  }

  #add(entry: ExtenderAnswer): void {
    const at = Date.parse(entry.at);
    const subject = `${entry.pod.namespace}/${entry.pod.name}`;
    const key = `${entry.at} ${entry.verb} ${subject}`;
    if (Number.isNaN(at)) return;
    // What a page still shows moves to the end, so that it is not forgotten before the page forgets it.
    const isKnown = this.#seen.delete(key);
    this.#seen.add(key);
    if (isKnown) return;
    const [oldest] = this.#seen;
    if (this.#seen.size > REMEMBERED && oldest !== undefined) this.#seen.delete(oldest);
    const words = entry.verb === "prioritize" ? rankingOf(entry) : rejectionsOf(entry);
    if (words !== undefined) this.#options.decisions.add({ at, kind: "placement", subject, ...words });
  }
}

function rankingOf({ best = [], candidates, workloadClass, scoring }: ExtenderAnswer) {
  const [first] = best;
  if (first === undefined) return undefined;
  const by = scoring === "energy" ? "adds the fewest joules" : "has the best power headroom";
  return {
    node: first.node,
    text: `ranked first: ${first.node}`,
    reason: `${first.node} ${by} of ${candidates} ${candidates === 1 ? "candidate" : "candidates"}: score ${first.score} (${workloadClass} pod)`,
  };
}

function rejectionsOf({ rejected = [], candidates }: ExtenderAnswer) {
  const [first] = rejected.toSorted((one, other) => other.count - one.count);
  if (first === undefined) return undefined;
  const count = rejected.reduce((sum, one) => sum + one.count, 0);
  return {
    node: null,
    text: `kept off ${count} of ${candidates} nodes`,
    reason: `${first.count}: ${first.reason.replace(/^Joulie: /, "")}`,
  };
}
