import type { Pod } from "../../../core/api/index.ts";
import { demandOf, type WorkloadClass, workloadClassOf } from "../../../core/demand/index.ts";
import { rejectionCode, rejections, type ScoredPod } from "../../../core/scoring/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { ExtenderMetrics, Verb } from "../extender-metrics.ts";
import { HttpError } from "../server/http-error.ts";
import type { ClusterCache, KnownNode } from "../state/cluster-cache.ts";
import { type Candidates, type ExtenderRequest, filterReply, prioritizeReply } from "../wire/index.ts";
import { type Decision, type DecisionLog, podName } from "./decision-log.ts";

export interface DeciderOptions {
  readonly state: ClusterCache;
  readonly decisions: DecisionLog;
  readonly metrics: ExtenderMetrics;
  /** The time twins are judged by. */
  readonly clock: Clock;
  /** A pod's class annotation says neither performance nor standard, and need not even be text. */
  readonly onUnknownClass: (text: unknown) => void;
}

export interface ExtenderReply {
  readonly workloadClass: WorkloadClass;
  readonly chunks: readonly Buffer[];
}

/** How many nodes of a decision can be explained later. */
const EXPLAINED = 10;
/** Nobody's pod asks for more kinds of GPUs, or for one with a longer name: Kubernetes has no longer names of resources. */
const MOST_GPU_KINDS = 16;
const LONGEST_RESOURCE = 253 + 1 + 63;

/** Answers from memory: looks up, filters or scores, and keeps what was decided. Nothing is waited for and nothing simulated. */
export class Decider {
  readonly #options: DeciderOptions;

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  filter({ pod, candidates }: ExtenderRequest): ExtenderReply {
    const { state, decisions } = this.#options;
    const asked = this.#asked(pod);
    const { workloadClass } = asked;
    const { slots, codes } = decisions.workspace(candidates.count);
    candidates.slots(state.kernel, slots);
    if (workloadClass === "standard") codes.fill(0);
    else for (let i = 0; i < slots.length; i++) codes[i] = this.#rejectionOf(candidates, i, slots[i] as number);
    this.#keep("filter", pod, asked, { slots, verdicts: codes, best: [] });
    return { workloadClass, chunks: filterReply(candidates, codes, rejections) };
  }

  prioritize({ pod, candidates }: ExtenderRequest): ExtenderReply {
    const { state, decisions, metrics: figures, clock } = this.#options;
    const { kernel } = state;
    const asked = this.#asked(pod);
    const { workloadClass, demand } = asked;
    const { slots, scores } = decisions.workspace(candidates.count);
    candidates.slots(state.kernel, slots);
    // Once per request: it costs a look at each node, and freshness and pressure are of this moment.
    const batch = kernel.beginBatch(clock.now());
    kernel.scoreMany(slots, demand, workloadClass, scores);
    figures.recordScores(workloadClass, slots, scores, kernel.end);
    this.#keep("prioritize", pod, asked, { slots, verdicts: scores, batch, best: this.#best(slots, scores) });
    return { workloadClass, chunks: prioritizeReply(candidates, scores) };
  }

  #asked(given: unknown): ScoredPod {
    // An object; its readers take any that JSON can hold.
    const pod = given as Pod;
    const { workloadClass, unrecognised } = workloadClassOf(pod);
    if (unrecognised !== undefined) this.#options.onUnknownClass(unrecognised);
    const demand = demandOf(pod);
    checkGpus(demand.gpus);
    return { workloadClass, demand };
  }

  /** Whole Nodes bring their own labels, which are those kube-scheduler decides by; for names the cache has them. */
  #rejectionOf(candidates: Candidates, i: number, slot: number): number {
    const { state } = this.#options;
    if (candidates.kind === "names") return state.rejection(slot);
    const known = state.at(slot)?.twin?.schedulableClass;
    return rejectionCode("performance", known, candidates.powerProfile(i), candidates.draining(i));
  }

  #best(slots: Int32Array, scores: Int16Array): Decision["best"] {
    const { state } = this.#options;
    return highest(scores, EXPLAINED).flatMap((i) => {
      const node: KnownNode | undefined = state.at(slots[i] as number);
      return node === undefined ? [] : { node, score: scores[i] as number };
    });
  }

  #keep(
    verb: Verb,
    pod: unknown,
    { workloadClass, demand }: ScoredPod,
    found: Pick<Decision, "slots" | "verdicts" | "best" | "batch">,
  ): void {
    const { state, decisions, clock } = this.#options;
    decisions.record({
      verb,
      at: clock.now(),
      pod: podName(pod),
      asked: { workloadClass, demand: { ...demand, unreadable: [] } },
      candidates: found.slots.length,
      names: state.snapshotNames(),
      ...found,
    });
  }
}

/** Each node may have to be asked about each kind: together they must not hold up everybody else. */
function checkGpus(gpus: ScoredPod["demand"]["gpus"]): void {
  if (gpus.size > MOST_GPU_KINDS) {
    throw new HttpError(400, `the Pod asks for ${gpus.size} kinds of GPUs; up to ${MOST_GPU_KINDS} are looked at`);
  }
  for (const resource of gpus.keys()) {
    if (resource.length > LONGEST_RESOURCE) {
      throw new HttpError(400, `the Pod asks for a resource with a name of ${resource.length} characters`);
    }
  }
}

/** The places of the highest values, highest first and of equals the first; one pass, since most are never among them. */
function highest(values: Int16Array, count: number): number[] {
  const places: number[] = [];
  for (let place = 0; place < values.length; place++) {
    const value = values[place] as number;
    if (places.length === count && value <= (values[places[count - 1] as number] as number)) continue;
    let at = places.length;
    while (at > 0 && (values[places[at - 1] as number] as number) < value) at--;
    places.splice(at, 0, place);
    if (places.length > count) places.pop();
  }
  return places;
}
