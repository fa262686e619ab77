import type {
  Batch,
  EnergyOutcome,
  EnergySettings,
  GpuMix,
  NodeLoad,
  PlacedPod,
  ScoredPod,
} from "../../../core/scoring/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import type { Verb } from "../extender-metrics.ts";
import type { KnownNode } from "../state/cluster-cache.ts";

/** One answer in compact form. The explanation is computed when a debug page is requested. */
export interface Decision {
  readonly verb: Verb;
  readonly at: Instant;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly request: ScoredPod;
  readonly batch?: Batch;
  readonly energy?: EnergyDecision | undefined;
  readonly candidates: number;
  /** The candidates' slots, -1 for unknown nodes. Empty if there were too many candidates to store. */
  readonly slots: Int32Array;
  readonly verdicts: Int16Array | Uint8Array;
  readonly reasons: readonly (string | undefined)[];
  readonly names: readonly (string | undefined)[];
  readonly best: readonly RankedNode[];
}

export interface RankedNode {
  readonly node: KnownNode;
  readonly score: number;
  readonly load?: NodeLoad | undefined;
}

/** Arrays in which an answer is computed. They become part of the recorded decision without a copy. */
export interface Workspace {
  readonly slots: Int32Array;
  readonly scores: Int16Array;
  /** Shares memory with `scores`: a request needs one or the other. */
  readonly codes: Uint8Array;
}

/** Larger requests are recorded without their candidates, so that no request can fill the memory. */
const MAX_RECORDED_CANDIDATES = 16_384;

/** A ring buffer of the last decisions, bounded in number and size. */
export class DecisionLog {
  readonly #capacity: number;
  readonly #entries: (Decision | undefined)[];
  readonly #workspaces: Workspace[];
  #next = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#entries = Array.from({ length: capacity });
    this.#workspaces = Array.from({ length: capacity }, () => workspaceFor(0));
  }

  /** Arrays for an answer about that many candidates. They are taken from the oldest decision, which is dropped. */
  workspace(candidates: number): Workspace {
    if (candidates > MAX_RECORDED_CANDIDATES) return workspaceFor(candidates);
    let space = this.#workspaces[this.#next];
    if (space === undefined || space.slots.length < candidates) {
      this.#workspaces[this.#next] = space = workspaceFor(candidates);
    }
    this.#entries[this.#next] = undefined;
    return {
      slots: space.slots.subarray(0, candidates),
      scores: space.scores.subarray(0, candidates),
      codes: space.codes.subarray(0, candidates),
    };
  }

  record(decision: Decision): void {
    const { slots, scores: verdicts } = nothing;
    this.#entries[this.#next] =
      decision.candidates > MAX_RECORDED_CANDIDATES ? { ...decision, slots, verdicts } : decision;
    this.#next = (this.#next + 1) % this.#capacity;
  }

  /** Whether the decision's arrays still belong to it and were not reused by a later request. */
  has(decision: Decision): boolean {
    return this.#entries.includes(decision);
  }

  latest(): Decision[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
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
    namespace: validName(metadata?.["namespace"]),
    name: validName(metadata?.["name"]),
    uid: validName(metadata?.["uid"]),
  };
}

const MAX_NAME_LENGTH = 253;
const validName = (value: unknown): string =>
  typeof value === "string" && value.length <= MAX_NAME_LENGTH ? value : "";

export interface EnergyDecision {
  readonly pod: PlacedPod;
  readonly durationProblem?: string;
  readonly fallback?: string;
  readonly outcome?: EnergyOutcome;
  readonly mix?: GpuMix;
  readonly settings: EnergySettings;
}
