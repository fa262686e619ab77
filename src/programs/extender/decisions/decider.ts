import type { Pod } from "../../../core/api/index.ts";
import { demandOf, type WorkloadClass, workloadClassOf } from "../../../core/demand/index.ts";
import {
  askingPodOf,
  KEPT_FREE,
  rejectionCode,
  rejections,
  reservedFor,
  reservedText,
  type ScoredPod,
} from "../../../core/scoring/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import type { ExtenderMetrics, Verb } from "../extender-metrics.ts";
import { HttpError } from "../server/body.ts";
import type { ClusterCache, KnownNode } from "../state/cluster-cache.ts";
import { type Candidates, type ExtenderRequest, filterReply, LastNames, prioritizeReply } from "../wire/index.ts";
import { type Decision, type DecisionLog, podName } from "./decision-log.ts";
import type { EnergyScorer } from "./energy-scorer.ts";

export interface DeciderOptions {
  readonly state: ClusterCache;
  readonly decisions: DecisionLog;
  readonly metrics: ExtenderMetrics;
  readonly energy?: EnergyScorer | undefined;
  /** The clock for the age of twins. */
  readonly clock: Clock;
  /** Called with a class annotation that is neither performance nor standard. */
  readonly onUnknownClass: (text: string) => void;
}

export interface ExtenderReply {
  readonly workloadClass: WorkloadClass;
  readonly chunks: readonly Buffer[];
}

const MAX_REASONS = 256;
const EXPLAINED = 10;
const MAX_GPU_KINDS = 16;
/** The longest resource name that Kubernetes accepts: prefix/name. */
const MAX_RESOURCE_LENGTH = 253 + 1 + 63;

/** Answers filter and prioritize requests synchronously from the cache, and records each decision. */
export class Decider {
  readonly #options: DeciderOptions;
  readonly #lastNames = new LastNames();

  constructor(options: DeciderOptions) {
    this.#options = options;
  }

  filter({ pod, candidates }: ExtenderRequest): ExtenderReply {
    const { state, decisions } = this.#options;
    const scoredPod = this.#readPod(pod);
    const { workloadClass } = scoredPod;
    const { slots, codes } = decisions.workspace(candidates.count);
    this.#findSlots(candidates, slots);
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i] as number;
      codes[i] = workloadClass === "standard" ? state.standardRejection(slot) : this.#rejectionOf(candidates, i, slot);
    }
    const reasons = this.#rejectKeptFree(pod, slots, codes);
    this.#record("filter", pod, scoredPod, { slots, verdicts: codes, reasons, best: [] });
    const { chunks, accepted } = filterReply(candidates, codes, reasons);
    if (candidates.kind === "names" && accepted[0] !== undefined)
      this.#lastNames.keep(accepted[0], state.kernel.slotsVersion, slots, codes);
    return { workloadClass, chunks };
  }

  /** Rejects nodes that are kept free for another pod. Returns all reasons: each of these nodes has its own, by its pod. */
  #rejectKeptFree(value: unknown, slots: Int32Array, codes: Uint8Array): readonly (string | undefined)[] {
    const { state, clock } = this.#options;
    if (state.awaitedNodes === 0) return rejections;
    const pod = askingPodOf(value as Pod, clock.now());
    const reasons: (string | undefined)[] = [...rejections];
    for (let i = 0; i < slots.length; i++) {
      const node = codes[i] === 0 ? state.at(slots[i] as number) : undefined;
      const awaited = reservedFor(node?.name, node?.twin, pod);
      if (awaited === undefined) continue;
      // Codes are bytes. The operator keeps at most 32 nodes free.
      if (reasons.length < MAX_REASONS) codes[i] = reasons.push(reservedText(awaited)) - 1;
      else codes[i] = KEPT_FREE;
    }
    return reasons;
  }

  prioritize({ pod, candidates }: ExtenderRequest): ExtenderReply {
    const { state, decisions, metrics, energy: scorer, clock } = this.#options;
    const { kernel } = state;
    const scoredPod = this.#readPod(pod);
    const { workloadClass, demand } = scoredPod;
    const { slots, scores } = decisions.workspace(candidates.count);
    this.#findSlots(candidates, slots);
    // Once per request: freshness and pressure depend on the current time.
    const batch = kernel.beginBatch(clock.now());
    const energy = scorer?.score(pod, scoredPod, slots, scores);
    if (energy === undefined) kernel.scoreMany(slots, demand, workloadClass, scores);
    metrics.recordScores(workloadClass, slots, scores, kernel.end);
    const best = this.#best(slots, scores);
    this.#record("prioritize", pod, scoredPod, { slots, verdicts: scores, reasons: [], batch, energy, best });
    if (energy !== undefined && best[0] !== undefined) scorer?.assume(pod, energy, best[0].node.name);
    return { workloadClass, chunks: prioritizeReply(candidates, scores) };
  }

  #findSlots(candidates: Candidates, slots: Int32Array): void {
    const { kernel } = this.#options.state;
    const isKnown = candidates.kind === "names" && this.#lastNames.read(candidates.list, kernel.slotsVersion, slots);
    if (!isKnown) candidates.slots(kernel, slots);
  }

  #readPod(value: unknown): ScoredPod {
    // Any JSON object: the functions below accept fields of any type.
    const pod = value as Pod;
    const { workloadClass, unrecognised } = workloadClassOf(pod);
    // JSON may contain any type here.
    const isText = typeof unrecognised === "string";
    if (unrecognised !== undefined) this.#options.onUnknownClass(isText ? unrecognised : `(${typeof unrecognised})`);
    const demand = demandOf(pod);
    checkGpus(demand.gpus);
    return { workloadClass, demand };
  }

  /** Whole Nodes carry their own labels, which kube-scheduler sees as well; for names the cache has the labels. */
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
      if (node === undefined) return [];
      const load = state.energyKernel?.loadAt(slots[i] as number);
      return { node, score: scores[i] as number, ...(load && { load }) };
    });
  }

  #record(
    verb: Verb,
    pod: unknown,
    { workloadClass, demand }: ScoredPod,
    found: Pick<Decision, "slots" | "verdicts" | "reasons" | "best" | "batch" | "energy">,
  ): void {
    const { state, decisions, clock } = this.#options;
    decisions.record({
      verb,
      at: clock.now(),
      pod: podName(pod),
      request: { workloadClass, demand: demand },
      candidates: found.slots.length,
      names: state.snapshotNames(),
      ...found,
    });
  }
}

/** Scoring visits each GPU kind on each node, so a pod with many kinds would delay other requests. */
function checkGpus(gpus: ScoredPod["demand"]["gpus"]): void {
  if (gpus.size > MAX_GPU_KINDS) {
    throw new HttpError(400, `the Pod requests ${gpus.size} kinds of GPUs; up to ${MAX_GPU_KINDS} are supported`);
  }
  for (const resource of gpus.keys()) {
    if (resource.length > MAX_RESOURCE_LENGTH) {
      throw new HttpError(400, `the Pod requests a resource with a name of ${resource.length} characters`);
    }
  }
}

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
