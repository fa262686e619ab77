import type { Batch, ScoredPod } from "../../../core/scoring/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { Verb } from "../extender-metrics.ts";
import type { KnownNode } from "../state/cluster-cache.ts";

/** One answer, as short as it can be kept: why it came out so is worked out when somebody asks. */
export interface Decision {
  readonly verb: Verb;
  readonly at: Instant;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly asked: ScoredPod;
  /** What the scores of this request were computed with; absent where only the filter was asked. */
  readonly batch?: Batch | undefined;
  readonly candidates: number;
  /** The candidates' slots, -1 for nodes nobody here knew. Empty where there were too many to keep. */
  readonly slots: Int32Array;
  /** Scores, or the filter's codes of rejection. */
  readonly verdicts: Int16Array | Uint8Array;
  /** Whose slots these were. */
  readonly names: readonly (string | undefined)[];
  /** The best nodes as they were known then, best first. */
  readonly best: readonly { readonly node: KnownNode; readonly score: number }[];
}

/** Where an answer is worked out. It becomes the kept decision, so that nothing is copied. */
export interface Workspace {
  readonly slots: Int32Array;
  readonly scores: Int16Array;
  /** In the place of the scores: a request is about one or the other. */
  readonly codes: Uint8Array;
}

/** More candidates than any cluster has: their places are not kept, or one request could fill the memory. */
const MOST_KEPT = 16_384;

/** The last decisions, a bounded number of bounded size. */
export class DecisionLog {
  readonly #capacity: number;
  readonly #kept: (Decision | undefined)[];
  /** One for each place, grown to what was needed there and used again. */
  readonly #workspaces: Workspace[];
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#kept = Array.from({ length: capacity });
    this.#workspaces = Array.from({ length: capacity }, () => workspaceFor(0));
  }

  /** Room for one answer about so many candidates; it is taken from the oldest decision, which is gone with this. */
  workspace(candidates: number): Workspace {
    if (candidates > MOST_KEPT) return workspaceFor(candidates);
    let space = this.#workspaces[this.#next];
    if (space === undefined || space.slots.length < candidates) {
      this.#workspaces[this.#next] = space = workspaceFor(candidates);
    }
    this.#kept[this.#next] = undefined;
    return {
      slots: space.slots.subarray(0, candidates),
      scores: space.scores.subarray(0, candidates),
      codes: space.codes.subarray(0, candidates),
    };
  }

  record(decision: Decision): void {
    const { slots, scores: verdicts } = nothing;
    this.#kept[this.#next] = decision.candidates > MOST_KEPT ? { ...decision, slots, verdicts } : decision;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** Whether what it stands on still is its own, and not that of a later request. */
  has(decision: Decision): boolean {
    return this.#kept.includes(decision);
  }

  /** Newest first. */
  latest(): Decision[] {
    const inOrder = [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)];
    return inOrder.filter((decision) => decision !== undefined).toReversed();
  }
}

function workspaceFor(candidates: number): Workspace {
  const scores = new Int16Array(candidates);
  return { slots: new Int32Array(candidates), scores, codes: new Uint8Array(scores.buffer) };
}
const nothing = workspaceFor(0);

export function podName(pod: unknown): Decision["pod"] {
  const metadata = ((pod ?? {}) as { readonly metadata?: Readonly<Record<string, unknown>> }).metadata;
  return {
    namespace: nameIn(metadata?.["namespace"]),
    name: nameIn(metadata?.["name"]),
    uid: nameIn(metadata?.["uid"]),
  };
}

/** What is longer is nobody's name, and is not kept. */
const LONGEST_NAME = 253;
const nameIn = (value: unknown): string => (typeof value === "string" && value.length <= LONGEST_NAME ? value : "");
